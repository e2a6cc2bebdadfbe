"""The one way in for every decision about a remediation, whatever channel it comes through.

    await decide(client, Matter("checkout-oom-3f", "shop"), who, "approve", "cli", now=clock.now())

What is written is a condition and the name of the one who decided, on top of exactly what was read: of people
who decide together one is first, and the others read who that was. The controller makes a decision of it.
"""

from collections.abc import Callable
from typing import Any, Final

from whenever import Instant

from hibernator.api.people import KnownBy
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.approvals.decision import Matter, NotAcceptedError, write
from hibernator.decisions.approval import DONE, Outcome, Refusal, Verdict, fingerprint, over
from hibernator.decisions.conditions import whole_second
from hibernator.decisions.person import Person
from hibernator.decisions.remediationapprovalrequest_votes import said
from hibernator.kube.client import Client
from hibernator.kube.patch import encode

Check = Callable[[RemediationApprovalRequest, Person, Verdict], Refusal | None]
_WORDS: Final[dict[Verdict, str]] = {"approve": "Approved", "reject": "Rejected"}


def matter_of(request: RemediationApprovalRequest) -> Matter:
    """Bind a decision to a request as it is here."""
    metadata = request.metadata
    return Matter(metadata.name, metadata.namespace, metadata.uid, fingerprint(request.spec))


async def decide(
    client: Client,
    matter: Matter,
    who: Person,
    verdict: Verdict,
    channel: str,
    *,
    now: Instant,
    reason: str = "",
    known_by: KnownBy | None = None,
    check: Check | None = None,
    seen: RemediationApprovalRequest | None = None,
) -> RemediationApprovalRequest:
    """Write down what someone decided; raises `NotAcceptedError` where there is nothing left to decide.

    `seen` saves a look where a cache has the request (`decision.write`).
    """

    def status(request: RemediationApprovalRequest) -> dict[str, Any]:
        if refusal := why_not(request, matter, now) or (check and check(request, who, verdict)):
            raise NotAcceptedError(refusal)
        return decision_patch(request, who, verdict, channel, now=now, reason=reason, known_by=known_by)

    return await write(client, APPROVAL_REQUESTS, matter, status, seen=seen)


def decision_patch(
    request: RemediationApprovalRequest,
    who: Person,
    verdict: Verdict,
    channel: str,
    *,
    now: Instant,
    reason: str = "",
    known_by: KnownBy | None = None,
) -> dict[str, Any]:
    """The status as someone who decides patches it."""
    condition = {
        "type": _WORDS[verdict],
        "status": "True",
        "reason": f"{_WORDS[verdict]}By{channel.capitalize()}",
        "message": reason,
        "lastTransitionTime": whole_second(now),
    }
    others = encode(request.status).get("conditions", ())
    known = {
        "deciderGroups": list(who.groups),
        "deciderExtra": dict(who.extra),
        "deciderKnownBy": encode(known_by) if known_by else None,
    }
    decider = {"decidedBy": who.user, "decidedVia": channel}
    return (
        decider | {key: found for key, found in known.items() if found} | {"conditions": [*others, condition]}
    )


def why_not(request: RemediationApprovalRequest, matter: Matter, now: Instant) -> Refusal | None:
    """Why a decision would not count, as far as that can be seen from here."""
    status, name = request.status, request.metadata.name
    if matter.uid and matter != matter_of(request):
        return Refusal("Stale", f"{name} is no longer what was shown: look at it again, then decide.")
    if request.metadata.deletion_timestamp:
        return Refusal("TooLate", f"{name} is being deleted: there is nothing left to decide.")
    deadline = Instant(request.spec.required_by)
    if status.decision == "Expired" or (not status.decision and now >= deadline):
        return Refusal("TooLate", f"It is too late to decide: the deadline was {deadline.format_iso()}.")
    at = Instant(status.decided_at) if status.decided_at else deadline
    if status.decision:
        return over(Outcome(status.decision, status.decided_by, at, status.decision_message))
    if word := said(request):
        done = DONE["approve" if word.type == "Approved" else "reject"]
        by = status.decided_by or "an unknown user"
        return Refusal("DecidedBefore", f"It was {done} already, by {by}.")
    return None
