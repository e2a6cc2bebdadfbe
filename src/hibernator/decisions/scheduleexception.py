"""Where a ScheduleException is: from the request through approval to its end, as a chain of small policies.

The first policy that has an answer gives state, reason and message; the status follows from it. Several
exceptions of a plan are active together, unless they want the same time: then one waits for the other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.exceptionpolicy import ExceptionPolicy
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.kind import DOMAIN
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import (
    ExceptionState,
    Impact,
    Judged,
    ScheduleException,
    ScheduleExceptionStatus,
)
from hibernator.decisions.approval import Outcome, Request, Standing, stand
from hibernator.decisions.conditions import Notice, seconds_until, whole_second
from hibernator.decisions.exceptionpolicy import Case, Demands, demands
from hibernator.decisions.exceptionpolicy_limits import uses
from hibernator.decisions.person import Person
from hibernator.decisions.scheduleexception_line import ahead, crowded, taken
from hibernator.decisions.scheduleexception_request import (
    REQUESTED_BY,
    Rules,
    request_of,
    requester,
    settled,
    spec_hash,
    votes_of,
)
from hibernator.decisions.scheduleexception_status import Course, Reason, awaited, journaled, next_status

PLAN_LABEL: Final = f"{DOMAIN}/plan"
FINALIZER: Final = f"{DOMAIN}/exception"
LONGEST_SECONDS: Final = 86_400.0
RECORD_SECONDS: Final = 10.0  # how often the audit trail is tried while it is away
FAREWELL_SECONDS: Final = 60.0  # the longest that a deletion waits for the plan to forget it

_FINAL: Final = frozenset({"Expired", "Cancelled"})  # nothing that anyone does changes these


class OpenBefore(NamedTuple):
    """How many open exceptions of its plan came before this one, and how many of those by its requester."""

    of_plan: int = 0
    of_requester: int = 0


_NONE_BEFORE: Final = OpenBefore()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the decision may look at."""

    exception: ScheduleException
    plan: HibernatePlan | None
    others: tuple[ScheduleException, ...] = ()  # those of the same plan that have a place
    open_before: OpenBefore = _NONE_BEFORE
    people: Mapping[str, Person] = field(default_factory=dict)  # by user, those whom the operator knows
    impact: Impact | None = None
    problems: tuple[Problem, ...] = ()
    on_record: bool = True  # whether the approval that was given is in the audit trail for good
    away: bool = False  # whether it is not because the trail's database cannot be used
    recorded: frozenset[int] = frozenset()  # what of the journal the audit trail has
    rules: Rules = field(default_factory=Rules)
    policies: tuple[ExceptionPolicy, ...] = ()  # those of its namespace and of the operator's
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    home: str = ""  # the operator's own namespace

    def person(self, user: str) -> Person:
        return self.people.get(user) or Person(user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to write, in this order, what to tell, and when to look again."""

    label: bool = False  # whether label and finalizer have to be set
    release: bool = False  # whether the finalizer may go
    status: ScheduleExceptionStatus | None = None
    notices: tuple[Notice[Reason], ...] = ()
    after: float | None = None


@dataclass(frozen=True, slots=True)
class _Look:
    """What was seen, with the approval worked out."""

    seen: Seen
    now: Instant
    request: Request | None  # None where no one has to agree, or was asked so far
    standing: Standing | None
    outcome: Outcome | None
    demands: Demands | None = None  # None where policies do not count (any more)
    judged: Judged | None = None

    @property
    def exception(self) -> ScheduleException:
        return self.seen.exception

    @property
    def plan_name(self) -> str:
        return self.exception.spec.plan_ref.name

    @property
    def until(self) -> Instant:
        return Instant(self.exception.spec.valid_until)

    @property
    def idle(self) -> ExceptionState:
        """The state of one that nothing but circumstances keeps from being active."""
        return "Approved" if self.request else "Pending"

    def course(
        self, state: ExceptionState, reason: Reason, message: str, *, next_look: Instant | None = None
    ) -> Course:
        is_open = self.demands and (self.request or self.demands.problems)
        later = self.demands.next_change(self.now) if self.demands and is_open else None
        if later and next_look:
            next_look = min(later, next_look)
        return Course(
            state,
            reason,
            message,
            next_look,
            self.request,
            self.standing,
            self.outcome,
            self.demands,
            self.judged,
        )


def decide(seen: Seen, now: Instant) -> Decision:
    exception = seen.exception
    if exception.metadata.deletion_timestamp:
        return _leave(seen, now)
    if exception.status.state in _FINAL:
        status = replace(exception.status, observed_generation=exception.metadata.generation)
        return Decision(
            label=_is_unlabelled(exception), status=journaled(exception, status, (), seen.recorded, now)
        )
    look = _look(seen, now)
    course = next(found for policy in _POLICIES if (found := policy(look)))
    status = next_status(exception, course, seen.impact, seen.recorded, now)
    return Decision(
        label=_is_unlabelled(exception),
        status=status,
        notices=_notices(exception.status, status, course),
        after=_after(course.next_look, now),
    )


def _is_unlabelled(exception: ScheduleException) -> bool:
    metadata, plan = exception.metadata, exception.spec.plan_ref.name
    return metadata.labels.get(PLAN_LABEL) != plan or FINALIZER not in metadata.finalizers


def _look(seen: Seen, now: Instant) -> _Look:
    exception = seen.exception
    if exception.spec.draft:
        return _Look(seen, now, None, None, None, Demands())
    asked = exception.status.requested_at
    asked_at = Instant(asked) if asked else now.round("second", mode="floor")
    who = seen.person(requester(exception))
    if outcome := settled(exception):
        request = request_of(exception, who, asked_at, seen.rules)
        return _Look(seen, now, request, None, outcome)
    judged = _judged(exception, now)
    if judged.let_through:
        return _Look(seen, now, None, None, None, judged=judged)
    asked_for = None if seen.problems else _asked_for(seen, who, judged, now)
    request = request_of(exception, who, asked_at, seen.rules, asked_for)
    if not request.groups or (asked_for and asked_for.problems):
        return _Look(seen, now, None, None, None, asked_for, judged)
    standing = stand(request, votes_of(exception, seen.person, asked_at, now), now)
    return _Look(seen, now, request, standing, standing.outcome, asked_for, judged)


def _judged(exception: ScheduleException, now: Instant) -> Judged:
    """The spec as it is, with the time since when it is so, and whether it is active as it is."""
    status, now_reads = exception.status, spec_hash(exception.spec)
    known = status.judged
    if (
        known is None
        and status.state == "Active"
        and status.observed_generation == exception.metadata.generation
    ):
        return Judged(spec_hash=now_reads, since=status.requested_at or whole_second(now), let_through=True)
    if known is None or known.spec_hash != now_reads:
        return Judged(spec_hash=now_reads, since=whole_second(now))
    return known if status.state == "Active" else replace(known, let_through=False)


def _asked_for(seen: Seen, who: Person, judged: Judged, now: Instant) -> Demands:
    """What the policies ask for. Those that counted before go on to count, whatever labels say now."""
    exception, plan = seen.exception, seen.plan
    case = Case(
        requester=who,
        asked_at=Instant(judged.since),
        uses=uses(exception, seen.others, plan),
        namespace_labels=seen.namespace_labels,
        home=seen.home,
        matched=frozenset(one.name for one in exception.status.policies),
    )
    return demands(exception, plan, seen.policies, case, now)


def _cancelled(look: _Look) -> Course | None:
    if not look.exception.spec.cancelled:
        return None
    return look.course("Cancelled", "Cancelled", "Cancelled; the schedule is unchanged.")


def _drafted(look: _Look) -> Course | None:
    if not look.exception.spec.draft:
        return None
    message = "A draft: it does nothing until it is submitted (spec.draft: false)."
    return look.course("Draft", "Draft", message)


def _rejected(look: _Look) -> Course | None:
    outcome = look.outcome
    if outcome is None or outcome.state != "Rejected":
        return None
    at = outcome.at.format_iso()
    if outcome.is_timeout:
        message = f"Not everyone agreed before {at}. Create another exception if it is still needed."
        return look.course("Rejected", "ApprovalTimeout", message)
    why = f": {outcome.reason}" if outcome.reason else "."
    return look.course("Rejected", "Rejected", f"Rejected by {outcome.actor} at {at}{why}")


def _expired(look: _Look) -> Course | None:
    if look.now < look.until:
        return None
    at = look.until.format_iso()
    if look.exception.status.applied_at:
        return look.course("Expired", "Expired", f"Ended at {at}; the plan is as it was.")
    return look.course("Expired", "Expired", f"Its time ended at {at} before it became active.")


def _mistaken(look: _Look) -> Course | None:
    if not look.seen.problems:
        return None
    message = " ".join(f"{p.path}: {p.message}. {p.fix}" for p in look.seen.problems)
    return look.course("Pending", "InvalidSpec", message, next_look=look.until)


def _refused(look: _Look) -> Course | None:
    """What a policy does not allow, even with all approvals. Admission refuses it where it can."""
    if look.demands is None or not look.demands.problems:
        return None
    message = " ".join(look.demands.problems)
    return look.course("Pending", "PolicyRefused", message, next_look=look.until)


def _crowded(look: _Look) -> Course | None:
    """No one is asked about more than a plan can have."""
    if look.exception.status.state in {"Approved", "Active"}:
        return None
    before, mine = look.seen.open_before
    message = crowded(look.plan_name, before, mine, requester(look.exception))
    return look.course("Pending", "QuotaExceeded", message, next_look=look.until) if message else None


def _nameless(look: _Look) -> Course | None:
    """Where no one knows who asked, no one can tell who would approve their own request."""
    if look.request is None or look.outcome or look.request.requester.user or look.request.own_allowed:
        return None
    message = (
        f"The requester is unknown, so it cannot be approved: the annotation {REQUESTED_BY} is missing. "
        "Create it again with `hibernator exception create`, or let the operator's webhooks stamp it."
    )
    return look.course("Pending", "RequesterUnknown", message, next_look=look.until)


def _awaited(look: _Look) -> Course | None:
    if look.request is None or look.standing is None or look.outcome:
        return None
    message = " ".join(awaited(look.request, look.standing))
    for vote, refusal in look.standing.refused:
        message += f" The decision of {vote.by.user} was not counted. {refusal.message}"
    deadline = min(look.until, look.request.deadline)
    return look.course("Pending", "AwaitingApproval", message, next_look=deadline)


def _unrecorded(look: _Look) -> Course | None:
    """Nothing that people had to agree to goes ahead without its record."""
    if look.request is None or look.seen.on_record:
        return None
    message = "Everyone has agreed. It becomes active as soon as the audit trail has it on record."
    if look.seen.away:
        message = (
            "Everyone has agreed, but the audit database cannot be used now, and nothing goes ahead without "
            "its record. It becomes active by itself once the database is back; the operator's log says what "
            "is wrong with it."
        )
    later = min(look.until, look.now.add(seconds=RECORD_SECONDS))
    return look.course("Approved", "AwaitingRecord", message, next_look=later)


def _planless(look: _Look) -> Course | None:
    if look.seen.plan is not None:
        return None
    message = (
        f"HibernatePlan {look.plan_name} does not exist, so this exception has no effect. "
        "Create the plan, or delete this exception."
    )
    return look.course(look.idle, "PlanMissing", message, next_look=look.until)


def _waits(look: _Look) -> Course | None:
    """Of those that want the same time, one is active (ruling 11)."""
    if look.seen.plan is None:
        return None
    front = ahead(look.exception, look.seen.others, look.seen.plan, look.now)
    if front is None:
        return None
    its_turn = min(look.until, Instant(front.spec.valid_until))
    return look.course(look.idle, "AnotherActive", taken(look.plan_name, front), next_look=its_turn)


def _active(look: _Look) -> Course:
    since, until = Instant(look.exception.spec.valid_from).format_iso(), look.until.format_iso()
    message = f"Overrides the schedule of HibernatePlan {look.plan_name} from {since} until {until}."
    return look.course("Active", "Active", message, next_look=look.until)


_POLICIES: Final[tuple[Callable[[_Look], Course | None], ...]] = (
    _cancelled,
    _drafted,
    _rejected,
    _expired,
    _mistaken,
    _refused,
    _crowded,
    _nameless,
    _awaited,
    _unrecorded,
    _planless,
    _waits,
    _active,
)


def _leave(seen: Seen, now: Instant) -> Decision:
    """Let it go once the plan no longer shows it, and at the latest after a minute."""
    metadata = seen.exception.metadata
    if FINALIZER not in metadata.finalizers or metadata.deletion_timestamp is None:
        return Decision()
    shown = seen.plan is not None and any(
        entry.name == metadata.name for entry in seen.plan.status.active_exceptions
    )
    left = FAREWELL_SECONDS - (now - Instant(metadata.deletion_timestamp)).total("seconds")
    return Decision(after=min(left, FAREWELL_SECONDS)) if shown and left > 0 else Decision(release=True)


def _notices(
    before: ScheduleExceptionStatus, after: ScheduleExceptionStatus, course: Course
) -> tuple[Notice[Reason], ...]:
    """What people hear: each change of state, and each change of what is said while it stays."""
    if (before.state, before.message) == (after.state, after.message):
        return ()
    wrong = {
        "InvalidSpec",
        "PolicyRefused",
        "QuotaExceeded",
        "PlanMissing",
        "RequesterUnknown",
        "ApprovalTimeout",
        "Rejected",
    }
    return (
        Notice(
            type="Warning" if course.reason in wrong else "Normal",
            reason=course.reason,
            message=course.message,
        ),
    )


def _after(next_look: Instant | None, now: Instant) -> float | None:
    if next_look is None:
        return None
    return min(seconds_until(next_look, now), LONGEST_SECONDS)
