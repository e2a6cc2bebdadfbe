"""`hibernator remediation`: list and view remediations that wait for approval, and decide."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.deciding import Deciding, decide_about
from hibernator.cli.lazy import group
from hibernator.cli.names import one_of, some_of
from hibernator.cli.options import Chosen, ClusterOptions, Comment, Listing, Output, spread

if TYPE_CHECKING:
    from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
    from hibernator.cli.remediation_view import RemediationDetails
    from hibernator.decisions.approval import Verdict

app = group("See remediations that wait for approval, and approve or reject them.")


Name = Annotated[str, one_of("RemediationApprovalRequest", "RemediationApprovalRequest")]
Names = Annotated[list[str] | None, some_of("RemediationApprovalRequest", "requests")]


@app.command("list")
@spread
def list_(
    listing: Listing,
    place: ClusterOptions,
    names: Names = None,
    pending: Annotated[bool, typer.Option("--pending", help="Only those that are not decided.")] = False,
    mine: Annotated[
        bool, typer.Option("--mine", help="Only those that name me as an approver, or no approver.")
    ] = False,
) -> None:
    """List requests for approval, those that end first at the top.

    For example: `hibernator remediation list --pending -A`
    """
    from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
    from hibernator.approvals.people import Directory, who_am_i
    from hibernator.cli.listing import show_list
    from hibernator.cli.remediation_view import asks, columns, order
    from hibernator.kube.clustertime import clock_of

    async def wanted(session: Session) -> Callable[["RemediationApprovalRequest"], bool]:
        me = await who_am_i(session.client, Directory()) if mine else None
        return lambda one: not (pending and one.status.decision) and (me is None or asks(one, me))

    shown = columns(clock_of(place.kubeconfig))
    show_list(APPROVAL_REQUESTS, shown, listing, place, names=names or (), wanted=wanted, order=order)


@app.command()
@spread
def view(
    name: Name,
    place: ClusterOptions,
    output: Chosen = Output.TABLE,
) -> None:
    """Show a request: the analysis, the recommended remediation, the approvers and the deadline.

    For example: `hibernator remediation view checkout-oom-3f2a9c01de -n shop`
    """
    from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
    from hibernator.cli.output import show_one

    details = _look(name, place, role="hibernator-auditor")
    if output in {Output.TABLE, Output.WIDE}:
        _show(details)
    else:
        show_one(APPROVAL_REQUESTS, details.request, output)


@app.command()
@spread
def approve(
    name: Name,
    place: ClusterOptions,
    deciding: Deciding,
    comment: Comment = "",
) -> None:
    """Approve a remediation, in your own name, after you have seen it. The first decision is final.

    On a terminal it is shown, and you are asked. In scripts, name what you have seen by its hash.

    For example: `hibernator remediation approve checkout-oom-3f2a9c01de --comment "go ahead"`
    """
    _decide(name, "approve", comment, place, deciding)


@app.command()
@spread
def reject(
    name: Name,
    reason: Annotated[str, typer.Argument(help="Why not.", metavar="REASON")],
    place: ClusterOptions,
    deciding: Deciding,
) -> None:
    """Reject a remediation, in your own name, after you have seen it. The first decision is final.

    On a terminal it is shown, and you are asked. In scripts, name what you have seen by its hash.

    For example: `hibernator remediation reject checkout-oom-3f2a9c01de "not during the freeze"`
    """
    _decide(name, "reject", reason, place, deciding)


def _look(name: str, place: ClusterOptions, role: str) -> "RemediationDetails":
    from hibernator.api.aianalysis import ANALYSES
    from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
    from hibernator.cli.remediation_view import RemediationDetails
    from hibernator.kube.errors import Forbidden, NotFound

    async def ask(session: Session) -> RemediationDetails:
        request = await session.client.get(APPROVAL_REQUESTS, name, session.namespace)
        try:
            reference = request.spec.ai_analysis_ref.name
            return RemediationDetails(
                request, await session.client.get(ANALYSES, reference, session.namespace)
            )
        except (NotFound, Forbidden):
            return RemediationDetails(request, None)

    return talk(ask, place, role=role)


def _show(details: "RemediationDetails") -> None:
    from hibernator.cli.output import printable
    from hibernator.cli.remediation_view import lines

    for line in lines(details):
        typer.echo(printable(line))


def _decide(name: str, verdict: "Verdict", reason: str, place: ClusterOptions, deciding: Deciding) -> None:
    from hibernator.approvals.decision import Matter
    from hibernator.approvals.remediation import decide, matter_of
    from hibernator.cli.remediation_view import outcome

    def look() -> tuple[Matter, Callable[[], None]]:
        details = _look(name, place, role="hibernator-approver")
        return matter_of(details.request), lambda: _show(details)

    decide_about(
        "remediation", name, verdict, reason, place, deciding, look=look, write=decide, outcome=outcome
    )
