"""When a plan is asleep: its windows, then its holidays, then the exceptions that bend it.

Each layer changes what lies beneath it, and the reason is that of the last layer that made a difference: a
night that an exception would extend anyway is still simply a night.
"""

from collections.abc import Sequence

from whenever import Instant

from hibernator.api.hibernateplan import Schedule
from hibernator.schedule.bend import Bend, NamedException, PlanSteps, read_exceptions
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays
from hibernator.schedule.steps import cut, overlay
from hibernator.schedule.timeline import Answer, Timeline
from hibernator.schedule.verdicts import Reason, State, Verdict
from hibernator.schedule.weekly import Weekly
from hibernator.schedule.windows import Window, off_hours
from hibernator.schedule.zones import zone_of

_AWAKE = Verdict(State.AWAKE, Reason.WORKING_HOURS)
_ASLEEP = Verdict(State.ASLEEP, Reason.OFF_HOURS)
_HOLIDAY = {
    "sleep-all-day": Verdict(State.ASLEEP, Reason.HOLIDAY_SLEEP),
    "stay-awake": Verdict(State.AWAKE, Reason.HOLIDAY_AWAKE),
}


class PlanTimeline(Timeline[State]):
    """The sleep of a plan under the exceptions that are in force; others are not passed in."""

    __slots__ = ("_bends", "_holiday", "_holidays", "_weekly", "_windows", "zone")

    def __init__(
        self,
        schedule: Schedule,
        exceptions: Sequence[NamedException] = (),
        holidays: Holidays = NO_HOLIDAYS,
    ) -> None:
        super().__init__()
        self.zone = zone_of(schedule.timezone)
        self._windows = tuple(off_hours(window, self.zone) for window in schedule.off_hours)
        self._weekly = Weekly(_AWAKE, [(window, _ASLEEP) for window in self._windows])
        self._holidays = holidays
        self._holiday = _HOLIDAY.get(schedule.holidays.mode) if schedule.holidays else None
        self._bends = read_exceptions(exceptions, self.zone)

    def _lay_out(self, lo: int, hi: int) -> PlanSteps:
        if not self._bends:
            return self._unbent(lo, hi)
        # A sleep is not entered because of what follows it, so look as far around as any lead time reaches.
        around = max(bend.lead for bend in self._bends) + 1
        steps = self._unbent(lo - around, hi + around)
        for bend in self._bends:
            steps = bend.over(steps)
        return cut(steps, lo, hi)

    def _unbent(self, lo: int, hi: int) -> PlanSteps:
        steps = self._weekly.steps(lo, hi)
        holiday = self._holiday
        if holiday is None:
            return steps
        return overlay(
            steps,
            self._holidays.spans(self.zone, lo, hi),
            lambda below: below if below.value is holiday.value else holiday,
        )

    def _bend(self, verdict: Verdict[State]) -> Bend:
        return next(bend for bend in self._bends if bend.name == verdict.source)

    def _covering(self, verdict: Verdict[State], ticks: int) -> list[Window]:
        windows = self._bend(verdict).windows if verdict.source else self._windows
        return [window for window in windows if window.spans(ticks, ticks + 1)]

    def _window(self, verdict: Verdict[State], ticks: int) -> str:
        return ", ".join(map(str, self._covering(verdict, ticks)))

    def _message(self, verdict: Verdict[State], ticks: int) -> str:
        window, name = self._window(verdict, ticks), verdict.source
        match verdict.reason:
            case Reason.OFF_HOURS:
                return f"Asleep in the off-hours {window} ({self.zone.name})."
            case Reason.HOLIDAY_SLEEP:
                return f"Asleep all day, because {self._holidays.text(self.zone, ticks)}."
            case Reason.HOLIDAY_AWAKE:
                return f"Awake all day, because {self._holidays.text(self.zone, ticks)}."
            case Reason.EXCEPTION_EXTEND:
                return f"Asleep, because the exception {name} adds the off-hours {window}."
            case Reason.EXCEPTION_SUSPEND:
                return f"Awake, because the exception {name} suspends the sleep in {window}."
            case Reason.EXCEPTION_LEAD_TIME:
                return f"Awake, because the exception {name} suspends the sleep soon and none begins shortly before."
            case Reason.EXCEPTION_REPLACE if window:
                return f"Asleep, because the exception {name} replaces the off-hours with {window}."
            case Reason.EXCEPTION_REPLACE:
                return (
                    f"Awake, because the exception {name} replaces the off-hours and none of its own are now."
                )
            case _:
                return f"Awake, because no off-hours are now ({self.zone.name})."


def evaluate_with_exception(
    schedule: Schedule,
    exception: NamedException | None,
    now: Instant,
    holidays: Holidays = NO_HOLIDAYS,
) -> Answer[State]:
    """The state of a plan now, under the one exception that is active, if any."""
    return PlanTimeline(schedule, () if exception is None else (exception,), holidays).at(now)
