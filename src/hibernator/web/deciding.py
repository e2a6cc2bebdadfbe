"""How a decision of a person is written, whatever door of the web process it came through."""

from typing import Any, Literal

import msgspec

from hibernator.api.kind import Kind
from hibernator.api.people import KnownBy
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.approvals import decision, remediation
from hibernator.approvals.counting import Counting
from hibernator.approvals.decision import Matter, NotAcceptedError
from hibernator.decisions.approval import Refusal, Verdict, Vote
from hibernator.decisions.person import Person
from hibernator.kube.errors import NotFound
from hibernator.web import authorization
from hibernator.web.cases import Case
from hibernator.web.identity import Identity
from hibernator.web.site import Site


def kind_of(case: Case) -> Kind[Any]:
    return APPROVAL_REQUESTS if isinstance(case, RemediationApprovalRequest) else EXCEPTIONS


def matter_of(case: Case) -> Matter:
    """What a decision is bound to."""
    if isinstance(case, RemediationApprovalRequest):
        return remediation.matter_of(case)
    return decision.matter_of(case)


def counting(site: Site) -> Counting:
    return Counting(
        directory=site.cases.people.directory(),
        now=site.clock.now(),
        own_allowed=site.settings.approval_of_own_requests,
    )


async def authorize(site: Site, who: Identity, case: Case, how: Literal["asked", "rbac"]) -> None:
    """Ask Kubernetes where the settings want that, or where a request names no approver."""
    settings = msgspec.structs.replace(site.settings, web_authorization=how)
    await authorization.check(site.client, settings, who, kind_of(case), case)


def over(site: Site, case: Case, matter: Matter) -> Refusal | None:
    """Why this cannot be decided any more, as far as the caches say; None where it can."""
    now = site.clock.now()
    if isinstance(case, RemediationApprovalRequest):
        return remediation.why_not(case, matter, now)
    vote = Vote(
        by=Person(""),
        verdict="reject",
        at=now,
        uid=matter.uid,
        spec_hash=matter.spec_hash,
        channel="",
    )
    return decision.why_not(case, vote)


async def write(
    site: Site,
    case: Case,
    matter: Matter,
    who: Person,
    known_by: KnownBy,
    verdict: Verdict,
    channel: Literal["link", "slack"],
    reason: str = "",
) -> Case:
    """Write it down, once; raises NotAcceptedError where it is not theirs to decide, or is there no more."""
    try:
        return await _write(site, case, matter, who, known_by, verdict, channel, reason)
    except NotFound as error:  # our cache still had it
        message = f"{matter.name} was deleted: there is nothing left to decide."
        raise NotAcceptedError(Refusal("TooLate", message)) from error


async def _write(
    site: Site,
    case: Case,
    matter: Matter,
    who: Person,
    known_by: KnownBy,
    verdict: Verdict,
    channel: Literal["link", "slack"],
    reason: str,
) -> Case:
    now, counts = site.clock.now(), counting(site)
    if isinstance(case, RemediationApprovalRequest):
        analysis = site.cases.analysis_of(case)
        return await remediation.decide(
            site.client,
            matter,
            who,
            verdict,
            channel,
            now=now,
            reason=reason,
            known_by=known_by,
            check=lambda found, by, said: counts.of_remediation(found, by, said, analysis, channel),
            seen=case,
        )
    return await decision.decide(
        site.client,
        matter,
        who,
        verdict,
        channel,
        now=now,
        reason=reason,
        known_by=known_by,
        check=counts.of_exception,
        seen=case,
    )
