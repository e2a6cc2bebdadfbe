"""The parts of the status of a request for approval: who must agree, who did, and for whom it waits."""

import dataclasses
from collections.abc import Iterator

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.people import ApproverLevel
from hibernator.api.remediationapprovalrequest import (
    RemediationApprovalRequest,
    RemediationApprovalRequestStatus,
)
from hibernator.api.scheduleexception import Approval, RequiredApproval
from hibernator.decisions.approval import Vote
from hibernator.decisions.conditions import whole_second
from hibernator.decisions.remediationapprovalrequest_votes import Weighed
from hibernator.decisions.scheduleexception_status import awaited as of_policies


def undecided(before: RemediationApprovalRequestStatus) -> RemediationApprovalRequestStatus:
    """Without the one who decided, so that others can."""
    return replace(
        before,
        decided_by="",
        decider_groups=(),
        decider_extra={},
        decider_known_by=None,
        decided_at=None,
        decided_via="",
        decision_message="",
    )


def approval(before: RemediationApprovalRequestStatus, vote: Vote) -> Approval:
    return Approval(
        approved_by=before.decided_by,
        approved_at=whole_second(vote.at),
        channel=vote.channel,
        reason=vote.reason,
        groups=before.decider_groups,
        extra=before.decider_extra,
        known_by=before.decider_known_by,
    )


def decided_by(before: RemediationApprovalRequestStatus, vote: Vote) -> RemediationApprovalRequestStatus:
    entry = next(yes for yes in before.approvals if yes.approved_by == vote.by.user)
    return replace(
        before,
        decided_by=entry.approved_by,
        decided_via=entry.channel,
        decider_groups=entry.groups,
        decider_extra=entry.extra,
        decider_known_by=entry.known_by,
    )


def required(before: RemediationApprovalRequestStatus, weighed: Weighed) -> RemediationApprovalRequestStatus:
    """Who must agree by policies, and what they said so far."""
    needs, standing = dict(weighed.demands.needs), weighed.standing
    required = tuple(
        RequiredApproval(
            status=standing.status_of(place),
            email=place.name if place.kind == "email" else None,
            role=place.name if place.kind == "role" else None,
            policy=place.policy,
            needed=needs[place.policy],
        )
        for place in weighed.demands.places
    )
    channels = tuple(sorted(weighed.demands.channels or ()))
    return replace(before, required_approvals=required, channels=channels)


def awaited(request: RemediationApprovalRequest, weighed: Weighed, *, both: bool) -> Iterator[str]:
    """For whom it waits: those whom the analysis names, and for each policy those whom it names."""
    standing, spec = weighed.standing, request.spec
    until = f"Waits until {Instant(spec.required_by).format_iso()}"
    groups = {group for group, _ in standing.request.missing(standing.filled)}
    yield f"{until} for {_asked(spec.approvers, both=both)}." if "" in groups else f"{until}."
    demands = weighed.demands
    readable = [group for group, _ in demands.needs if any(one.policy == group for one in demands.places)]
    asked = dataclasses.replace(
        standing.request,
        needed=0,
        needs=tuple(need for need in standing.request.needs if need[0] in readable),
    )
    yield from of_policies(asked, standing)
    yield from demands.problems


def _asked(levels: tuple[ApproverLevel, ...], *, both: bool) -> str:
    only_second = all(level.level == "L2" for level in levels)
    names = [
        name
        for level in levels
        if level.level == "L1" or both or only_second
        for name in (*level.emails, *level.roles)
    ]
    return f"one of {', '.join(names)}" if names else "any user who may approve"
