"""`hibernator plan`: what plans do and have kept, and how to wake, put to sleep, suspend or retry them.

`wake` and `sleep` file a ScheduleException, which names who asked, why and until when.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.lazy import group
from hibernator.cli.names import one_of, some_of
from hibernator.cli.options import (
    Chosen,
    ClusterOptions,
    Everywhere,
    Listing,
    Output,
    Patience,
    spread,
)
from hibernator.schedule.errors import FORMS

if TYPE_CHECKING:
    from hibernator.api.hibernateplan import HibernatePlan
    from hibernator.decisions.scheduleexception_new import QuickOverride
    from hibernator.executors.sleepers import Sleeper
    from hibernator.schedule.periods import Period

app = group("List and describe HibernatePlans; suspend, resume, retry, wake or put them to sleep.")

Name = Annotated[str, one_of("HibernatePlan", "plan")]
Names = Annotated[list[str] | None, some_of("HibernatePlan", "plans")]
Why = Annotated[str, typer.Option("--reason", help="The reason, for later readers.")]
For = Annotated[str | None, typer.Option("--for", help="For how long, such as 2h, 90m or 1d.")]
Until = Annotated[
    str | None,
    typer.Option("--until", help=f"Until when: {FORMS}. Local times are in the plan's zone."),
]


@app.command("list")
@spread
def list_(
    listing: Listing,
    place: ClusterOptions,
    names: Names = None,
) -> None:
    """List plans with their phase and their next transition.

    For example: `hibernator plan list -A -o wide`
    """
    from hibernator.api.hibernateplan import PLANS
    from hibernator.cli.listing import show_list
    from hibernator.cli.plan_words import columns
    from hibernator.kube.clustertime import clock_of

    show_list(PLANS, columns(clock_of(place.kubeconfig)), listing, place, names=names or ())


@app.command()
@spread
def describe(
    name: Name,
    place: ClusterOptions,
    output: Chosen = Output.TABLE,
) -> None:
    """Describe the state of a plan, its targets, and what sleeping has saved."""
    from hibernator.api.hibernateplan import PLANS
    from hibernator.cli.output import show_one
    from hibernator.cli.plan_words import describe_lines
    from hibernator.kube.clustertime import now

    plan = talk(
        lambda session: session.client.get(PLANS, name, session.namespace),
        place,
        role="hibernator-auditor",
    )
    if output in {Output.TABLE, Output.WIDE}:
        _print(describe_lines(plan, now(place.kubeconfig)))
    else:
        show_one(PLANS, plan, output)


@app.command()
@spread
def suspend(
    name: Name,
    place: ClusterOptions,
    patience: Patience,
    until: Until = None,
    reason: Why = "",
) -> None:
    """Suspend a plan: it leaves everything as it is and ignores its schedule.

    With `--until` it goes on by itself. For example: `hibernator plan suspend nights --until "fri 18:00"`
    """
    from hibernator.decisions.hibernateplan_change import suspended as change
    from hibernator.kube.clustertime import now
    from hibernator.schedule.spoken import shown_with_distance
    from hibernator.schedule.times import parse

    moment, asked_at = parse("--until", until), now(place.kubeconfig)

    def suspended(plan: "HibernatePlan") -> "_Change":
        zone = plan.spec.schedule.timezone
        end = moment.ahead(zone, asked_at) if moment else None
        words = f"suspended until {shown_with_distance(end, zone, asked_at)}" if end else "suspended"
        return _Change(
            change(end, reason),
            words,
            lambda found: _observed(found) and found.status.phase == "Suspended",
        )

    _change(name, suspended, patience, place)


@app.command()
@spread
def resume(name: Name, place: ClusterOptions, patience: Patience) -> None:
    """Resume a suspended plan: from now on it follows its schedule."""
    from hibernator.decisions.hibernateplan_change import RESUMED

    resumed = _Change(
        RESUMED, "resumed", lambda found: _observed(found) and found.status.phase not in {None, "Suspended"}
    )
    _change(name, lambda _plan: resumed, patience, place)


@app.command()
@spread
def retry(name: Name, place: ClusterOptions, patience: Patience) -> None:
    """Retry the failed targets of a plan."""
    from whenever import Instant

    from hibernator.decisions.hibernateplan_case import RETRY
    from hibernator.decisions.hibernateplan_change import failed_for_good, retried

    def asked(plan: "HibernatePlan") -> "_Change":
        failed = failed_for_good(plan)
        if not failed:
            hint = f"See `hibernator plan describe {name}{place.options}`."
            raise CliError(f"nothing of {name} has failed for good", hint=hint)
        change = retried(Instant.now())
        at = change["metadata"]["annotations"][RETRY]
        return _Change(change, f"trying {', '.join(failed)} again", lambda found: found.status.retried == at)

    _change(name, asked, patience, place)


@app.command()
@spread
def logs(name: Name, place: ClusterOptions) -> None:
    """Show the recent Events of a plan, oldest first."""
    from hibernator.api.hibernateplan import PLANS
    from hibernator.cli.plan_words import events_lines

    async def ask(session: Session) -> list[str]:
        plan = await session.client.get(PLANS, name, session.namespace)
        return await events_lines(session.client, plan)

    _print(talk(ask, place, role="hibernator-auditor"))


@app.command("restore-data")
@spread
def restore_data(
    name: Name,
    place: ClusterOptions,
    output: Chosen = Output.TABLE,
) -> None:
    """Show everything that a plan has put to sleep, with what it will be woken to."""
    from hibernator.cli.plan_words import restore_lines

    async def ask(session: Session) -> list[str]:
        return await restore_lines(session.client, session.namespace, name, output)

    _print(talk(ask, place))


@app.command()
@spread
def strays(
    place: ClusterOptions,
    everywhere: Everywhere = False,
    wake_them: Annotated[
        bool, typer.Option("--wake", help="Wake them, each to what it was. Needs no operator.")
    ] = False,
    output: Chosen = Output.TABLE,
) -> None:
    """List what sleeps although its plan is awake, is gone or does not know it. Ends with 1 if there is any.

    For example: `hibernator plan strays -A --wake`
    """
    from hibernator.cli import strays as looking

    async def ask(session: Session) -> tuple[list[str], bool]:
        found = await looking.strays(session.client, "" if everywhere else session.namespace)
        if not wake_them:
            shown = [looking.document(found)] if output is Output.JSON else looking.lines(found)
            return (shown if found or output is Output.JSON else ["No strays."]), bool(found)
        away = [looking.not_here(one) for one in found if one.sleeper is None]
        here, left = await _wake_all(session, [one.sleeper for one in found if one.sleeper])
        return [*here, *away], left or bool(away)

    shown, left = talk(ask, place, everywhere=everywhere)
    _print(shown)
    if left:
        raise typer.Exit(Exit.FOUND)


async def _wake_all(session: Session, found: Sequence["Sleeper"]) -> tuple[list[str], bool]:
    """Wake sleepers from their marks; what was done in words, and whether anything still sleeps."""
    from hibernator.cli import strays as looking

    failures = [await looking.wake(session.client, one) for one in found]
    shown = [
        failure or f"{one.key} is awake: {looking.was(one.mark)}"
        for one, failure in zip(found, failures, strict=True)
    ]
    return shown or ["Nothing bears a mark."], any(failures)


@app.command()
@spread
def wake(
    name: Name,
    place: ClusterOptions,
    patience: Patience,
    for_: For = None,
    until: Until = None,
    reason: Why = "",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="KIND/NAME",
            help="Wake only this workload, such as deploy/web, by an annotation on it. Repeatable.",
        ),
    ] = None,
    offline: Annotated[
        bool,
        typer.Option(
            "--offline",
            help="Wake everything with the plan's mark, with your own rights and no request. For when the "
            "operator, the plan or its restore data is gone.",
        ),
    ] = False,
) -> None:
    """Wake a plan for a while, by a ScheduleException that ends by itself.

    Without `--for` and `--until` it is for two hours. For example: `hibernator plan wake nights --until
    "tomorrow 07:00" --reason "a late release"`. With `--only` the plan goes on to sleep, and the workload
    sleeps again afterwards: `hibernator plan wake nights --only deploy/web --for 4h`
    """
    if only:
        if offline or reason:
            given = "--offline" if offline else "--reason"
            hint = f"Leave out {given}: --only writes an annotation, which says nothing but until when."
            raise CliError(f"--only and {given} do not go together.", hint=hint, code=Exit.USAGE)
        _wake_only(name, only, for_, until, patience, place)
        return
    if offline:
        from hibernator.cli import strays as looking

        async def ask(session: Session) -> tuple[list[str], bool]:
            plan = f"{session.namespace}/{name}"
            here, left = await _wake_all(session, await looking.of_plan(session.client, plan))
            away = await looking.elsewhere_of_plan(session.client, plan)
            return [*here, *map(looking.out_of_reach, away)], left or bool(away)

        shown, left = talk(ask, place)
        _print(shown)
        raise typer.Exit(Exit.FOUND if left else Exit.OK)
    from hibernator.decisions.scheduleexception_new import WAKE
    from hibernator.schedule.periods import at_once

    _request(name, WAKE, at_once(for_, until, otherwise="2h"), reason, patience, place)


def _wake_only(
    name: str, only: list[str], for_: str | None, until: str | None, patience: Patience, place: ClusterOptions
) -> None:
    from hibernator.cli.plan_only import wake_only
    from hibernator.kube.clustertime import now
    from hibernator.schedule.periods import at_once

    period, asked_at, longest = at_once(for_, until, otherwise="2h"), now(place.kubeconfig), patience.seconds
    talk(
        lambda session: wake_only(session, name, only, period, now=asked_at, longest=longest),
        place,
        role="edit",
    )


@app.command()
@spread
def sleep(
    name: Name,
    place: ClusterOptions,
    patience: Patience,
    for_: For = None,
    until: Until = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would sleep, and what that would save.")
    ] = False,
    reason: Why = "",
) -> None:
    """Put a plan to sleep now, by a ScheduleException that ends by itself.

    Without `--for` and `--until` it is until 07:00 in the plan's zone. For example: `hibernator plan sleep
    nights --until "monday 07:00"`
    """
    from hibernator.decisions.scheduleexception_new import SLEEP
    from hibernator.schedule.periods import at_once

    if dry_run:
        from hibernator.api.hibernateplan import PLANS
        from hibernator.cli.plan_preview import preview_lines

        async def ask(session: Session) -> tuple[list[str], list[str]]:
            plan = await session.client.get(PLANS, name, session.namespace)
            return await preview_lines(session.client, plan)

        seen, unseen = talk(ask, place)
        _print(seen)
        if unseen:
            hint = "Ask someone who may read it, or look at the plan once it has slept."
            raise CliError("\n".join(unseen), hint=hint, code=Exit.UNPROVEN)
        return
    _request(name, SLEEP, at_once(for_, until, otherwise="07:00"), reason, patience, place)


def _request(
    name: str,
    override: "QuickOverride",
    period: "Period",
    reason: str,
    patience: Patience,
    place: ClusterOptions,
) -> None:
    from hibernator.cli.plan_request import request
    from hibernator.kube.clustertime import now

    asked_at, longest = now(place.kubeconfig), patience.seconds
    talk(
        lambda session: request(
            session, name, override, period, now=asked_at, reason=reason, longest=longest
        ),
        place,
        role="hibernator-requester",
    )


@dataclass(frozen=True, slots=True)
class _Change:
    """What a command writes to a plan, and when that is so."""

    body: Mapping[str, object]
    words: str
    seen: Callable[["HibernatePlan"], bool]


def _observed(plan: "HibernatePlan") -> bool:
    return plan.status.observed_generation == plan.metadata.generation


def _change(
    name: str, change: Callable[["HibernatePlan"], _Change], patience: Patience, place: ClusterOptions
) -> None:
    from hibernator.api.hibernateplan import PLANS
    from hibernator.cli.settled import settled

    longest = patience.seconds

    async def ask(session: Session) -> None:
        plan = await session.client.get(PLANS, name, session.namespace)
        version, wanted = plan.metadata.resource_version, change(plan)
        await session.client.patch(PLANS, name, session.namespace, wanted.body, resource_version=version)
        if await settled(session, PLANS, name, wanted.seen, wanted.words, longest):
            typer.echo(f"{name} is {wanted.words}")

    talk(ask, place, role="hibernator-planner")


def _print(lines: list[str]) -> None:
    for line in lines:
        typer.echo(line)
