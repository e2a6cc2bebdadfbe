"""`hibernator exception`: request temporary overrides of a schedule, see their approvals, and decide."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hibernator.api.scheduleexception import EXCEPTIONS, ExceptionType, ScheduleException
from hibernator.cli.cluster import Session, talk
from hibernator.cli.deciding import Deciding, decide_about
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.lazy import group
from hibernator.cli.names import names_of, one_of, some_of
from hibernator.cli.options import Chosen, ClusterOptions, Comment, Listing, Output, Patience, spread
from hibernator.schedule.errors import FORMS

if TYPE_CHECKING:
    from whenever import Instant

    from hibernator.api.hibernateplan import HibernatePlan
    from hibernator.cli.exception_view import ExceptionDetails
    from hibernator.decisions.approval import Verdict
    from hibernator.decisions.person import Person

_State = Literal["Draft", "Pending", "Approved", "Active", "Expired", "Rejected", "Cancelled"]

app = group("Manage temporary schedule overrides and their approvals.")


Name = Annotated[str, one_of("ScheduleException", "exception")]
Names = Annotated[list[str] | None, some_of("ScheduleException", "exceptions")]
NewName = Annotated[str, typer.Argument(help="The name of the exception.", metavar="NAME")]


@app.command("list")
@spread
def list_(
    listing: Listing,
    place: ClusterOptions,
    names: Names = None,
    pending: Annotated[bool, typer.Option("--pending", help="Only those that wait for approval.")] = False,
    mine: Annotated[
        bool,
        typer.Option(
            "--mine", help="Only those that I requested, or that I or one of my groups must approve."
        ),
    ] = False,
    role: Annotated[
        str | None, typer.Option("--role", help="Only those that this role must approve.")
    ] = None,
    state: Annotated[_State | None, typer.Option("--state", help="Only those in this state.")] = None,
) -> None:
    """List exceptions with their state, their approvals and their end.

    For example: `hibernator exception list --pending --mine -A`
    """
    from hibernator.approvals.people import Directory, who_am_i
    from hibernator.cli.exception_view import Filter, columns
    from hibernator.cli.listing import show_list
    from hibernator.kube.clustertime import clock_of

    chosen = Filter(pending=pending, role=role, state=state)

    async def wanted(session: Session) -> Callable[[ScheduleException], bool]:
        return replace(chosen, mine=await who_am_i(session.client, Directory()) if mine else None).lets

    shown = columns(clock_of(place.kubeconfig))
    show_list(EXCEPTIONS, shown, listing, place, names=names or (), wanted=wanted)


@app.command()
@spread
def view(
    name: Name,
    place: ClusterOptions,
    output: Chosen = Output.TABLE,
) -> None:
    """Show an exception: what it changes, who must approve it, and its history.

    For example: `hibernator exception view on-site-event -n team-a`
    """
    from hibernator.cli.output import show_one

    details = _look(name, place, role="hibernator-auditor")
    if output in {Output.TABLE, Output.WIDE}:
        _show(details, place)
    else:
        show_one(EXCEPTIONS, details.exception, output)


@app.command()
@spread
def approve(
    name: Name,
    place: ClusterOptions,
    deciding: Deciding,
    comment: Comment = "",
) -> None:
    """Approve an exception, in your own name, after you have seen it.

    On a terminal it is shown, and you are asked. In scripts, name what you have seen by its hash.

    For example: `hibernator exception approve on-site-event --seen 3f2a9c01de4b77a0c1d2`
    """
    _decide(name, "approve", comment, place, deciding)


@app.command()
@spread
def reject(
    name: Name,
    reason: Annotated[str, typer.Argument(help="Why not; those who asked will read it.", metavar="REASON")],
    place: ClusterOptions,
    deciding: Deciding,
) -> None:
    """Reject an exception, in your own name, after you have seen it. One rejection ends it.

    On a terminal it is shown, and you are asked. In scripts, name what you have seen by its hash.

    For example: `hibernator exception reject on-site-event "not during the freeze"`
    """
    _decide(name, "reject", reason, place, deciding)


@app.command()
@spread
def create(
    name: NewName,
    plan: Annotated[
        str,
        typer.Option(
            "--plan",
            help="The HibernatePlan whose schedule to override.",
            autocompletion=names_of("HibernatePlan"),
        ),
    ],
    type_: Annotated[
        ExceptionType,
        typer.Option(
            "--type", help="`extend` sleeps more, `suspend` stays awake, `replace` uses only its own windows."
        ),
    ],
    place: ClusterOptions,
    until: Annotated[
        str | None,
        typer.Option("--until", help=f"Until when: {FORMS}. Local times are in the plan's zone."),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option("--for", help="For how long, such as 4h; or give --until."),
    ] = None,
    window: Annotated[
        list[str] | None,
        typer.Option(
            "--window",
            help="When in that time, in the plan's zone: `21:00-02:00 SAT,SUN`. Repeatable; all the time if "
            "not given.",
        ),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", help="From when, written as after --until; now if not given.")
    ] = None,
    lead_time: Annotated[
        str | None,
        typer.Option(
            "--lead-time", help="With suspend: no sleep begins within this time before a window, such as 1h."
        ),
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="The reason, for the approvers.")] = None,
    approver: Annotated[
        list[str] | None, typer.Option("--approver", help="An approver, by e-mail. Repeatable.")
    ] = None,
    role: Annotated[
        list[str] | None, typer.Option("--role", help="A role of which one member must approve. Repeatable.")
    ] = None,
    threshold: Annotated[
        int | None, typer.Option("--threshold", min=1, help="How many must approve; all if not given.")
    ] = None,
    draft: Annotated[bool, typer.Option("--draft", help="Save it as a draft; submit it later.")] = False,
) -> None:
    """Request that a plan's schedule is overridden for a while.

    Awake from now on: `hibernator exception create late --plan dev --type suspend --until "tomorrow 07:00"`

    With approval, in windows: `hibernator exception create night-shift --plan dev --type suspend --until
    2026-03-01 --window "20:00-23:00 MON,TUE" --approver bob@company.com`
    """
    import msgspec

    from hibernator.api.hibernateplan import PLANS
    from hibernator.approvals.people import Directory, who_am_i
    from hibernator.decisions.scheduleexception_new import ExceptionInput, read
    from hibernator.decisions.scheduleexception_request import requester_notes
    from hibernator.kube.clustertime import now
    from hibernator.schedule.problems import exception_hints
    from hibernator.schedule.spoken import shown_with_distance

    wanted = ExceptionInput(
        name=name,
        plan=plan,
        type=type_,
        from_=from_ or "",
        for_=for_ or "",
        until=until or "",
        windows=tuple(window or ()),
        lead_time=lead_time or "",
        reason=reason or "",
        approvers=tuple(approver or ()),
        roles=tuple(role or ()),
        threshold=threshold,
        draft=draft,
    )
    ready, asked_at, asked = read(wanted), now(place.kubeconfig), bool(approver or role)

    async def ask(session: Session) -> str:
        overridden = await session.client.get(PLANS, plan, session.namespace)
        zone = overridden.spec.schedule.timezone
        me = await who_am_i(session.client, Directory())
        notes = requester_notes(me.user, dict(me.extra), me.groups)
        document, begin, end = ready.document(zone, asked_at, notes)
        _check(document)
        if not draft:
            await _foretell(session, document, overridden, me, asked_at)
        await session.client.create(EXCEPTIONS, document, session.namespace)
        for hint in exception_hints(msgspec.convert(document, ScheduleException).spec, zone):
            typer.echo(f"note: {hint}", err=True)
        return " until ".join(shown_with_distance(at, zone, asked_at) for at in (begin, end))

    when = talk(ask, place, role="hibernator-requester")
    what = "saved as a draft" if draft else "requested, and waits for approval" if asked else "requested"
    typer.echo(f"{name} is {what}: {type_} {plan} from {when}")
    typer.echo(f"See it with `hibernator exception view {name}{place.options}`.")


def _check(document: dict[str, Any]) -> None:
    """Refuse what the API server would refuse, in words that say what to write."""
    import msgspec

    from hibernator.api.checks import check_document
    from hibernator.schedule.problems import check_exception

    typed = {"apiVersion": EXCEPTIONS.api_version, "kind": EXCEPTIONS.kind, **document}
    wrong = list(check_document(typed))
    for problem in wrong or check_exception(msgspec.convert(typed, ScheduleException).spec):
        raise CliError(f"{problem.path}: {problem.message}.", hint=problem.fix, code=Exit.USAGE)


async def _foretell(
    session: Session, document: dict[str, Any], plan: "HibernatePlan", me: "Person", asked_at: "Instant"
) -> None:
    """Say who will have to agree, by all policies that the user may see, or why it would be refused."""
    import msgspec

    from hibernator.cli.offline.governed import HOME, Files
    from hibernator.cli.policies_seen import policies_seen
    from hibernator.decisions.exceptionpolicy import foretold
    from hibernator.kube.errors import ApiError

    place = session.namespace
    try:
        seen = await policies_seen(session.client, place, HOME)
        others = await session.client.list(EXCEPTIONS, place) if seen.policies else []
    except ApiError:
        return  # without the right to read them, the webhook reports it
    document = document | {"metadata": document["metadata"] | {"namespace": place}}
    exception = msgspec.convert(document, ScheduleException)
    found = Files(seen.policies, (plan,), (exception, *others), labels=seen.labels).asked(
        exception, me, asked_at
    )
    if found.problems:
        raise CliError(" ".join(found.problems))
    for said in foretold(found):
        typer.echo(said)


@app.command()
@spread
def submit(name: Name, place: ClusterOptions, patience: Patience) -> None:
    """Submit a draft; from then on it cannot be changed, only cancelled."""
    _set(name, "draft", False, "submitted", place, patience)


@app.command()
@spread
def cancel(name: Name, place: ClusterOptions, patience: Patience) -> None:
    """Cancel an exception that you requested. This cannot be undone."""
    _set(name, "cancelled", True, "cancelled", place, patience)


def _look(name: str, place: ClusterOptions, role: str) -> "ExceptionDetails":
    from hibernator.cli import exception_view

    async def ask(session: Session) -> "ExceptionDetails":
        return await exception_view.look(session.client, name, session.namespace)

    return talk(ask, place, role=role)


def _show(details: "ExceptionDetails", place: ClusterOptions) -> None:
    from hibernator.cli import exception_view
    from hibernator.cli.offline import out
    from hibernator.kube.clustertime import now

    console = out.console(None)
    out.lines(console, exception_view.lines(details, console.width, out.ink(console), now(place.kubeconfig)))


def _decide(name: str, verdict: "Verdict", reason: str, place: ClusterOptions, deciding: Deciding) -> None:
    from hibernator.approvals.decision import Matter, decide, matter_of
    from hibernator.cli.exception_outcome import outcome

    def look() -> tuple[Matter, Callable[[], None]]:
        details = _look(name, place, role="hibernator-approver")
        return matter_of(details.exception), lambda: _show(details, place)

    decide_about(
        "exception", name, verdict, reason, place, deciding, look=look, write=decide, outcome=outcome
    )


def _set(name: str, field: str, value: bool, words: str, place: ClusterOptions, patience: Patience) -> None:
    from hibernator.cli.settled import settled

    longest = patience.seconds

    def seen(exception: ScheduleException) -> bool:
        state = exception.status.state
        return state == "Cancelled" if value else state not in {None, "Draft"}

    async def ask(session: Session) -> None:
        found = await session.client.get(EXCEPTIONS, name, session.namespace)
        if getattr(found.spec, field) is value and seen(found):
            typer.echo(f"{name} was already {words}")
            return
        version = found.metadata.resource_version
        change = {"spec": {field: value}}
        await session.client.patch(EXCEPTIONS, name, session.namespace, change, resource_version=version)
        if await settled(session, EXCEPTIONS, name, seen, words, longest):
            typer.echo(f"{name} is {words}")

    talk(ask, place, role="hibernator-requester")
