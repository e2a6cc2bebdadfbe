"""What the ExceptionPolicies ask of an exception: who must agree, and what is not allowed at all.

Each policy that matches adds a demand of its own, and all demands must be met. Nothing that one policy says
weakens another, so their order means nothing and one more policy never allows more. A policy that
cannot be read holds what it is about, with a sentence that says why.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec
from whenever import Instant

from hibernator.api.exceptionpolicy import (
    ExceptionPolicy,
    ExceptionPolicySpec,
    Relief,
    Requirement,
)
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.api.selector import selects
from hibernator.decisions.approval import Seat, fingerprint
from hibernator.decisions.exceptionpolicy_limits import (
    Use,
    broken_limits,
    freezes,
    joined,
    next_freeze,
    next_week,
    within,
)
from hibernator.decisions.pattern import PatternError, found_in
from hibernator.decisions.person import Person
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.words import read_duration

MOST_POLICIES: Final = 16  # that match one exception
MOST_WINDOWS: Final = 128  # hours of the week in all of them: each is laid out over the whole exception
MOST_PLACES: Final = 200  # of all demands together, as many as the status has room for
MOST_NEEDED: Final = 40  # as many approvals as the status has room for


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one policy asks of one exception. `places` has a seat for each of those who may agree.

    Of the seats with the same `policy`, as many must be filled as `needs` says: those of `require` are one
    group, and those who may override a freeze another.
    """

    policy: str
    version: str  # a hash of what the policy says
    message: str = ""  # the sentence of its author
    places: tuple[Seat, ...] = ()
    needs: tuple[tuple[str, int], ...] = ()
    unless: str = ""  # why no one has to agree to this one, if so
    problems: tuple[str, ...] = ()  # what it does not allow, even with all approvals
    channels: frozenset[str] = frozenset()  # through which an approval counts; all when empty
    escalated_at: Instant | None = None  # from when on more people may agree; None for never
    changes_at: Instant | None = None  # when a freeze or a week is over, or a freeze begins


@dataclass(frozen=True, slots=True)
class Demands:
    """What all policies together ask."""

    each: tuple[Demand, ...] = ()  # in the order of their names

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not allowed, each with the policy that says so and the sentence of its author."""
        return tuple(
            f"ExceptionPolicy {one.policy}: {_spaced(one.message)}{problem}"
            for one in self.each
            for problem in one.problems
        )

    @property
    def places(self) -> tuple[Seat, ...]:
        return tuple(place for one in self.each for place in one.places)

    @property
    def needs(self) -> tuple[tuple[str, int], ...]:
        """How many approvals each group of places needs, by what its seats name as their policy."""
        return tuple(need for one in self.each for need in one.needs)

    @property
    def channels(self) -> frozenset[str] | None:
        """The channels that count for every policy; None where all do."""
        named = [one.channels for one in self.each if one.channels]
        return frozenset.intersection(*named) if named else None

    def next_change(self, now: Instant) -> Instant | None:
        """When something else is asked for, although no one writes anything."""
        moments = (at for one in self.each for at in (one.escalated_at, one.changes_at))
        return min((at for at in moments if at and at > now), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What policies may look at besides the exception and its plan."""

    requester: Person
    asked_at: Instant  # when it was submitted, or now
    uses: tuple[Use, ...] = ()  # the other exceptions of the plan that count
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    home: str = ""  # the operator's own namespace
    matched: frozenset[str] = frozenset()  # policies that matched it before: a changed label drops none


def demands(
    exception: ScheduleException,
    plan: HibernatePlan | None,
    policies: Iterable[ExceptionPolicy],
    case: Case,
    now: Instant,
) -> Demands:
    """What the policies that match ask for. Their order does not matter."""
    found = {
        name: policy
        for policy in policies
        if (name := policy_name(policy, exception)) and _is_about(policy, name, exception, plan, case)
    }
    if why := _too_much(found.values()):
        unread = [
            Demand(policy=name, version=_version(policy.spec), message=policy.spec.message)
            for name, policy in sorted(found.items())
        ]
        return Demands(tuple(_held(unread, why)))
    each = [_demand(name, policy.spec, exception, plan, case, now) for name, policy in sorted(found.items())]
    return Demands(tuple(_bounded(each, exception)))


