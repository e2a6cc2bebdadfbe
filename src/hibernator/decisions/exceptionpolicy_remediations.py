"""What the ExceptionPolicies ask of a remediation: who must agree, how many, and through which channels.

Policies add to what the analysis asks for, as with exceptions. What a remediation would do is for Rego to
look at. A policy that matched once goes on to count, whatever the labels of the analysis say later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from whenever import Instant

from hibernator.api.exceptionpolicy import ExceptionPolicy, ExceptionPolicySpec, Requirement
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.selector import selects
from hibernator.decisions.approval import Request, Seat
from hibernator.decisions.exceptionpolicy import Demand, Demands, name_in, required, why_not_in
from hibernator.decisions.scheduleexception_request import seat_of
from hibernator.schedule.errors import ScheduleError

_MOST_PLACES: Final = 100  # as many as the status has room for
_MOST_NEEDED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Governance:
    """The policies that may be about a remediation, and what they may look at."""

    policies: tuple[ExceptionPolicy, ...] = ()
    labels: Mapping[str, str] | None = None  # of the analysis; None where it is missing: it may be any
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    home: str = ""

    def asked(self, request: RemediationApprovalRequest, now: Instant) -> Demands:
        namespace, created = request.metadata.namespace, request.metadata.creation_timestamp
        matched = {one.policy for one in request.status.required_approvals}
        asked_at = Instant(created) if created else now
        named = sorted(((name_in(one, namespace), one) for one in self.policies), key=lambda one: one[0])
        each = (
            _demand(name, policy.spec.require, policy.spec, asked_at, now)
            for name, policy in named
            if policy.spec.require and (name in matched or self._is_about(policy, namespace))
        )
        return _bounded(Demands(tuple(each)))

    def _is_about(self, policy: ExceptionPolicy, namespace: str) -> bool:
        selector = policy.spec.remediation_selector
        if selector is None or why_not_in(policy, namespace, self.namespace_labels, self.home):
            return False
        return self.labels is None or selects(selector, self.labels)


def noted(request: RemediationApprovalRequest) -> Demands:
    """What the operator has noted, for the doors: who is asked by which policy."""
    groups: dict[str, list[Seat]] = {}
    needs: dict[str, int] = {}
    for one in request.status.required_approvals:
        groups.setdefault(one.policy or "", []).append(seat_of(one))
        needs[one.policy or ""] = one.needed or 1
    channels = frozenset(request.status.channels)
    return Demands(
        tuple(
            Demand(
                policy=name, version="", places=tuple(places), needs=((name, needs[name]),), channels=channels
            )
            for name, places in groups.items()
        )
    )


def asking(request: Request, demands: Demands) -> Request:
    """What is asked of whom, with what the policies ask besides."""
    return replace(
        request,
        places=(*request.places, *demands.places),
        needs=demands.needs,
        channels=demands.channels,
    )


def _demand(
    name: str, require: Requirement, spec: ExceptionPolicySpec, asked_at: Instant, now: Instant
) -> Demand:
    try:
        places, needed, later = required(name, require, spec, asked_at, now)
    except (ScheduleError, ValueError) as error:
        return _held(name, f"cannot be read: {error}")
    return Demand(
        policy=name,
        version="",
        message=spec.message,
        places=places,
        needs=((name, needed),),
        channels=frozenset(spec.channels),
        escalated_at=later,
    )


def _held(name: str, why: str) -> Demand:
    """One that no one can meet, with the reason."""
    said = f"It {why}. Nothing is approved until its owner corrects it."
    return Demand(policy=name, version="", needs=((name, 1),), problems=(said,))


def _bounded(found: Demands) -> Demands:
    if len(found.places) > _MOST_PLACES or sum(needed for _, needed in found.needs) > _MOST_NEEDED:
        return Demands((_held(found.each[0].policy, "asks for more people than can be written down"),))
    if found.channels == frozenset():
        return Demands((_held(found.each[0].policy, "leaves no channel together with other policies"),))
    return found
