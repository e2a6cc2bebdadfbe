"""Where a ScheduleException is: from the wish through consent to its end, as a chain of small policies.

The first policy that has an answer gives state, reason and message; the status follows from it. Several
exceptions of a plan are active together, unless they want the same time: then one waits for the other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.kind import DOMAIN
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import (
    ExceptionState,
    Impact,
    ScheduleException,
    ScheduleExceptionStatus,
)
from hibernator.decisions.approval import Outcome, Person, Request, Standing, stand
from hibernator.decisions.notice import Notice
from hibernator.decisions.scheduleexception_line import ahead, crowded, taken
from hibernator.decisions.scheduleexception_request import (
    REQUESTED_BY,
    Rules,
    request_of,
    requester,
    settled,
    votes_of,
)
from hibernator.decisions.scheduleexception_status import Course, Reason, next_status

PLAN_LABEL: Final = f"{DOMAIN}/plan"
FINALIZER: Final = f"{DOMAIN}/exception"
LONGEST_SECONDS: Final = 86_400.0
RECORD_SECONDS: Final = 10.0  # how often the audit trail is tried while it is away
FAREWELL_SECONDS: Final = 60.0  # the longest that a deletion waits for the plan to forget it

_FINAL: Final = frozenset({"Expired", "Cancelled"})  # nothing that anybody does changes these


class Crowd(NamedTuple):
    """How many open exceptions of its plan came before this one, and how many of those by its requester."""

    of_plan: int = 0
    of_requester: int = 0


_ALONE: Final = Crowd()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the decision may look at."""

    exception: ScheduleException
    plan: HibernatePlan | None
    others: tuple[ScheduleException, ...] = ()  # those of the same plan that have a place
    crowd: Crowd = _ALONE
    people: Mapping[str, Person] = field(default_factory=dict)  # by user, those whom the operator knows
    impact: Impact | None = None
    problems: tuple[Problem, ...] = ()
    recorded: bool = True  # whether the consent that was given is in the audit trail for good
    away: bool = False  # whether it is not because the trail's database cannot be used
    rules: Rules = field(default_factory=Rules)

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
    request: Request | None  # None where nobody has to agree, or was asked so far
    standing: Standing | None
    outcome: Outcome | None

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
        return "Approved" if self.exception.spec.approval_required else "Pending"

    def course(
        self, state: ExceptionState, reason: Reason, message: str, *, next_look: Instant | None = None
    ) -> Course:
        return Course(state, reason, message, next_look, self.request, self.standing, self.outcome)


def decide(seen: Seen, now: Instant) -> Decision:
    exception = seen.exception
    if exception.metadata.deletion_timestamp:
        return _leave(seen, now)
    if exception.status.state in _FINAL:
        return Decision(
            label=_is_unlabelled(exception),
            status=replace(exception.status, observed_generation=exception.metadata.generation),
        )
    look = _look(seen, now)
    course = next(found for policy in _POLICIES if (found := policy(look)))
    status = next_status(exception, course, seen.impact, now)
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
    if not exception.spec.approval_required or exception.spec.draft:
        return _Look(seen, now, None, None, None)
    asked = exception.status.requested_at
    asked_at = Instant(asked) if asked else now.round("second", mode="floor")
    request = request_of(exception, seen.person(requester(exception)), asked_at, seen.rules)
    if outcome := settled(exception):
        return _Look(seen, now, request, None, outcome)
    standing = stand(request, votes_of(exception, seen.person, asked_at, now), now)
    return _Look(seen, now, request, standing, standing.outcome)


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
    at = _iso(outcome.at)
    if outcome.is_timeout:
        message = f"Not everyone agreed before {at}. Create another exception if it is still needed."
        return look.course("Rejected", "ApprovalTimeout", message)
    why = f": {outcome.reason}" if outcome.reason else "."
    return look.course("Rejected", "Rejected", f"Rejected by {outcome.actor} at {at}{why}")


def _expired(look: _Look) -> Course | None:
    if look.now < look.until:
        return None
    if look.exception.status.applied_at:
        return look.course("Expired", "Expired", f"Ended at {_iso(look.until)}; the plan is as it was.")
    return look.course("Expired", "Expired", f"Its time ended at {_iso(look.until)} before it became active.")


def _mistaken(look: _Look) -> Course | None:
    if not look.seen.problems:
        return None
    message = " ".join(f"{p.path}: {p.message}. {p.fix}" for p in look.seen.problems)
    return look.course("Pending", "InvalidSpec", message, next_look=look.until)


def _crowded(look: _Look) -> Course | None:
    """Nobody is asked about more than a plan can have."""
    if look.exception.status.state in {"Approved", "Active"}:
        return None
    before, mine = look.seen.crowd
    message = crowded(look.plan_name, before, mine, requester(look.exception))
    return look.course("Pending", "QuotaExceeded", message, next_look=look.until) if message else None


def _nameless(look: _Look) -> Course | None:
    """Where nobody knows who asked, nobody can tell who would approve their own request."""
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
    missing = [place.name for place in look.request.places if place not in look.standing.filled]
    if look.request.needed == len(look.request.places):
        message = f"Waits for the approval of {', '.join(missing)}."
    else:
        more = look.request.needed - len(look.standing.filled)
        message = f"Waits for {more} more of these to approve: {', '.join(missing)}."
    for vote, refusal in look.standing.refused:
        message += f" The decision of {vote.by.user} was not counted. {refusal.message}"
    deadline = min(look.until, look.request.deadline)
    return look.course("Pending", "AwaitingApproval", message, next_look=deadline)


def _unrecorded(look: _Look) -> Course | None:
    """Nothing that people had to agree to goes ahead without its record."""
    if look.request is None or look.seen.recorded:
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
    since, until = _iso(Instant(look.exception.spec.valid_from)), _iso(look.until)
    message = f"Overrides the schedule of HibernatePlan {look.plan_name} from {since} until {until}."
    return look.course("Active", "Active", message, next_look=look.until)


_POLICIES: Final[tuple[Callable[[_Look], Course | None], ...]] = (
    _cancelled,
    _drafted,
    _rejected,
    _expired,
    _mistaken,
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
    wrong = {"InvalidSpec", "QuotaExceeded", "PlanMissing", "RequesterUnknown", "ApprovalTimeout", "Rejected"}
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
    return max(0.0, min((next_look - now).total("seconds"), LONGEST_SECONDS))


def _iso(moment: Instant) -> str:
    return moment.format_iso()
