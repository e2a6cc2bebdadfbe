"""Who said what about a remediation, and how it stands, for the machine that all approvals share."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from whenever import Instant

from hibernator.api.aianalysis import DeadlineSource
from hibernator.api.meta import Condition
from hibernator.api.people import ApproverLevel
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.decisions.approval import Refusal, Request, Seat, Standing, Verdict, Vote, stand
from hibernator.decisions.exceptionpolicy import Demands
from hibernator.decisions.exceptionpolicy_remediations import Governance, asking, noted
from hibernator.decisions.person import Person

UNKNOWN_CHANNEL: Final = "api"
_ANY_APPROVER: Final = Seat("role", "*")
_UNKNOWN: Final = Person("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the decision may look at."""

    request: RemediationApprovalRequest
    person: Person  # the one whose name stands beside the condition
    channel: str = ""  # through which they decide, where that is not in the status yet
    people: Mapping[str, Person] = field(default_factory=dict)  # who approved before, by user
    author: Person = _UNKNOWN  # of the analysis; no name where no one knows
    own_allowed: bool = False  # whether authors may approve their own analyses
    governance: Governance | None = None  # None at the doors, which go by what the operator has noted
    accepted_at: Instant | None = None  # when the API server took it, where that matters: after the deadline
    deadline_source: DeadlineSource | None = None
    recorded: frozenset[int] = frozenset()  # what of the journal the audit trail has

    def demands(self, now: Instant) -> Demands:
        return self.governance.asked(self.request, now) if self.governance else noted(self.request)


@dataclass(frozen=True, slots=True)
class Weighed:
    """How it stands with what was said."""

    standing: Standing
    demands: Demands
    vote: Vote | None = None  # of the condition
    refusal: Refusal | None = None  # why that does not count, if it never will

    @property
    def is_counted(self) -> bool:
        return any(vote is self.vote for vote in self.standing.counted)


def said(request: RemediationApprovalRequest) -> Condition | None:
    """The condition by which someone decided."""
    return next((one for one in request.status.conditions if one.type in {"Approved", "Rejected"}), None)


def places(levels: tuple[ApproverLevel, ...]) -> tuple[Seat, ...]:
    """Whose decision counts. The second level need not wait until it is asked."""
    named = (
        *(Seat("email", email) for level in levels for email in level.emails),
        *(Seat("role", role) for level in levels for role in level.roles),
    )
    return named or (_ANY_APPROVER,)


def weigh(seen: Seen, condition: Condition | None, now: Instant) -> Weighed:
    """How it stands with what was said, and why that does not count, if it never will.

    One that came too late is no such case: there time has run out, and that is how it ends.
    """
    spec, uid, demands = seen.request.spec, seen.request.metadata.uid, seen.demands(now)
    own = Request(
        requester=seen.author,
        places=places(spec.approvers),
        needed=1,
        asked_at=Instant.MIN,  # no one can have spoken before there was anything to add a condition to
        deadline=Instant(spec.required_by),
        uid=uid,
        spec_hash="",  # the spec never changes
        # Most analyses come from programs, and without the webhook no one knows from which.
        own_allowed=seen.own_allowed or not seen.author.user,
    )
    request, before = asking(own, demands), tuple(_earlier(seen))
    if condition is None:
        return Weighed(stand(request, before, now), demands)
    verdict: Verdict = "approve" if condition.type == "Approved" else "reject"
    vote = Vote(
        by=_approver(seen.person),
        verdict=verdict,
        at=seen.accepted_at or now,
        uid=uid,
        channel=seen.request.status.decided_via or seen.channel or UNKNOWN_CHANNEL,
        reason=condition.message[:1024],
    )
    standing = stand(request, (*before, vote), now)
    refusal = next((why for one, why in standing.refused if one is vote and why.reason != "TooLate"), None)
    if not seen.person.user and vote.at < request.deadline:
        refusal = Refusal(
            "NotAsked",
            "It is unknown who decided: write your own user name into status.decidedBy together with the "
            "condition, or use `hibernator remediation approve`.",
        )
    return Weighed(standing, demands, vote, refusal)


def _earlier(seen: Seen) -> Iterator[Vote]:
    """Approvals that were not enough by themselves; the operator has noted when it heard them."""
    for yes in seen.request.status.approvals:
        yield Vote(
            by=_approver(seen.people.get(yes.approved_by) or Person(yes.approved_by)),
            verdict="approve",
            at=Instant(yes.approved_at),
            uid=seen.request.metadata.uid,
            channel=yes.channel,
            reason=yes.reason,
        )


def _approver(person: Person) -> Person:
    """Who got as far as to write a decision has the right to, and that is enough where none is named."""
    return dataclasses.replace(person, roles=person.roles | {_ANY_APPROVER.name})
