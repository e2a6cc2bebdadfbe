"""When a plan is asleep: its windows, then its holidays, then the exceptions that are in force.

Each layer changes what lies beneath it, and the reason is that of the last layer that made a difference: a
night that an exception would extend anyway is still simply a night.
"""

from collections.abc import Sequence

from whenever import Instant

from hibernator.api.hibernateplan import Schedule
from hibernator.schedule import plan_words as words
from hibernator.schedule.exceptions import NamedException, Override, PlanSteps, compose, read_exceptions
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays
from hibernator.schedule.plan_words import PlanRules
from hibernator.schedule.spans import cut, overlay
from hibernator.schedule.ticks import from_instant
from hibernator.schedule.timeline import Explanation, Piece, Reason, State, Timeline, Verdict
from hibernator.schedule.windows import Weekly, off_hours
from hibernator.schedule.zones import Zone, zone_of

_AWAKE = Verdict(State.AWAKE, Reason.WORKING_HOURS)
_ASLEEP = Verdict(State.ASLEEP, Reason.OFF_HOURS)
_HOLIDAY = {
    "sleep-all-day": Verdict(State.ASLEEP, Reason.HOLIDAY_SLEEP),
    "stay-awake": Verdict(State.AWAKE, Reason.HOLIDAY_AWAKE),
}


class PlanTimeline(Timeline[State]):
    """The sleep of a plan under the exceptions that are in force; others are not passed in."""

    __slots__ = ("_rules", "_weekly")

    def __init__(
        self,
        schedule: Schedule,
        exceptions: Sequence[NamedException] = (),
        holidays: Holidays = NO_HOLIDAYS,
    ) -> None:
        super().__init__()
        zone = zone_of(schedule.timezone)
        self._rules = PlanRules(
            zone=zone,
            windows=tuple(off_hours(window, zone) for window in schedule.off_hours),
            holidays=holidays,
            holiday=_HOLIDAY.get(schedule.holidays.mode) if schedule.holidays else None,
            overrides=read_exceptions(exceptions, zone),
        )
        self._weekly = Weekly(_AWAKE, [(window, _ASLEEP) for window in self._rules.windows])

    @property
    def zone(self) -> Zone:
        return self._rules.zone

    def explain(self, moment: Instant) -> Explanation[State]:
        """Why it is so at that moment, rule by rule."""
        answer, ticks = self.at(moment), from_instant(moment)
        return Explanation(
            answer=answer,
            rules=words.considered(self._rules, answer.verdict, ticks),
            following=None if answer.until is None else self.at(answer.until),
            otherwise=words.otherwise(
                self._rules, answer.verdict, ticks, self._beneath(ticks, answer.verdict)
            ),
        )

    def _glance(self, ticks: int) -> Piece[State] | None:
        found = self._weekly.around(ticks)
        if found is None or (self._rules.holiday is None and not self._rules.overrides):
            return found
        _, since, until = found
        if self._rules.holiday is not None and self._rules.holidays.near(since, until):
            return None
        overridden = any(
            start <= until and since <= end
            for override in self._rules.overrides
            for start, end in override.governs
        )
        return None if overridden else found

    def _lay_out(self, lo: int, hi: int) -> PlanSteps:
        return self._under(self._rules.overrides, lo, hi)

    def _under(self, overrides: Sequence[Override], lo: int, hi: int) -> PlanSteps:
        if not overrides:
            return self._plain(lo, hi)
        # A sleep is not entered because of what follows it, so look as far around as any lead time reaches.
        around = max(override.lead for override in overrides) + 1
        return cut(compose(self._plain(lo - around, hi + around), overrides), lo, hi)

    def _plain(self, lo: int, hi: int) -> PlanSteps:
        steps, holiday = self._weekly.steps(lo, hi), self._rules.holiday
        if holiday is None:
            return steps
        return overlay(
            steps,
            self._rules.holidays.spans(self.zone, lo, hi),
            lambda below: below if below.value is holiday.value else holiday,
        )

    def _beneath(self, ticks: int, verdict: Verdict[State]) -> tuple[Verdict[State], Verdict[State]]:
        """What the windows alone say, and what holds without the exception that gave this verdict."""
        rest = self._under(words.others(self._rules, verdict), ticks, ticks + 1)
        return self._weekly.steps(ticks, ticks + 1).values[0], rest.values[0]

    def _window(self, verdict: Verdict[State], ticks: int) -> str:
        return words.window(self._rules, verdict, ticks)

    def _message(self, verdict: Verdict[State], ticks: int) -> str:
        return words.message(self._rules, verdict, ticks)
