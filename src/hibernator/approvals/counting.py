"""Whether a decision will count, worked out before it is written, for people who wait for the answer.

The operator decides what counts, with the same machine; here it is asked early, with what the web process
knows. Where the two differ, because a role was changed in between, the operator is right.
"""

from dataclasses import dataclass, replace

from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.meta import Condition
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.approvals.people import Directory, approvers, asker, everybody
from hibernator.decisions.approval import Refusal, Verdict, Vote, stand
from hibernator.decisions.conditions import whole_second
from hibernator.decisions.journal import author
from hibernator.decisions.person import Person
from hibernator.decisions.remediationapprovalrequest_votes import Seen, weigh
from hibernator.decisions.remediationrequest import asks_about
from hibernator.decisions.scheduleexception_request import Rules, request_of, votes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """What is known of people now, and whether they may approve what they asked for."""

    directory: Directory
    now: Instant
    own_allowed: bool = False

    def of_exception(self, exception: ScheduleException, vote: Vote) -> Refusal | None:
        """Why a decision will not count; to be passed to `decision.decide`."""
        people, status = everybody(exception, self.directory), exception.status
        asked_at = Instant(status.requested_at) if status.requested_at else self.now
        asked = request_of(
            exception, asker(exception, self.directory), asked_at, Rules(own_allowed=self.own_allowed)
        )
        deadline = Instant(status.approval_deadline) if status.approval_deadline else asked.deadline
        before = votes_of(exception, lambda user: people.get(user) or Person(user), asked_at, self.now)
        vote = replace(vote, at=max(self.now, asked_at))
        standing = stand(replace(asked, deadline=deadline), [*before, vote], self.now)
        return next((why for one, why in standing.refused if one is vote), None)

    def of_remediation(
        self,
        request: RemediationApprovalRequest,
        who: Person,
        verdict: Verdict,
        analysis: AIAnalysis | None = None,
        channel: str = "",
    ) -> Refusal | None:
        """The same for `remediation.decide`, with the analysis that it is about."""
        by = ""
        if analysis and asks_about(request, analysis):
            by = author(analysis.metadata, analysis.metadata.generation)
        seen = Seen(
            request=request,
            person=who,
            channel=channel,
            people=approvers(request.status, self.directory),
            author=self.directory.person(by),
            own_allowed=self.own_allowed,
        )
        condition = Condition(
            type="Approved" if verdict == "approve" else "Rejected",
            status="True",
            reason="Asked",
            message="",
            last_transition_time=whole_second(self.now),
        )
        return weigh(seen, condition, self.now).refusal
