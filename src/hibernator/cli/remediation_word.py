"""What the operator makes of somebody's decision about a remediation, waited for as with exceptions."""

from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.cli.exception_word import look_until
from hibernator.cli.exits import CliError
from hibernator.decisions.remediationapprovalrequest import said
from hibernator.kube.client import Client


async def heard(client: Client, name: str, namespace: str) -> str:
    """How the request stands after somebody's word; raises `CliError` where that does not count."""
    answer = f"The operator does not say yet whether that counts: see `hibernator remediation view {name}`."

    def is_over(request: RemediationApprovalRequest) -> bool:
        nonlocal answer
        status = request.status
        if status.decision in {"Approved", "Rejected"}:
            answer = status.message
        elif status.refused and said(request) is None:
            why = f"Your word is noted down, but does not count. {status.refused[-1].message}"
            raise CliError(why, hint=f"See `hibernator remediation view {name}`.")
        return bool(status.decision)

    await look_until(is_over, client, APPROVAL_REQUESTS, name, namespace)
    return answer
