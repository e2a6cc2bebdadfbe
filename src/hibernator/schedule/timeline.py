"""What holds at an instant, when that changes, and all that holds between two instants.

A timeline lays out a few weeks around the instant that it is asked about, keeps them, and answers from them
by bisection. Words are put together only when somebody reads them.
"""

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from typing import Generic, TypeVar

from whenever import Instant

from hibernator.schedule.steps import Steps
from hibernator.schedule.ticks import DAY, FIRST, LAST, WEEK, from_instant, to_instant
from hibernator.schedule.verdicts import Reason, Verdict

V = TypeVar("V")

HORIZON = 400 * DAY  # what does not change for so long is said never to change
_REACHES = (8 * DAY, 8 * WEEK, HORIZON)


@dataclass(frozen=True, slots=True)
class _Held(Generic[V]):
    _timeline: "Timeline[V]"
    verdict: Verdict[V]
    _ticks: int

    @property
    def value(self) -> V:
        """`State.ASLEEP` or `State.AWAKE` for a plan, the number of replicas for a scaler."""
        return self.verdict.value

    @property
    def reason(self) -> Reason:
        return self.verdict.reason

    @property
    def window(self) -> str:
        """The window in force, for people; empty where there is none."""
        return self._timeline._window(self.verdict, self._ticks)  # noqa: SLF001  they are one module

    @property
    def message(self) -> str:
        """The reason in words."""
        return self._timeline._message(self.verdict, self._ticks)  # noqa: SLF001  they are one module


@dataclass(frozen=True, slots=True)
class Answer(_Held[V]):
    """What holds at an instant, since when and until when; None is beyond the horizon."""

    _since: int | None
    _until: int | None

    @property
    def since(self) -> Instant | None:
        return None if self._since is None else to_instant(self._since)

    @property
    def until(self) -> Instant | None:
        return None if self._until is None else to_instant(self._until)


@dataclass(frozen=True, slots=True)
class Interval(_Held[V]):
    """What holds from `start` until `end`; the window and the words are those at its start."""

    start: Instant
    end: Instant


class Timeline(ABC, Generic[V]):
    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps: Steps[Verdict[V]] = Steps((), (), FIRST)

    def at(self, moment: Instant) -> Answer[V]:
        ticks = from_instant(moment)
        steps, i = self._around(ticks)
        since = steps.starts[i] if i else None
        until = steps.starts[i + 1] if i + 1 < len(steps.starts) else None
        return Answer(self, steps.values[i], ticks, since, until)

    def next_change(self, moment: Instant) -> Instant | None:
        """When anything in the answer becomes different: the value, the reason or the window's label.

        None if nothing does for 400 days.
        """
        return self.at(moment).until

    def between(self, start: Instant, end: Instant) -> tuple[Interval[V], ...]:
        """All that holds in [start, end), without gaps; neighbours differ in value or reason."""
        lo, hi = from_instant(start), from_instant(end)
        if lo >= hi:
            return ()
        steps = self._lay_out(lo, hi)
        first = [
            i for i in range(len(steps.starts)) if not i or steps.values[i][:2] != steps.values[i - 1][:2]
        ]
        marks = [start, *(to_instant(steps.starts[i]) for i in first[1:]), end]
        return tuple(
            Interval(self, steps.values[i], steps.starts[i], marks[n], marks[n + 1])
            for n, i in enumerate(first)
        )

    @abstractmethod
    def _lay_out(self, lo: int, hi: int) -> Steps[Verdict[V]]:
        """All that holds in [lo, hi)."""

    @abstractmethod
    def _window(self, verdict: Verdict[V], ticks: int) -> str: ...

    @abstractmethod
    def _message(self, verdict: Verdict[V], ticks: int) -> str: ...

    def _around(self, ticks: int) -> tuple[Steps[Verdict[V]], int]:
        """Steps that show when the value at this instant began and will end, as far as the horizon."""
        steps = self._steps
        if steps.starts and steps.starts[0] <= ticks < steps.end:
            i = bisect_right(steps.starts, ticks) - 1
            if 0 < i < len(steps.starts) - 1 or _settled(steps, i, ticks):
                return steps, i
        for reach in _REACHES:
            lo, hi = max(FIRST, ticks - reach), min(LAST, ticks + reach)
            steps = self._lay_out(lo, hi)
            i = bisect_right(steps.starts, ticks) - 1
            if _settled(steps, i, ticks):
                break
        self._steps = Steps(array("q", steps.starts), tuple(steps.values), steps.end)
        return self._steps, i


def _settled(steps: Steps[Verdict[V]], i: int, ticks: int) -> bool:
    """Whether the step has both its edges here, or none within the horizon."""
    began = i > 0 or ticks - steps.starts[0] >= HORIZON or steps.starts[0] == FIRST
    ends = i + 1 < len(steps.starts) or steps.end - ticks >= HORIZON or steps.end == LAST
    return began and ends
