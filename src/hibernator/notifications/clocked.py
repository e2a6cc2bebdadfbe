"""What happens only because time passes, without an audit event. Pure.

Each has a moment at which it is due, and an id that follows from the object and that moment. What is due
between two looks is sent; where the last look stands is in the status beside the cursor.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from whenever import Instant

from hibernator.api.hibernatenotification import HibernateNotificationSpec, NotificationEvent
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.audit.event import transition_id
from hibernator.decisions.conditions import find
from hibernator.notifications.events import seconds
from hibernator.notifications.occasions import Occasion, Placed
from hibernator.schedule.ticks import SECOND
from hibernator.schedule.words import read_duration

LATE: Final = 900.0  # seconds after which a plan that wakes up is late
EXPIRING: Final = 3600.0  # seconds before the end of an exception
LEAST_REPEAT: Final = 300.0
_DEGRADED: Final = "Degraded"


def duration(text: str | None) -> float:
    """The seconds in a duration; an unreadable one, which the CRD refuses, is none."""
    try:
        return read_duration(text or "") / SECOND
    except ValueError:
        return 0.0


def due(
    spec: HibernateNotificationSpec,
    plans: Iterable[HibernatePlan],
    exceptions: Iterable[ScheduleException],
    after: Instant,
    until: Instant,
) -> list[Placed]:
    """What became due after one moment and not after another, in its order."""
    wanted = set(spec.on_events)
    found = [*_of_plans(spec, plans, wanted, until), *_of_exceptions(exceptions, wanted)]
    start, end = seconds(after), seconds(until)
    return sorted((one for one in found if start < one.recorded <= end), key=_in_order)


def _in_order(one: Placed) -> tuple[float, str]:
    """The same after every crash, so that a group begins with the same one and has the same id."""
    return one.recorded, one.occasion.id


def next_due(
    spec: HibernateNotificationSpec,
    plans: Iterable[HibernatePlan],
    exceptions: Iterable[ScheduleException],
    now: Instant,
) -> float | None:
    """The seconds until the next of them."""
    wanted = set(spec.on_events)
    moments = [one.recorded for one in _of_exceptions(exceptions, wanted)]
    for plan in plans:
        if "WakeLate" in wanted and (began := _waking_since(plan)):
            moments.append(seconds(began) + LATE)
        if (every := _repeats(spec, wanted)) and (since := _broken_since(plan)):
            passed = max(0.0, seconds(now) - seconds(since))
            moments.append(seconds(since) + (passed // every + 1) * every)
    return min((one - seconds(now) for one in moments if one > seconds(now)), default=None)


def _of_plans(
    spec: HibernateNotificationSpec,
    plans: Iterable[HibernatePlan],
    wanted: Collection[NotificationEvent],
    now: Instant,
) -> Iterator[Placed]:
    every = _repeats(spec, wanted)
    for plan in plans:
        if "WakeLate" in wanted and (began := _waking_since(plan)):
            yield _placed(plan, "WakeLate", "hibernateplan.wake.late", began.add(seconds=LATE))
        if (
            every
            and (since := _broken_since(plan))
            and (times := int((now - since).total("seconds") // every))
        ):
            again = since.add(seconds=times * every)
            yield _placed(plan, "Failure", "hibernateplan.failing", again, _why(plan))


def _repeats(spec: HibernateNotificationSpec, wanted: Collection[NotificationEvent]) -> float:
    every = duration(spec.repeat_every)
    return max(every, LEAST_REPEAT) if every and "Failure" in wanted else 0.0


def _of_exceptions(
    exceptions: Iterable[ScheduleException], wanted: Collection[NotificationEvent]
) -> Iterator[Placed]:
    if "ExceptionExpiring" not in wanted:
        return
    for one in exceptions:
        start, end = Instant(one.spec.valid_from), Instant(one.spec.valid_until)
        if one.status.state == "Active" and (end - start).total("seconds") > EXPIRING:
            at = end.subtract(seconds=EXPIRING)
            sentence = f"It ends at {end.format_iso()}."
            yield _placed(
                one, "ExceptionExpiring", "scheduleexception.expiring", at, sentence, one.spec.plan_ref.name
            )


def _placed(
    found: HibernatePlan | ScheduleException,
    event: NotificationEvent,
    type_: str,
    at: Instant,
    message: str = "",
    plan: str = "",
) -> Placed:
    metadata, at = found.metadata, at.round("second", mode="floor")
    occasion = Occasion(
        id=transition_id(metadata.uid, type_, at.format_iso()),
        event=event,
        type=type_,
        kind=type(found).__name__,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        time=at.format_iso(),
        severity="error" if event in {"Failure", "WakeLate"} else "notice",
        message=message,
        plan=plan or metadata.name,
        cycle=found.status.cycle if isinstance(found, HibernatePlan) else None,
    )
    return Placed(0, seconds(at), occasion)


def _waking_since(plan: HibernatePlan) -> Instant | None:
    """Since when it wakes up, while it does."""
    if plan.status.phase != "WakingUp" or not plan.status.history:
        return None
    wake = max(plan.status.history, key=lambda cycle: cycle.cycle).wake
    return Instant(wake.started_at) if wake and wake.result is None else None


def _broken_since(plan: HibernatePlan) -> Instant | None:
    found = find(plan.status.conditions, _DEGRADED)
    return Instant(found.last_transition_time) if found and found.status == "True" else None


def _why(plan: HibernatePlan) -> str:
    found = find(plan.status.conditions, _DEGRADED)
    return found.message if found else ""
