"""The exceptions of one plan in line: how many there may be, and which of those that conflict comes first.

Everyone who looks sees the same line and comes to the same answer, so nothing has to be agreed upon.
The Active one stays so; otherwise the older goes first, then the lesser name.
"""

import re
from collections.abc import Iterable
from typing import Final

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException, ScheduleExceptionSpec
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.exceptions import overlap
from hibernator.schedule.problems import check_exception
from hibernator.schedule.zones import zone_of

# Open ones: drafts, and all that wait for people, for another exception or for their end. Far more than
# people need, and few enough to look at all of them with each change.
MOST_OF_PLAN: Final = 32
MOST_OF_REQUESTER: Final = 16  # so that no one alone takes all places of a plan

_TAKEN: Final = re.compile(r"already has active exception (\S+) \(expires")
_REFUSED: Final = "PolicyRefused"  # the reason of one that a policy does not let through
_ENDED: Final = frozenset({"Expired", "Cancelled", "Rejected"})

Turn = tuple[str, str]


def plan_key(exception: ScheduleException) -> str:
    """The plan that an exception overrides, which lives beside it: namespace/name."""
    return f"{exception.metadata.namespace}/{exception.spec.plan_ref.name}"


def place(one: ScheduleException) -> Turn:
    """Where it stands in the line, for as long as it is open."""
    created = one.metadata.creation_timestamp
    return created.isoformat() if created else "", one.metadata.name


def is_open(one: ScheduleException) -> bool:
    """Whether it takes a place: it is neither over nor about to go."""
    return one.status.state not in _ENDED and not one.metadata.deletion_timestamp


def is_ready(one: ScheduleException, now: Instant) -> bool:
    """Whether it would be active but for those before it."""
    spec = one.spec
    idle = spec.draft or one.status.state == "Draft" or spec.cancelled or now >= Instant(spec.valid_until)
    return is_open(one) and is_agreed(one) and not idle and not any(check_exception(spec))


def is_agreed(one: ScheduleException) -> bool:
    """Whether neither people nor policies keep it from being active, as far as its status says."""
    needed = one.spec.approval_required or bool(one.status.required_approvals)
    return one.status.approval_state == "Approved" or not (needed or is_held(one))


def is_held(one: ScheduleException) -> bool:
    """Whether a policy does not let it through, even with all approvals, as far as its status says."""
    return any(condition.reason == _REFUSED for condition in one.status.conditions)


def ahead(
    mine: ScheduleException, others: Iterable[ScheduleException], plan: HibernatePlan, now: Instant
) -> ScheduleException | None:
    """The exception that this one has to wait for, because it wants the same time and comes first."""
    line = sorted([mine, *(other for other in others if is_ready(other, now))], key=_turn)
    holding: list[ScheduleException] = []
    for one in line:
        found = next((held for held in holding if conflict(one.spec, held.spec, plan)), None)
        if one is mine:
            return found
        if found is None:
            holding.append(one)
    raise AssertionError("it stands in its own line")


def conflict(one: ScheduleExceptionSpec, other: ScheduleExceptionSpec, plan: HibernatePlan) -> Instant | None:
    """The first instant that two exceptions without mistakes both want of a plan."""
    timezone = plan.spec.schedule.timezone
    try:
        zone_of(timezone)
    except ScheduleError:
        timezone = "UTC"  # nothing overrides such a plan until it is corrected and all this is decided again
    return overlap(one, other, timezone)


def taken(plan: str, other: ScheduleException) -> str:
    """What the document says to one that comes too late."""
    until = Instant(other.spec.valid_until).format_iso()
    return f"Plan {plan} already has active exception {other.metadata.name} (expires at {until})"


def taken_by(message: str) -> str:
    """The exception that such a sentence names; empty where it is another sentence."""
    found = _TAKEN.search(message)
    return found[1] if found else ""


def crowded(plan: str, before: int, mine: int, who: str) -> str | None:
    """Why there is no place for it, by how many open ones of the plan and of its requester came before."""
    if who and mine >= MOST_OF_REQUESTER:
        return (
            f"{who} has {MOST_OF_REQUESTER} open exceptions of plan {plan}, the limit for one requester."
            " Cancel or delete one of them, or wait until one is over."
        )
    if before >= MOST_OF_PLAN:
        return (
            f"Plan {plan} has {MOST_OF_PLAN} open exceptions, the limit for one plan."
            " Cancel or delete one of them, or wait until one is over."
        )
    return None


def _turn(one: ScheduleException) -> tuple[bool, Turn]:
    return one.status.state != "Active", place(one)