def foretold(asked: Demands) -> Iterator[str]:
    """Who will have to agree and why, before anything is filed: a sentence for each policy that asks."""
    for one in asked.each:
        said = _spaced(one.message)
        for group, needed in one.needs:
            names = ", ".join(place.name for place in one.places if place.policy == group)
            number = sum(place.policy == group for place in one.places)
            of = f"{needed} of these must agree" if needed < number else "must agree"
            who = f"{of}: {names}" if needed < number else f"{names} {of}"
            yield f"ExceptionPolicy {group}: {said}{who}."
        if one.unless:
            yield f"ExceptionPolicy {one.policy}: no approval is needed, because {one.unless}."
    if asked.channels:
        yield f"Approvals count through {', '.join(sorted(asked.channels))} only."


def policy_name(policy: ExceptionPolicy, exception: ScheduleException) -> str:
    """How people call a policy beside an exception: with its namespace, where that is another one."""
    return name_in(policy, exception.metadata.namespace)


def name_in(policy: ExceptionPolicy, namespace: str) -> str:
    metadata = policy.metadata
    is_near = metadata.namespace == namespace
    return metadata.name if is_near else f"{metadata.namespace}/{metadata.name}"


def why_not_about(
    policy: ExceptionPolicy, exception: ScheduleException, plan: HibernatePlan | None, case: Case
) -> str:
    """Why a policy says nothing about an exception; empty where it does."""
    namespace, spec = exception.metadata.namespace, policy.spec
    if why := why_not_in(policy, namespace, case.namespace_labels, case.home):
        return why
    if spec.remediation_selector is not None and spec.plan_selector is None:
        return "it has a remediationSelector and no planSelector"
    if plan is not None and spec.plan_selector and not selects(spec.plan_selector, plan.metadata.labels):
        return f"planSelector does not select the plan {plan.metadata.name}"
    return ""  # the labels of a plan that is missing are not known: it may be any


def why_not_in(policy: ExceptionPolicy, namespace: str, labels: Mapping[str, str], home: str) -> str:
    """Why a policy says nothing about a namespace; empty where it does."""
    spec = policy.spec
    is_for_all = policy.metadata.namespace == home and spec.namespace_selector is not None
    if is_for_all and spec.namespace_selector is not None:
        if not selects(spec.namespace_selector, labels):
            return f"namespaceSelector does not select the namespace {namespace}"
    elif policy.metadata.namespace != namespace:
        return f"it is about plans of its own namespace, {policy.metadata.namespace}"
    return ""


def _is_about(
    policy: ExceptionPolicy,
    name: str,
    exception: ScheduleException,
    plan: HibernatePlan | None,
    case: Case,
) -> bool:
    return name in case.matched or not why_not_about(policy, exception, plan, case)


def _demand(
    name: str,
    spec: ExceptionPolicySpec,
    exception: ScheduleException,
    plan: HibernatePlan | None,
    case: Case,
    now: Instant,
) -> Demand:
    version = _version(spec)
    try:
        return _read(name, version, spec, exception, plan, case, now)
    except (ScheduleError, PatternError, ValueError) as error:
        why = f"The policy cannot be read, so nothing passes it: {error}. Ask its owner to correct it."
        return Demand(policy=name, version=version, message=spec.message, problems=(why,))


def _read(
    name: str,
    version: str,
    spec: ExceptionPolicySpec,
    exception: ScheduleException,
    plan: HibernatePlan | None,
    case: Case,
    now: Instant,
) -> Demand:
    asked, timezone = exception.spec, plan.spec.schedule.timezone if plan else "UTC"
    places: tuple[Seat, ...] = ()
    needs: dict[str, int] = {}
    unless, escalated_at = "", None
    problems = [*_wordless(spec, asked.reason or "")]
    if spec.limits:
        problems += broken_limits(spec.limits, asked, case.uses, case.asked_at, now)
    if spec.require:
        unless = next((why for one in spec.unless if (why := _relieved(one, exception, timezone, case))), "")
    if spec.require and not unless:
        places, needs[name], escalated_at = required(name, spec.require, spec, case.asked_at, now)
    for index, freeze, when in freezes(spec.freeze, asked, timezone, now):
        if freeze.override is None:
            problems.append(f"No exception of type {asked.type} may begin {when}: it is a freeze.")
            continue
        group = f"{name} (freeze {index + 1})"
        places += tuple(_seats(group, freeze.override.emails, freeze.override.roles))
        needs[group] = 1
    turns = (next_freeze(spec.freeze, asked, timezone, now), next_week(spec.limits, case.uses, now))
    return Demand(
        policy=name,
        version=version,
        message=spec.message,
        places=tuple(dict.fromkeys(places)),
        needs=tuple(needs.items()),
        unless=unless,
        problems=tuple(problems),
        channels=frozenset(spec.channels),
        escalated_at=escalated_at,
        changes_at=min(filter(None, turns), default=None),
    )


