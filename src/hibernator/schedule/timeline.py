"""What holds at an instant, when that changes, and all that holds between two instants.

An answer is a verdict: a state or a number, and one word for why. Most instants are answered by a glance at
a model week. Where a change of the clock, a holiday, an exception or a grace period is near, a timeline lays
out the days around the instant. The last answer is kept, because the next question is mostly about the same
time.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from whenever import Instant, TimeDelta

from hibernator.schedule.spans import Steps
from hibernator.schedule.ticks import DAY, FIRST, LAST, WEEK, from_instant, to_instant
from hibernator.schedule.windows import Window
from hibernator.schedule.zones import Zone, local_text

V = TypeVar("V")


class State(StrEnum):
    """What a plan is."""

    ASLEEP = "Asleep"
    AWAKE = "Awake"


class Reason(StrEnum):
    """Why it is so, for programs. Words for people are in `message`."""

    # plans
    OFF_HOURS = "OffHours"  # a window of the plan says sleep
    WORKING_HOURS = "WorkingHours"  # no window of the plan says sleep
    HOLIDAY_SLEEP = "HolidaySleep"  # asleep only because of a holiday
    HOLIDAY_AWAKE = "HolidayAwake"  # awake only because of a holiday
    EXCEPTION_EXTEND = "ExceptionExtend"  # asleep only because an exception adds a window
    EXCEPTION_SUSPEND = "ExceptionSuspend"  # awake only because an exception suspends the sleep
    EXCEPTION_LEAD_TIME = "ExceptionLeadTime"  # awake because a suspension begins soon
    EXCEPTION_REPLACE = "ExceptionReplace"  # an exception decides alone
    # scalers
    WINDOW = "Window"  # the last window that matches decides
    OUTSIDE_WINDOWS = "OutsideWindows"  # no window matches
    HOLIDAY_CLOSED = "HolidayClosed"  # a holiday, on which no window counts
    HOLIDAY_OPEN = "HolidayOpen"  # a holiday, on which the most that any window asks for runs all day
    GRACE_PERIOD = "GracePeriod"  # fewer are wanted, but not yet
    INVALID_TIMEZONE = "InvalidTimezone"  # the zone is unknown, so that no window can match


class Verdict(NamedTuple, Generic[V]):
    """What holds, why, and the name of what decided it: a scaler's window label, or an exception."""

    value: V
    reason: Reason
    source: str = ""


Piece = tuple[Verdict[V], int | None, int | None]  # what holds, since when and until when; None is long

HORIZON = 400 * DAY  # what does not change for so long is said never to change
_NANOSECOND = TimeDelta(nanoseconds=1)
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
        """When the value, the reason or the window's label changes; None if nothing does for 400 days."""
        return None if self._until is None else to_instant(self._until)


@dataclass(frozen=True, slots=True)
class Interval(_Held[V]):
    """What holds from `start` until `end`; the window and the words are those at its start."""

    start: Instant
    end: Instant


class Timeline(ABC, Generic[V]):
    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: Piece[V] | None = None

    def at(self, moment: Instant) -> Answer[V]:
        ticks = from_instant(moment)
        last = self._last
        if last is None or last[1] is None or last[2] is None or not last[1] <= ticks < last[2]:
            last = self._last = self._glance(ticks) or self._look(ticks)
        verdict, since, until = last
        return Answer(self, verdict, ticks, since, until)

    def between(self, start: Instant, end: Instant) -> tuple[Interval[V], ...]:
        """All that holds in [start, end), without gaps; neighbours differ in value or reason."""
        if start >= end:
            return ()
        lo, hi = from_instant(start), from_instant(end - _NANOSECOND) + 1
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
    def _glance(self, ticks: int) -> Piece[V] | None:
        """What holds at an instant, if that can be seen without laying out anything."""

    @abstractmethod
    def _window(self, verdict: Verdict[V], ticks: int) -> str: ...

    @abstractmethod
    def _message(self, verdict: Verdict[V], ticks: int) -> str: ...

    def _look(self, ticks: int) -> Piece[V]:
        """Lay out more and more around an instant, until both edges of what holds there are seen."""
        for reach in _REACHES:
            lo, hi = max(FIRST, ticks - reach), min(LAST, ticks + reach)
            steps = self._lay_out(lo, hi)
            i = bisect_right(steps.starts, ticks) - 1
            began, ends = i > 0 or lo == FIRST, i + 1 < len(steps.starts) or hi == LAST
            if began and ends:
                break
        since = steps.starts[i] if i else None
        until = steps.starts[i + 1] if i + 1 < len(steps.starts) else None
        return steps.values[i], since, until


class Rule(NamedTuple):
    """A rule of the schedule, in the order in which they are looked at, and what it had to say."""

    name: str
    matched: bool
    decided: bool
    why: str


class Explanation(NamedTuple, Generic[V]):
    answer: Answer[V]
    rules: tuple[Rule, ...]
    following: Answer[V] | None  # what comes after it; None if nothing changes within the horizon
    otherwise: tuple[str, ...]  # what would have to be different for it to be otherwise


def window_why(window: Window, ticks: int, shown: Zone) -> str:
    """What a window says at an instant: that it covers it, or when it next begins."""
    covering = window.covering(ticks)
    start, end = covering or window.following(ticks)
    span = f"{local_text(shown, start)} until {local_text(shown, end)}"
    return f"covers this time, from {span}" if covering else f"does not cover this time; next from {span}"
