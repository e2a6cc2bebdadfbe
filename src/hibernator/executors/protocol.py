"""What every executor can do: find things, put one to sleep, wake one as it was, and tell whether it settled.

The order in which a plan uses this is what makes a crash harmless:

1. `discover` returns what there is and, of everything that is awake, what is needed to wake it again.
2. The plan writes that down durably. Only then is anything touched, and what is written is not replaced by
   the state of a sleeping thing.
3. `sleep` writes the same into the thing itself, in the write that puts it to sleep, where the thing can
   carry it. `asleep` finds the things that carry such a mark: either copy is enough to wake them.
4. `sleep` and `wake` are called once for each item, and again after a crash, because the last call may or may
   not have arrived. So each of them looks first. `sleep` does nothing where the item is asleep. `wake` writes
   also where the item seems awake, because a write of the sleep may still be on its way: it returns only when
   no such write can succeed any more, or, where there are no preconditions, `lingers` says how long one can
   live. A precondition (version, state, token) makes sure that the look still holds in the moment of the act.
5. `settled` is asked again and again where a plan waits for the end.

What was asleep before has no restore document: it is left alone, in both directions.
"""

# ruff: noqa: N818 — errors are named after what follows from them, as in kube.errors

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeVar

import msgspec
from whenever import Instant

from hibernator.api.hibernateplan import Behavior, Target
from hibernator.api.meta import Model
from hibernator.api.parameters import PARAMETERS, Await, AwaitCompletion
from hibernator.api.planstatus import Rest
from hibernator.api.schema import schema_of
from hibernator.api.structural import check
from hibernator.decisions.hibernateplan_restore import Item, Saving
from hibernator.decisions.sleepmark import SleepMark, trace
from hibernator.schedule.ticks import SECOND
from hibernator.schedule.words import read_duration

__all__ = [
    "Executor",
    "ExecutorError",
    "Item",
    "Job",
    "Marked",
    "Permanent",
    "Retryable",
    "Saved",
    "Saving",
    "Throttled",
    "Underway",
    "check_count",
    "parameters",
    "parameters_as",
]

M = TypeVar("M", bound=Model)

