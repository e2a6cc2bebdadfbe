"""How many replicas a scaler wants: its windows, the last one winning, then holidays, then grace.

With grace fewer replicas are wanted, but the old number is kept a little longer (reconcile step 5, ruling
20). One step decides that, for the controller from what its status says, and for timelines folded over all
that is wanted; so what is simulated is what will happen.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from whenever import Instant

from hibernator.api.timewindowscaler import HolidayMode, TimeWindowScalerSpec
from hibernator.schedule import scaler_words as words
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays
from hibernator.schedule.scaler_words import (
    OFF_HOURS,
    AfterGrace,
    ScaledWindow,
    ScalerRules,
    all_day_label,
    label,
)
from hibernator.schedule.spans import Steps, cut, overlay
from hibernator.schedule.ticks import DAY, FIRST, SECOND, WEEK, from_instant, to_instant
from hibernator.schedule.timeline import HORIZON, Explanation, Piece, Reason, Timeline, Verdict
from hibernator.schedule.windows import Weekly, scaler_window
from hibernator.schedule.zones import Zone, zone_of


class Graced(NamedTuple):
    """The replicas to run now and, while more are kept than are wanted, until when."""

    effective: int
    expiry: Instant | None


def apply_grace(
    wanted: int, effective: int | None, expiry: Instant | None, grace_seconds: int, now: Instant
) -> Graced:
    """What to run now, from what is wanted now and what the status says of the last look."""
    replicas, until = _step(
        wanted,
        wanted if effective is None else effective,
        None if expiry is None else from_instant(expiry),
        grace_seconds * SECOND,
        from_instant(now),
    )
    return Graced(replicas, None if until is None else to_instant(until))


def with_grace(steps: Steps[Verdict[int]], settled: int, grace: int) -> Steps[Verdict[int]]:
    """What is run, from what is wanted, beginning with a step in which no grace is in progress."""
    starts: list[int] = []
    values: list[Verdict[int]] = []
    ends = [*steps.starts[settled + 1 :], steps.end]
    effective, expiry = steps.values[settled].value, None
    for start, end, wanted in zip(steps.starts[settled:], ends, steps.values[settled:], strict=True):
        effective, expiry = _step(wanted.value, effective, expiry, grace, start)
        if expiry is None:
            starts.append(start)
            values.append(wanted)
            continue
        kept = Verdict(effective, Reason.GRACE_PERIOD, wanted.source)
        if values[-1] != kept:
            starts.append(start)
            values.append(kept)
        if expiry < end:
            starts.append(expiry)
            values.append(wanted)
            effective, expiry = wanted.value, None
    return Steps(starts, values, steps.end)


def settled_step(steps: Steps[Verdict[int]], before: int, grace: int, most: int) -> int | None:
    """The last step from which to begin so that all from `before` on is right.

    Nothing is kept above the most that is ever wanted, and no grace outlasts a step longer than itself. (One
    that ends together with the step goes over to the next step's value without ever taking this one's.)
    """
    end = before
    for i in reversed(range(bisect_right(steps.starts, before))):
        start = steps.starts[i]
        if steps.values[i].value == most or end - start > grace:
            return i
        end = start
    return None


def _step(wanted: int, effective: int, expiry: int | None, grace: int, now: int) -> tuple[int, int | None]:
    if wanted >= effective or grace <= 0:
        return wanted, None
    if expiry is None:
        expiry = now + grace
    return (effective, expiry) if now < expiry else (wanted, None)


ScalerSteps = Steps[Verdict[int]]


class ScalerTimeline(Timeline[int]):
    """The replicas of a scaler, after grace, as if its spec had always been in force."""

    __slots__ = ("_grace", "_most", "_rules", "_said", "_weekly")

    def __init__(
        self,
        zone: Zone,
        windows: Sequence[ScaledWindow],
        default_replicas: int,
        *,
        mode: HolidayMode = "ignore",
        holidays: Holidays = NO_HOLIDAYS,
        grace_seconds: int = 0,
    ) -> None:
        super().__init__()
        default = Verdict(default_replicas, Reason.OUTSIDE_WINDOWS, OFF_HOURS)
        self._rules = ScalerRules(
            zone, tuple(windows), default, holidays, _on_holidays(mode, windows, default_replicas)
        )
        self._most = max([default_replicas, *(window.replicas for window in windows)])
        self._grace = grace_seconds * SECOND
        self._said: tuple[tuple[Verdict[int], int] | None, str] = None, ""
        same: dict[Verdict[int], Verdict[int]] = {}
        verdicts = [Verdict(window.replicas, Reason.WINDOW, window.label) for window in windows]
        self._weekly = Weekly(
            default,
            [
                (scaled.window, same.setdefault(verdict, verdict))
                for scaled, verdict in zip(windows, verdicts, strict=True)
            ],
        )

    @classmethod
    def of(
        cls, spec: TimeWindowScalerSpec, holidays: Holidays = NO_HOLIDAYS, *, grace: bool = True
    ) -> "ScalerTimeline":
        """The timeline of a spec; without grace it is what is wanted, where a controller starts from."""
        zone = zone_of(spec.timezone)
        return cls(
            zone,
            [
                ScaledWindow(scaler_window(window, zone), window.replicas, label(window))
                for window in spec.windows
            ],
            spec.default_replicas,
            mode=spec.holidays.mode if spec.holidays else "ignore",
            holidays=holidays,
            grace_seconds=spec.grace_period_seconds if grace else 0,
        )

    @property
    def zone(self) -> Zone:
        return self._rules.zone

    def explain(self, moment: Instant) -> Explanation[int]:
        """Why it is so at that moment, rule by rule."""
        answer, ticks = self.at(moment), from_instant(moment)
        wanted, windows_say = self._wanted(ticks, ticks + 1), self._weekly.steps(ticks, ticks + 1)
        return Explanation(
            answer=answer,
            rules=words.considered(self._rules, answer.verdict, wanted.values[0], ticks),
            following=None if answer.until is None else self.at(answer.until),
            otherwise=words.otherwise(
                self._rules, answer.verdict, ticks, (windows_say.values[0], wanted.values[0])
            ),
        )

    def _glance(self, ticks: int) -> Piece[int] | None:
        found = self._weekly.around(ticks)
        if found is None:
            return None
        verdict, since, until = found
        if self._grace and verdict.value < self._most:
            return None  # more may be kept from before
        if self._rules.holiday is not None and self._rules.holidays.near(since, until):
            return None
        return found

    def _lay_out(self, lo: int, hi: int) -> ScalerSteps:
        if not self._grace:
            return self._wanted(lo, hi)
        reach = min(2 * self._grace, WEEK) + DAY
        while True:
            start = max(FIRST, lo - reach)
            steps = self._wanted(start, hi)
            settled = settled_step(steps, lo, self._grace, self._most)
            if settled is not None or reach > 2 * HORIZON or start == FIRST:
                return cut(with_grace(steps, settled or 0, self._grace), lo, hi)
            reach *= 4

    def _wanted(self, lo: int, hi: int) -> ScalerSteps:
        steps, holiday = self._weekly.steps(lo, hi), self._rules.holiday
        if holiday is None:
            return steps
        return overlay(steps, self._rules.holidays.spans(self.zone, lo, hi), lambda _: holiday)

    def _window(self, verdict: Verdict[int], ticks: int) -> str:
        del ticks
        return verdict.source

    def _message(self, verdict: Verdict[int], ticks: int) -> str:
        # The same in all of a second, within which a fleet that shares this timeline asks for it.
        asked = verdict, ticks // SECOND
        if self._said[0] != asked:
            after = self._after_grace(verdict, ticks)
            self._said = asked, words.message(self._rules, verdict, ticks, after)
        return self._said[1]

    def _after_grace(self, verdict: Verdict[int], ticks: int) -> AfterGrace | None:
        if verdict.reason is not Reason.GRACE_PERIOD:
            return None
        steps = self._lay_out(ticks, ticks + self._grace + 1)
        return next(
            AfterGrace(start, following.value)
            for start, following in zip(steps.starts, steps.values, strict=True)
            if following.reason is not Reason.GRACE_PERIOD
        )


def _on_holidays(mode: HolidayMode, windows: Sequence[ScaledWindow], default: int) -> Verdict[int] | None:
    if mode == "ignore":
        return None
    if mode == "treat-as-closed":
        return Verdict(default, Reason.HOLIDAY_CLOSED, OFF_HOURS)
    if not windows:
        return Verdict(default, Reason.HOLIDAY_OPEN, OFF_HOURS)
    most = max(window.replicas for window in windows)
    return Verdict(most, Reason.HOLIDAY_OPEN, all_day_label(most))
