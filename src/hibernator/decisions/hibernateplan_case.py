"""What a HibernatePlan is decided from, what the decision is, and plain questions about a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.kind import DOMAIN
from hibernator.api.planstatus import (
    ActiveException,
    HibernatePlanStatus,
    NextTransition,
    Operation,
    RecentException,
    Rest,
)
from hibernator.api.problem import Problem
from hibernator.decisions.conditions import Notice
from hibernator.decisions.hibernateplan_status import TargetOutcome, Woken, last_operation
from hibernator.decisions.hibernateplan_words import EventReason

FINALIZER: Final = f"{DOMAIN}/wake-first"
RETRY: Final = f"{DOMAIN}/retry"
LEAVE_ASLEEP: Final = f"{DOMAIN}/leave-asleep"
LONGEST_SECONDS: Final = 86_400.0
MISTAKE_SECONDS: Final = 300.0
REST_SECONDS: Final = 15.0  # between two looks at a target that sleeps
MOST_EXCEPTIONS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleState:
    """What the schedule says, with the exceptions that override it."""

    wanted: Rest
    reason: str
    message: str
    until: Instant | None  # when anything of this changes
    following: NextTransition | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the decision may look at."""

    plan: HibernatePlan
    clock: ScheduleState | None  # None while the schedule has mistakes
    kept: frozenset[str] = frozenset()  # targets of which something is kept to be woken
    changed: frozenset[str] = frozenset()  # those that the spec describes in other words than when they slept
    outcomes: Mapping[str, TargetOutcome] = field(default_factory=dict)
    exceptions: tuple[ActiveException, ...] = ()
    in_force: tuple[RecentException, ...] = ()  # the active ones, to be remembered
    problems: tuple[Problem, ...] = ()
    unreadable: bool = False  # restore data exists and cannot be read
    troubles: tuple[str, ...] = ()  # what degrades the plan without stopping it
    unconfirmed: tuple[str, ...] = ()  # why what was woken may be asleep again, as target: reason
    strays: tuple[str, ...] = ()  # items with its mark that sleep although it is awake, or does not know them
    woken: tuple[Woken, ...] | None = ()  # what others woke while it sleeps; None if that is not known yet
    due: frozenset[str] = frozenset()  # targets with items that may sleep now, or that are to be awake now
    due_at: Instant | None = None  # when the next item that stays awake for now may sleep
    recorded: frozenset[int] = frozenset()  # what of the journal the audit trail has


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Work on one target: `Look` is that of a dry run, which touches nothing."""

    name: str
    operation: Operation | Literal["Look"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The status to write before anything is touched, then what to work on, and when to look again."""

    status: HibernatePlanStatus
    runs: tuple[Run, ...] = ()
    after: float = LONGEST_SECONDS
    release: bool = False  # nothing is asleep any more: a deleted plan may go
    notices: tuple[Notice[EventReason], ...] = ()


def is_deleted(plan: HibernatePlan) -> bool:
    return plan.metadata.deletion_timestamp is not None


def is_dry_run(plan: HibernatePlan) -> bool:
    """Whether it is a dry run. Who deletes the plan wants to have everything awake all the same."""
    return plan.spec.dry_run and not is_deleted(plan)


def is_suspended(plan: HibernatePlan, now: Instant) -> bool:
    until = plan.spec.suspend_until
    return plan.spec.suspend and (until is None or now < Instant(until))


def direction(plan: HibernatePlan, status: HibernatePlanStatus, name: str) -> Operation:
    """What no longer belongs to the plan is woken, also while the others go to sleep."""
    belongs = any(target.name == name for target in plan.spec.targets)
    return "Sleep" if belongs and last_operation(status) == "Sleep" else "Wake"
