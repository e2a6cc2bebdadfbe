"""What the clock says to a plan: schedule, holidays and active exceptions as one answer."""

from collections.abc import Iterable, Sequence
from typing import Final

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.planstatus import ActiveException, NextTransition, Rest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.conditions import whole_second
from hibernator.decisions.hibernateplan import active_exceptions
from hibernator.decisions.hibernateplan_case import Clockwise
from hibernator.schedule.daysoff import DaysOff
from hibernator.schedule.holidays import load_holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.problems import check_exception
from hibernator.schedule.timeline import Answer
from hibernator.schedule.verdicts import State

_CHANGES: Final = 64  # of reason or window, without one of state, after which there is no next transition


def lay_out(
    plan: HibernatePlan, active: Sequence[ScheduleException], days_off: DaysOff | None
) -> tuple[PlanTimeline, tuple[str, ...]]:
    """The plan's timeline, and what was wrong with what it was made of."""
    schedule = plan.spec.schedule
    holidays, problems = load_holidays(schedule.holidays, days_off)
    source = schedule.holidays.source_ref if schedule.holidays else None
    named = f"ConfigMap {source.name}" if source else ""
    troubles = [
        f"{f'{named}, ' if p.path.startswith('data') else ''}{p.path}: {p.message}. {p.fix}" for p in problems
    ]
    if days_off and not days_off.exists:
        troubles.append(f"{named} does not exist: no day is a holiday. Create it, or correct its name.")
    usable = []
    for one in active:
        if mistakes := list(check_exception(one.spec)):
            why = " ".join(f"{p.path}: {p.message}. {p.fix}" for p in mistakes)
            troubles.append(f"ScheduleException {one.metadata.name} has no effect: {why}")
        else:
            usable.append((one.metadata.name, one.spec))
    return PlanTimeline(schedule, usable, holidays), tuple(troubles)


def clockwise(timeline: PlanTimeline, now: Instant) -> Clockwise:
    answer = timeline.at(now)
    return Clockwise(
        wanted=_rest(answer),
        reason=str(answer.reason),
        message=answer.message,
        until=answer.until,
        following=_following(timeline, answer),
    )


def exception_entries(shown: Iterable[ScheduleException]) -> tuple[ActiveException, ...]:
    """The entries of `status.activeExceptions`. One that was deleted is not remembered."""
    return active_exceptions(
        ActiveException(
            name=one.metadata.name,
            type=one.spec.type,
            valid_from=one.spec.valid_from,
            valid_until=one.spec.valid_until,
            state=one.status.state or "",
            applied_at=one.status.applied_at,
            expired_at=one.status.expired_at,
        )
        for one in shown
    )


def _following(timeline: PlanTimeline, answer: Answer[State]) -> NextTransition | None:
    """When the state itself changes next; reasons and windows change more often."""
    before, until = answer.value, answer.until
    for _ in range(_CHANGES):
        if until is None:
            return None
        later = timeline.at(until)
        if later.value is not before:
            return NextTransition(at=whole_second(until), to=_rest(later), reason=str(later.reason))
        until = later.until
    return None


def _rest(answer: Answer[State]) -> Rest:
    return "Asleep" if answer.value is State.ASLEEP else "Awake"
