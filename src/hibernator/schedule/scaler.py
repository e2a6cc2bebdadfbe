"""How many replicas a scaler wants: its windows, the last one winning, then holidays, then grace."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hibernator.api.timewindowscaler import HolidayMode, ScalerWindow, TimeWindowScalerSpec
from hibernator.schedule.grace import grace_step
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays
from hibernator.schedule.steps import Steps, cut, overlay
from hibernator.schedule.ticks import FIRST, HOUR, SECOND, WEEK
from hibernator.schedule.timeline import HORIZON, Timeline
from hibernator.schedule.verdicts import Reason, Verdict
from hibernator.schedule.weekly import Weekly
from hibernator.schedule.windows import Window, scaler_window
from hibernator.schedule.words import DAYS
from hibernator.schedule.zones import Zone, zone_of

ScalerSteps = Steps[Verdict[int]]

OFF_HOURS = "OffHours"
BUSINESS_HOURS = "BusinessHours"
_FRIDAY = 4


class ScaledWindow(NamedTuple):
    """A window, the replicas that it asks for, and what `currentWindow` calls it."""

    window: Window
    replicas: int
    label: str


class ScalerTimeline(Timeline[int]):
    """The replicas of a scaler, after grace, as if its spec had always been in force."""

    __slots__ = (
        "_default",
        "_grace",
        "_graced",
        "_holiday",
        "_holidays",
        "_most",
        "_weekly",
        "windows",
        "zone",
    )

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
        self.zone = zone
        self.windows = tuple(windows)
        self._default = Verdict(default_replicas, Reason.OUTSIDE_WINDOWS, OFF_HOURS)
        self._most = max([default_replicas, *(window.replicas for window in windows)])
        verdicts: dict[Verdict[int], Verdict[int]] = {}
        layers = []
        for window in windows:
            verdict = Verdict(window.replicas, Reason.WINDOW, window.label)
            layers.append((window.window, verdicts.setdefault(verdict, verdict)))
        self._weekly = Weekly(self._default, layers)
        self._holidays = holidays
        self._holiday = self._on_holidays(mode)
        self._grace = grace_seconds * SECOND
        self._graced: dict[Verdict[int], Verdict[int]] = {}

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

    def _on_holidays(self, mode: HolidayMode) -> Verdict[int] | None:
        if mode == "ignore":
            return None
        if mode == "treat-as-closed":
            return Verdict(self._default.value, Reason.HOLIDAY_CLOSED, OFF_HOURS)
        if not self.windows:
            return Verdict(self._default.value, Reason.HOLIDAY_OPEN, OFF_HOURS)
        most = max(window.replicas for window in self.windows)
        return Verdict(
            most,
            Reason.HOLIDAY_OPEN,
            _custom({"days": DAYS, "end": "24:00", "replicas": most, "start": "00:00"}),
        )

    def _lay_out(self, lo: int, hi: int) -> ScalerSteps:
        if not self._grace:
            return self._wanted(lo, hi)
        reach = self._grace + WEEK
        while True:
            start = max(FIRST, lo - reach)
            steps = self._wanted(start, hi)
            anchor = self._settled(steps, lo)
            if anchor is not None or reach > 2 * HORIZON or start == FIRST:
                return cut(self._with_grace(steps, anchor or 0), lo, hi)
            reach *= 4

    def _wanted(self, lo: int, hi: int) -> ScalerSteps:
        steps = self._weekly.steps(lo, hi)
        holiday = self._holiday
        if holiday is None:
            return steps
        return overlay(steps, self._holidays.spans(self.zone, lo, hi), lambda _: holiday)

    def _settled(self, steps: ScalerSteps, lo: int) -> int | None:
        """The last step before lo in which surely no grace is left over from what was before.

        Nothing is kept above the most that is ever wanted, and no grace outlasts a step as long as itself.
        """
        for i in reversed(range(len(steps.starts))):
            start, end = steps.starts[i], steps.starts[i + 1] if i + 1 < len(steps.starts) else steps.end
            if start <= lo and (steps.values[i].value == self._most or min(end, lo) - start >= self._grace):
                return i
        return None

    def _with_grace(self, steps: ScalerSteps, anchor: int) -> ScalerSteps:
        starts: list[int] = []
        values: list[Verdict[int]] = []
        effective, expiry = steps.values[anchor].value, None
        for i in range(anchor, len(steps.starts)):
            start, wanted = steps.starts[i], steps.values[i]
            end = steps.starts[i + 1] if i + 1 < len(steps.starts) else steps.end
            effective, expiry = grace_step(wanted.value, effective, expiry, self._grace, start)
            if expiry is not None:
                starts.append(start)
                values.append(self._kept(effective, wanted))
                if expiry >= end:
                    continue
                start, effective, expiry = expiry, wanted.value, None
            starts.append(start)
            values.append(wanted)
        return Steps(starts, values, steps.end)

    def _kept(self, replicas: int, wanted: Verdict[int]) -> Verdict[int]:
        verdict = Verdict(replicas, Reason.GRACE_PERIOD, wanted.source)
        return self._graced.setdefault(verdict, verdict)

    def _window(self, verdict: Verdict[int], ticks: int) -> str:
        del ticks
        return verdict.source

    def _message(self, verdict: Verdict[int], ticks: int) -> str:
        replicas = f"{verdict.value} replica{'' if verdict.value == 1 else 's'}"
        match verdict.reason:
            case Reason.WINDOW:
                return f"{replicas} in the window {self._winner(ticks)} ({verdict.source}, {self.zone.name})."
            case Reason.HOLIDAY_CLOSED:
                return f"{replicas}, the default, because {self._holidays.text(self.zone, ticks)}."
            case Reason.HOLIDAY_OPEN:
                return f"{replicas}, the most of any window, because {self._holidays.text(self.zone, ticks)}."
            case Reason.GRACE_PERIOD:
                wanted = self._wanted(ticks, ticks + 1).values[0].value
                return f"{replicas} until the grace period ends; {wanted} wanted then."
            case _:
                return f"{replicas}, the default, because no window is now ({self.zone.name})."

    def _winner(self, ticks: int) -> Window:
        return [scaled.window for scaled in self.windows if scaled.window.spans(ticks, ticks + 1)][-1]


def label(window: ScalerWindow) -> str:
    """What `status.currentWindow` says while this window is in force (ruling 19)."""
    read = scaler_window(window, zone_of("UTC"))
    if max(read.days) <= _FRIDAY and read.start >= 5 * HOUR and read.end <= 22 * HOUR:
        return BUSINESS_HOURS
    fields = msgspec.to_builtins(window)
    return _custom(fields | {"days": [DAYS[day] for day in sorted(read.days)]})


def _custom(fields: object) -> str:
    return f"Custom-{hashlib.sha256(msgspec.json.encode(fields, order='sorted')).hexdigest()[:8]}"