# Seconds to wait for things to settle, where a target asks for it but not how long.
PATIENCE: Final = 600.0
LONG_PATIENCE: Final = 3600.0
MOST_ITEMS: Final = 20_000  # that a target covers, or that a list of a cloud has


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """One thing to act on, with the restore document that is durably written."""

    key: str
    restore: Mapping[str, Any] = field(hash=False)
    seen: Any = field(default=None, hash=False, compare=False)  # as `discover` or `asleep` read it, if so
    covered: bool = True  # by the plan as it is now; otherwise only a mark of the plan allows to wake it

    @property
    def foreign(self) -> "Permanent":
        """Why it is not woken, where it is not covered and bears no mark.

        Restore data can be forged by who may write ConfigMaps. A mark with the uid of the plan is more: only
        who could write to the thing itself can have left it there.
        """
        return Permanent(
            f"{self.key} bears no mark of this plan, and the plan does not cover it. "
            "Wake it by hand and remove it from the restore data."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The target that is worked on, for which plan, and which attempt it is.

    On waking, `target` is what it was when it went to sleep. The plan may say something else by now: that is
    `wanted`, or None if the target has left the plan.
    """

    namespace: str  # of the plan; connectors without a namespace live here too
    plan: str
    uid: str  # of the plan
    cycle: int
    target: Target
    wanted: Target | None = None
    attempt: int
    began: Instant  # when this attempt did
    now: Instant
    behavior: Behavior = field(default_factory=Behavior)

    @property
    def owner(self) -> str:
        return f"{self.namespace}/{self.plan}"

    def mark(self, item: Saved) -> SleepMark:
        """What the item shall say about itself while it sleeps."""
        return SleepMark(
            plan=self.owner,
            uid=self.uid,
            cycle=self.cycle,
            target=self.target.name,
            item=item.key,
            was=dict(item.restore),
        )

    @property
    def trace(self) -> str:
        """What an item shall say about its waking in this cycle."""
        return trace(self.uid, self.cycle)


@dataclass(frozen=True, slots=True)
class Marked:
    """A thing at a cloud that bears a mark, of whichever plan."""

    item: Item  # as `asleep` returns it
    mark: SleepMark
    asleep: bool  # a mark alone does not say so


class ExecutorError(Exception):
    """Something did not work. The message is for people and goes into the status: no secrets."""


class Retryable(ExecutorError):
    """It may work later: the attempt fails, and the target is tried again after a while."""


class Permanent(ExecutorError):
    """It stays like this until someone changes something: the target fails without further attempts."""


class Throttled(ExecutorError):
    """Nothing was done, and the other side asks for a pause; this costs no attempt."""

    patience: ClassVar[float] = 600.0  # seconds of an attempt, after which it has failed after all

    def __init__(self, message: str, *, retry_after: float = 5.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Underway(Throttled):
    """Something has begun that ends by itself, such as a snapshot, and until then nothing can be done."""

    patience: ClassVar[float] = 6 * 3600.0


def check_count(found: int) -> None:
    """Stop a list that never ends. Servers that users name may go on for ever."""
    if found > MOST_ITEMS:
        raise Permanent(
            f"There are more than {MOST_ITEMS} items. Let the target cover fewer, by its selector or its "
            "namespaces."
        )


class Executor(ABC):
    """One kind of target. Holds no state about targets, so that any replica goes on where another stopped."""

    #: The field of a restore document that distinguishes things of one key; empty: the key does.
    identity: ClassVar[str] = ""

    #: How long its things usually need at most to come to rest.
    usual_patience: ClassVar[float] = LONG_PATIENCE

    #: Every so many seconds it is looked whether everything still sleeps, and what does not is put to sleep
    #: again. None: never, because anyone who wakes such a thing by hand means it.
    check_every: ClassVar[float | None] = None

    #: For so many seconds a write that was sent may still be carried out, whatever was done since. None where
    #: each write has a precondition that a later one breaks.
    lingers: ClassVar[float | None] = None

    @abstractmethod
    async def discover(self, job: Job) -> tuple[Item, ...]:
        """Everything that the target covers now, asleep or not. Reads from the source, never from a cache."""

    async def asleep(self, job: Job) -> tuple[Item, ...]:
        """What bears this plan's mark for this target, with what it was. Nothing where marks are not kept."""
        del job
        return ()

    async def asleep_for_cluster(self, job: Job) -> tuple[Marked, ...]:
        """What bears the mark of any plan of our own cluster, where the connector of the job leads."""
        del job
        return ()

    @abstractmethod
    async def sleep(self, job: Job, item: Saved) -> None:
        """Put it to sleep, unless it is."""

    @abstractmethod
    async def wake(self, job: Job, item: Saved) -> str | None:
        """Wake it as it was, and return when that is certain.

        What is gone, is another of the same name, or sleeps for another plan is left so. May return a
        sentence for the status, about what of it was not brought back.
        """

    @abstractmethod
    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        """Whether it has come to rest `Asleep` or `Awake`; what is gone has."""

    def patience(self, job: Job) -> float | None:
        """How many seconds to wait until everything has settled; None: it is not waited for."""
        wanted = getattr(parameters(job.target), "await_completion", None)
        if not isinstance(wanted, AwaitCompletion) or not wanted.enabled:
            return None
        return read_duration(wanted.timeout) / SECOND if wanted.timeout else self.usual_patience


class PluginParameters(Model):
    """Of a target whose type a plug-in brings: what is the same for every type."""

    await_completion: Await = None


def parameters(target: Target) -> Model:
    """The parameters as the type of the target has them; Permanent if they are not of that shape."""
    return _converted(target, PARAMETERS.get(target.type, PluginParameters))


def _converted(target: Target, model: type[M]) -> M:
    try:
        return msgspec.convert(target.parameters, model)
    except msgspec.ValidationError as error:
        found = next(check(schema_of(model), target.parameters), None)
        why = f"{found.path}: {found.message}. {found.fix}" if found else f"{error}."
        raise Permanent(f"spec.targets: the parameters of {target.name} cannot be used: {why}") from error


def parameters_as(job: Job, model: type[M]) -> M:
    """The parameters of the target as one type that the caller knows."""
    if job.target.type not in PARAMETERS:
        return _converted(job.target, model)
    found = parameters(job.target)
    if not isinstance(found, model):
        raise Permanent(
            f"The target {job.target.name} is of type {job.target.type}, which another executor knows."
        )
    return found
