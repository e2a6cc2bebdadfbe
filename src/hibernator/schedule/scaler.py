"""How many replicas a scaler wants: its windows, the last one winning, then holidays, then grace."""

from collections.abc import Sequence

from whenever import Instant

from hibernator.api.timewindowscaler import HolidayMode, TimeWindowScalerSpec
from hibernator.schedule import scaler_words as words
from hibernator.schedule.grace import settled_step, with_grace
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
from hibernator.schedule.ticks import DAY, FIRST, SECOND, WEEK, from_instant
from hibernator.schedule.timeline import HORIZON, Explanation, Piece, Timeline
from hibernator.schedule.verdicts import Reason, Verdict
from hibernator.schedule.weekly import Weekly
from hibernator.schedule.windows import scaler_window
from hibernator.schedule.zones import Zone, zone_of

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
