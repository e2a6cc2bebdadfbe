"""A plan over the validity of an exception, without it and with it."""

from collections.abc import Sequence
from dataclasses import dataclass

from whenever import Instant

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.impact import Change, changes
from hibernator.pictures.resource import Resource
from hibernator.pictures.strips import Strip, strip
from hibernator.schedule.exceptions import NamedException
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.plan import PlanTimeline


@dataclass(frozen=True, slots=True)
class Comparison:
    """The plan over the validity, without the exception and with it; with the others in force both times."""

    before: Strip
    after: Strip
    changes: tuple[Change, ...]


def compare(
    plan: HibernatePlan,
    exception: ScheduleException,
    holidays: Holidays,
    others: Sequence[NamedException] = (),
) -> Comparison:
    """Whole days of the plan's own clock, so that what surrounds a change is seen, too."""
    schedule, spec = plan.spec.schedule, exception.spec
    ends = Instant(spec.valid_until).subtract(nanoseconds=1)  # an end at midnight shows nothing of that day
    first, last = (at.to_tz(schedule.timezone) for at in (Instant(spec.valid_from), ends))
    start, end = first.start_of("day").to_instant(), last.start_of("day").add(days=1).to_instant()

    def drawn(*overrides: NamedException) -> Strip:
        timeline = PlanTimeline(schedule, overrides, holidays)
        return strip(
            Resource(PLANS.kind, plan.metadata.namespace, plan.metadata.name, timeline, holidays), start, end
        )

    after = drawn(*others, (exception.metadata.name, spec))
    return Comparison(drawn(*others), after, changes(plan, exception, holidays, others))
