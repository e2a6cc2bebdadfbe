"""What the operator makes of somebody's decision about a remediation, waited for as with exceptions."""

from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.cli.cluster import Session
from hibernator.cli.exception_word import look_until
from hibernator.cli.exits import CliError
from hibernator.decisions.remediationapprovalrequest import said


async def heard(session: Session, name: str) -> str:
    """How the request stands after somebody's word; raises `CliError` where that does not count."""
    view = f"`hibernator remediation view {name}{session.options}`"
    answer = f"The operator does not say yet whether that counts: see {view}."

    def is_over(request: RemediationApprovalRequest) -> bool:
        nonlocal answer
        status = request.status
        if status.decision in {"Approved", "Rejected"}:
            answer = status.message
        elif status.refused and said(request) is None:
            why = f"Your decision was recorded, but not counted. {status.refused[-1].message}"
            raise CliError(why, hint=f"See {view}.")
        return bool(status.decision)

    await look_until(is_over, session.client, APPROVAL_REQUESTS, name, session.namespace)
    return answer