def required(
    name: str, require: Requirement, spec: ExceptionPolicySpec, asked_at: Instant, now: Instant
) -> tuple[tuple[Seat, ...], int, Instant | None]:
    """Who may agree by now, how many of them must, and when there will be more; ValueError if none can."""
    places = tuple(_seats(name, require.emails, require.roles))
    needed = len(places) if require.threshold == "all" else require.threshold
    if not 1 <= needed <= len(places):  # the schema refuses it, and nothing may hang on that alone
        raise ValueError(f"require asks for {needed} approvals of {len(places)} people and roles")
    if spec.escalate_after is None:
        return places, needed, None
    escalated_at = asked_at.add(microseconds=read_duration(spec.escalate_after.after))
    further = spec.escalate_after if now >= escalated_at else None
    more = _seats(name, further.emails, further.roles) if further else ()
    return (*places, *more), needed, escalated_at


def _wordless(spec: ExceptionPolicySpec, reason: str) -> Iterator[str]:
    if spec.reason_required and not reason.strip():
        yield "spec.reason is empty: say why it is needed."
    elif spec.reason_required and spec.reason_pattern and not found_in(spec.reason_pattern, reason):
        yield f"spec.reason must contain {spec.reason_pattern}: add it, for example the number of the ticket."


def _seats(group: str, emails: Iterable[str], roles: Iterable[str]) -> Iterator[Seat]:
    yield from (Seat("email", email, group) for email in emails)
    yield from (Seat("role", role, group) for role in roles)


def _relieved(one: Relief, exception: ScheduleException, timezone: str, case: Case) -> str:
    """Why no one has to agree, by one entry of `unless`; empty where one of its conditions does not hold."""
    why = [*_conditions(one, exception, timezone, case)]
    return ", ".join(why) if why and all(why) else ""


def _conditions(one: Relief, exception: ScheduleException, timezone: str, case: Case) -> Iterator[str]:
    """A few words for each condition of an entry; none where it does not hold."""
    asked = exception.spec
    if one.types:
        yield f"its type is {asked.type}" if asked.type in one.types else ""
    if one.wakes_only:
        yield "it only wakes workloads" if asked.type == "suspend" else ""
    if one.duration_at_most is not None:
        fits = joined(asked, case.uses) <= read_duration(one.duration_at_most)
        yield f"it lasts at most {one.duration_at_most}" if fits else ""
    if one.requester_roles:
        roles = sorted(case.requester.roles & {*one.requester_roles}) if case.requester.user else []
        yield f"{case.requester.user} is in the role {roles[0]}" if roles else ""
    if one.within_hours:
        fits = within(one.within_hours, asked, timezone)
        yield "it is valid only within the agreed hours" if fits else ""


def _version(spec: ExceptionPolicySpec) -> str:
    return fingerprint(msgspec.structs.replace(spec, message=""))


def _too_much(found: Collection[ExceptionPolicy]) -> str:
    """Why they are not even read: more would keep everybody else waiting."""
    if len(found) > MOST_POLICIES:
        return f"{len(found)} policies are about this exception, and at most {MOST_POLICIES} can be"
    hours = (
        *(freeze.windows for policy in found for freeze in policy.spec.freeze),
        *(one.within_hours for policy in found for one in policy.spec.unless),
    )
    if sum(map(len, hours)) > MOST_WINDOWS:
        return f"the policies have more than {MOST_WINDOWS} windows in freeze and withinHours"
    return ""


def _bounded(each: list[Demand], exception: ScheduleException) -> list[Demand]:
    """More than can be written down holds everything, in words."""
    own = len(exception.spec.approver_emails) + len(exception.spec.approval_required_roles)
    together = Demands(tuple(each))
    why = ""
    if own + len(together.places) > MOST_PLACES:
        why = f"more than {MOST_PLACES} people and roles would be asked"
    elif own + sum(needed for _, needed in together.needs) > MOST_NEEDED:
        why = f"more than {MOST_NEEDED} approvals would be needed"
    elif together.channels == frozenset():
        why = "the policies leave no channel through which an approval counts"
    return _held(each, why) if why else each


def _held(each: list[Demand], why: str) -> list[Demand]:
    problem = f"{why[0].upper()}{why[1:]}. Ask the owners of the policies to correct them."
    held = [replace(one, places=(), needs=(), channels=frozenset()) for one in each[:MOST_POLICIES]]
    return [replace(held[0], problems=(problem, *held[0].problems)), *held[1:]]


def _spaced(message: str) -> str:
    return f"{message.rstrip('.')}. " if message else ""
