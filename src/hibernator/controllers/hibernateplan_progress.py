"""How far the work on one target is, and what comes of a slice of it, in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.planstatus import ItemCount, Operation
from hibernator.decisions import staying
from hibernator.decisions.hibernateplan_case import direction
from hibernator.decisions.hibernateplan_restore import Entry, Item, Saving
from hibernator.decisions.hibernateplan_status import TargetOutcome, states
from hibernator.executors.protocol import ExecutorError, Job, Permanent, Saved, Throttled

SLICE: Final = 250  # items of a plan between two writes of its status
MOST_NAMED: Final = 3  # items that a message names


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a progress belongs to. When the plan turns round, what is left to do is something else."""

    cycle: int
    operation: Operation
    number: int


def attempt_of(plan: HibernatePlan, name: str) -> Attempt:
    known = states(plan.status).get(name)
    number = (known.attempts if known else None) or 1
    return Attempt(plan.status.cycle or 0, direction(plan, plan.status, name), number)


def current(
    plan: HibernatePlan, outcomes: Mapping[str, tuple[Attempt, TargetOutcome]]
) -> dict[str, TargetOutcome]:
    """The outcomes of what the status says is being done; those of anything else count for nothing."""
    return {name: outcome for name, (of, outcome) in outcomes.items() if of == attempt_of(plan, name)}


@dataclass(slots=True)
class Progress:
    """How far one attempt at one target is."""

    of: Attempt | None = None
    prepared: bool = False
    todo: list[Saved] = field(default_factory=list)
    settling: list[Saved] = field(default_factory=list)
    failed: dict[str, ExecutorError] = field(default_factory=dict)
    done: int = 0
    skipped: int = 0
    share: int = SLICE  # of the slice, when several targets are worked on
    resting: tuple[Instant, TargetOutcome, float] | None = None  # since when, what was said, and for how long
    settles_since: Instant | None = None
    mine: set[str] = field(default_factory=set)  # what was covered, or bore a mark of the plan, at a cloud
    released: dict[str, Instant] = field(default_factory=dict)  # what was woken, and is looked at again later
    saving: Saving = field(default_factory=Saving)
    notes: str = ""  # about items that are left as they are
    said: list[str] = field(default_factory=list)  # by items, when they were worked on

    @property
    def items(self) -> ItemCount:
        total = self.done + self.skipped + len(self.failed) + len(self.todo)
        return ItemCount(total=total, done=self.done, failed=len(self.failed), skipped=self.skipped)

    @property
    def all_notes(self) -> str:
        more = f"And {len(self.said) - MOST_NAMED} more." if len(self.said) > MOST_NAMED else ""
        return " ".join(filter(None, (self.notes, *sorted(self.said)[:MOST_NAMED], more)))


@dataclass(frozen=True, slots=True)
class SliceResult:
    """What came out of a slice, and after how many seconds the next one makes sense."""

    outcome: TargetOutcome
    after: float = 0.0


def left_words(entries: Mapping[str, Entry], found: Iterable[Item] = ()) -> str:
    """What a target says of the items that it leaves as they are, and of what is wrong with items."""
    left = sum(entry.was is None and entry.awake_until is None for entry in entries.values())
    before = f"{left} {'is' if left == 1 else 'are'} left as before." if left else ""
    wrong = [f"{item.key}: {item.trouble}" for item in found if item.trouble]
    more = f"And {len(wrong) - MOST_NAMED} more." if len(wrong) > MOST_NAMED else ""
    return " ".join(filter(None, (before, staying.words(entries), *wrong[:MOST_NAMED], more)))


def waiting(job: Job, progress: Progress, error: Throttled) -> SliceResult:
    if (job.now - job.began).total("seconds") >= error.patience:
        return SliceResult(TargetOutcome(state="failed", items=progress.items, message=str(error)))
    message = f"Waiting: {error}"
    return SliceResult(
        TargetOutcome(state="working", items=progress.items, message=message), max(error.retry_after, 1.0)
    )


def failure(progress: Progress) -> TargetOutcome:
    named = [f"{key}: {error}" for key, error in sorted(progress.failed.items())[:MOST_NAMED]]
    more = len(progress.failed) - len(named)
    message = " ".join(named) + (f" And {more} more." if more else "")
    hopeless = all(isinstance(error, Permanent) for error in progress.failed.values())
    return TargetOutcome(state="hopeless" if hopeless else "failed", items=progress.items, message=message)


def gave_up(error: ExecutorError, progress: Progress) -> TargetOutcome:
    hopeless = isinstance(error, Permanent)
    return TargetOutcome(state="hopeless" if hopeless else "failed", items=progress.items, message=str(error))


def finished(operation: Operation, progress: Progress) -> TargetOutcome:
    """What an attempt came to of which nothing failed."""
    state = "asleep" if operation == "Sleep" else "awake"
    message = f"{items_words(progress.done, 'is', 'are')} {state}."
    if notes := progress.all_notes:
        message += f" {notes}"
    elif operation == "Wake" and not progress.done:
        message = "Nothing of it was asleep."
    elif not progress.done:
        message = "Nothing was found that could sleep. If that is a surprise, check its parameters."
    return TargetOutcome(state="done", items=progress.items, message=message, saving=progress.saving)


def items_words(number: int, one: str = "", many: str = "") -> str:
    return f"1 item {one}".rstrip() if number == 1 else f"{number} items {many}".rstrip()
