"""`hibernator remediation`: see what waits for somebody's approval, and decide."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

import typer

from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.people import ApproverLevel
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.approvals.decision import Matter, NotAcceptedError
from hibernator.approvals.people import Directory
from hibernator.approvals.remediation import decide
from hibernator.approvals.whoami import who_am_i
from hibernator.cli.cluster import Session, talk
from hibernator.cli.exits import CliError
from hibernator.cli.listing import show_list
from hibernator.cli.names import names_of
from hibernator.cli.options import Chosen, Comment, Listing, Place, spread
from hibernator.cli.output import Column, Output, moment, printable, show_one
from hibernator.cli.remediation_word import heard
from hibernator.decisions.approval import DONE, Person, Verdict
from hibernator.decisions.remediationapprovalrequest import places
from hibernator.demo.pace import now
from hibernator.kube.errors import Forbidden, NotFound

app = typer.Typer(help="Remediations that wait for somebody's approval.", no_args_is_help=True)


Name = Annotated[
    str,
    typer.Argument(
        help="The name of the RemediationApprovalRequest.",
        metavar="NAME",
        autocompletion=names_of(APPROVAL_REQUESTS),
    ),
]


@app.command("list")
@spread
def list_(
    listing: Listing,
    place: Place,
    pending: Annotated[bool, typer.Option("--pending", help="Only those that are not decided.")] = False,
    mine: Annotated[
        bool, typer.Option("--mine", help="Only those that name me, or nobody, as an approver.")
    ] = False,
) -> None:
    """List requests for approval, those that end first at the top.

    For example: `hibernator remediation list --pending -A`
    """

    async def wanted(session: Session) -> Callable[[RemediationApprovalRequest], bool]:
        me = await who_am_i(session.client, Directory()) if mine else None
        return lambda one: not (pending and one.status.decision) and (me is None or _asks(one, me))

    show_list(APPROVAL_REQUESTS, _COLUMNS, listing, place, wanted=wanted, order=_order)


@app.command()
@spread
def view(
    name: Name,
    place: Place,
    output: Chosen = Output.TABLE,
) -> None:
    """Show a request with what was found, what would be done, who is asked and until when.

    For example: `hibernator remediation view checkout-oom-3f2a9c01de -n shop`
    """

    async def ask(session: Session) -> _Sight:
        request = await session.client.get(APPROVAL_REQUESTS, name, session.namespace)
        try:
            reference = request.spec.ai_analysis_ref.name
            return _Sight(request, await session.client.get(ANALYSES, reference, session.namespace))
        except (NotFound, Forbidden):
            return _Sight(request, None)

    sight = talk(ask, place, role="hibernator-auditor")
    if output in {Output.TABLE, Output.WIDE}:
        for line in _lines(sight):
            typer.echo(printable(line))
    else:
        show_one(APPROVAL_REQUESTS, sight.request, output)


@app.command()
@spread
def approve(
    name: Name,
    place: Place,
    comment: Comment = "",
) -> None:
    """Approve a remediation, in your own name. The first decision is final.

    For example: `hibernator remediation approve checkout-oom-3f2a9c01de --comment "go ahead"`
    """
    _decide(name, "approve", comment, place)


@app.command()
@spread
def reject(
    name: Name,
    reason: Annotated[str, typer.Argument(help="Why not.", metavar="REASON")],
    place: Place,
) -> None:
    """Reject a remediation, in your own name. The first decision is final.

    For example: `hibernator remediation reject checkout-oom-3f2a9c01de "not during the freeze"`
    """
    _decide(name, "reject", reason, place)


def _decide(
    name: str,
    verdict: Verdict,
    reason: str,
    place: Place,
) -> None:
    async def ask(session: Session) -> str:
        matter, who = Matter(name, session.namespace), await who_am_i(session.client, Directory())
        await decide(session.client, matter, who, verdict, "cli", reason=reason, now=now(place.kubeconfig))
        answer = await heard(session.client, name, session.namespace)
        return f"{who.user} {DONE[verdict]} {name}\n{answer}"

    try:
        typer.echo(talk(ask, place, role="hibernator-approver"))
    except NotAcceptedError as error:
        raise CliError(str(error), hint=f"See `hibernator remediation view {name}`.") from error


def _order(one: RemediationApprovalRequest) -> tuple[bool, datetime, str]:
    return bool(one.status.decision), one.spec.required_by, one.metadata.name


def _asks(one: RemediationApprovalRequest, person: Person) -> bool:
    """Whether somebody is among those who are asked, as far as that can be seen from here."""
    return not one.spec.approvers or any(place.fits(person) for place in places(one.spec.approvers))


@dataclass(frozen=True, slots=True)
class _Sight:
    request: RemediationApprovalRequest
    analysis: AIAnalysis | None  # None when it is gone, or hidden from the one who looks


def _lines(sight: _Sight) -> Iterator[str]:
    request = sight.request
    spec, status, metadata = request.spec, request.status, request.metadata
    context = spec.approval_context
    yield f"{metadata.namespace}/{metadata.name} asks about AIAnalysis {spec.ai_analysis_ref.name}"
    found = sight.analysis.spec.analysis if sight.analysis else None
    signal = found.signal if found and isinstance(found.signal, str) else ""
    via = f" through {status.decided_via}" if status.decided_via else ""
    facts = (
        ("decision", status.decision or "none yet"),
        ("message", status.message),
        ("decided by", f"{status.decided_by}{via}" if status.decided_by else ""),
        ("decided at", moment(status.decided_at)),
        ("required by", f"{moment(spec.required_by)}{_source(request)}"),
        ("playbook", context.recommended_playbook),
        ("confidence", f"{context.confidence:g}"),
        ("why people", context.reason),
        ("signal", signal),
        ("found", found.reason if found else ""),
        ("remediation", spec.remediation_request_ref.name if spec.remediation_request_ref else ""),
        ("analysis", (sight.analysis.status.phase or "") if sight.analysis else "gone, or hidden from you"),
    )
    for title, value in facts:
        if value:
            yield f"  {title:<12} {value}"
    yield from _people(request)


def _people(request: RemediationApprovalRequest) -> Iterator[str]:
    spec, status = request.spec, request.status
    yield "Who is asked" if spec.approvers else "Everybody is asked who may approve here"
    for level in spec.approvers:
        yield f"  {level.level}   {_level(level)}{_since(level, request)}"
    if status.refused:
        yield "What does not count"
        for one in status.refused:
            yield f"  {moment(one.at)} {one.decision} by {one.by or 'somebody'}: {one.message}"


def _level(level: ApproverLevel) -> str:
    return ", ".join((*level.emails, *level.roles))


def _since(level: ApproverLevel, request: RemediationApprovalRequest) -> str:
    if level.level == "L1" or request.spec.escalate_at is None:
        return ""
    if request.status.escalated_at:
        return f" (since {moment(request.status.escalated_at)})"
    return f" (from {moment(request.spec.escalate_at)} on)"


def _source(request: RemediationApprovalRequest) -> str:
    return _SOURCES.get(request.status.deadline_source or "", "")


_SOURCES: Final = {
    "Analysis": " (the analysis says so)",
    "Policy": " (the policy says so)",
    "Namespace": " (the namespace says so)",
    "Default": " (nobody says otherwise)",
}

_COLUMNS: Final[tuple[Column[RemediationApprovalRequest], ...]] = (
    Column("Analysis", lambda one: one.spec.ai_analysis_ref.name),
    Column("Confidence", lambda one: f"{one.spec.approval_context.confidence:g}"),
    Column("Playbook", lambda one: one.spec.approval_context.recommended_playbook),
    Column("Required by", lambda one: moment(one.spec.required_by)),
    Column("Decision", lambda one: one.status.decision),
    Column("Decided by", lambda one: one.status.decided_by, wide=True),
    Column("Message", lambda one: one.status.message, wide=True),
)
