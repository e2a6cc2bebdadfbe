"""One exception with all that matters to somebody who must agree to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hibernator.api.exceptionstatus import HistoryEntry
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.holidaymap import HOLIDAY_MAPS
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.cli.output import moment
from hibernator.decisions.impact import Change, changes
from hibernator.kube.client import Client
from hibernator.kube.errors import Forbidden, NotFound
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays, load_holidays
from hibernator.schedule.problems import check_exception, check_schedule
from hibernator.schedule.verdicts import State

_MOST_CHANGES: Final = 10
_LOCAL: Final = "%a %Y-%m-%d %H:%M"


@dataclass(frozen=True, slots=True)
class Sight:
    exception: ScheduleException
    plan: HibernatePlan | None  # None when it is gone, or hidden from the one who looks
    changes: tuple[Change, ...] = ()


async def look(client: Client, name: str, namespace: str) -> Sight:
    exception = await client.get(EXCEPTIONS, name, namespace)
    try:
        plan = await client.get(PLANS, exception.spec.plan_ref.name, namespace)
    except (NotFound, Forbidden):
        return Sight(exception, None)
    if any(check_exception(exception.spec)) or any(check_schedule(plan.spec.schedule)):
        return Sight(exception, plan)
    return Sight(exception, plan, changes(plan, exception, await _holidays(client, plan)))


async def _holidays(client: Client, plan: HibernatePlan) -> Holidays:
    block = plan.spec.schedule.holidays
    if block is None:
        return NO_HOLIDAYS
    data = None
    if block.source_ref:
        try:
            data = (await client.get(HOLIDAY_MAPS, block.source_ref.name, plan.metadata.namespace)).data
        except (NotFound, Forbidden):
            data = None
    return load_holidays(block, data)[0]


def lines(sight: Sight) -> Iterator[str]:
    """All of it, from what it is to what was done."""
    exception = sight.exception
    spec, status, metadata = exception.spec, exception.status, exception.metadata
    yield f"{metadata.namespace}/{metadata.name} {_DOES[spec.type]} HibernatePlan {spec.plan_ref.name}"
    impact = status.impact
    facts = (
        ("state", status.state or "not seen by the operator yet"),
        ("message", status.message),
        ("reason", spec.reason or ""),
        ("requested by", status.requested_by),
        ("valid from", moment(spec.valid_from)),
        ("valid until", moment(spec.valid_until)),
        ("lead time", spec.lead_time or ""),
        ("workloads", "" if impact is None or impact.workloads is None else str(impact.workloads)),
    )
    for title, value in facts:
        if value:
            yield f"  {title:<13} {value}"
    yield from _windows(exception)
    yield from _approvals(exception)
    yield from _changes(sight)
    if status.history:
        yield "History"
        yield from map(_told, status.history)


def _windows(exception: ScheduleException) -> Iterator[str]:
    yield "Windows"
    for window in exception.spec.windows:
        yield f"  {window.start}-{window.end} {', '.join(window.days_of_week)}"


def _approvals(exception: ScheduleException) -> Iterator[str]:
    status = exception.status
    if not exception.spec.approval_required:
        return
    yield f"Approvals ({status.approval_progress or 'nobody was asked yet'})"
    for one in status.required_approvals:
        yield f"  {one.status:<9} {one.email or one.role}"
    counted = {entry.actor for entry in status.history if entry.action in {"approved", "rejected"}}
    for user in (
        *(yes.approved_by for yes in status.approvals),
        *(no.rejected_by for no in status.rejections),
    ):
        if user not in counted:
            yield f"  the word of {user} is not counted"


def _changes(sight: Sight) -> Iterator[str]:
    """The timeline before and after, as far as they differ."""
    if sight.plan is None:
        yield "What changes cannot be told: the plan is gone, or you may not see it."
        return
    asleep = sum(change.hours for change in sight.changes if change.state is State.ASLEEP)
    awake = sum(change.hours for change in sight.changes if change.state is State.AWAKE)
    zone = sight.plan.spec.schedule.timezone
    yield f"What changes ({zone}): {asleep:g} hours asleep gained, {awake:g} hours asleep lost"
    for change in sight.changes[:_MOST_CHANGES]:
        start, end = (at.to_tz(zone).to_stdlib().strftime(_LOCAL) for at in (change.start, change.end))
        words = "asleep instead of awake" if change.state is State.ASLEEP else "awake instead of asleep"
        yield f"  {start} until {end}: {words}"
    if (more := len(sight.changes) - _MOST_CHANGES) > 0:
        yield f"  and {more} more"


def _told(entry: HistoryEntry) -> str:
    role = f" as {entry.role}" if entry.role else ""
    channel = f" through {entry.channel}" if entry.channel else ""
    reason = f": {entry.reason}" if entry.reason else ""
    who = entry.actor or "nobody known"
    return f"  {moment(entry.timestamp)} {entry.action} by {who}{role}{channel}{reason}"


_DOES: Final = {
    "extend": "adds sleep to",
    "suspend": "keeps awake",
    "replace": "replaces the schedule of",
}
