"""One exception with all that matters to somebody who must agree to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text
from whenever import Instant

from hibernator.api.core import CONFIG_MAPS
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.scheduleexception import EXCEPTIONS, HistoryEntry, ScheduleException
from hibernator.approvals.decision import matter_of
from hibernator.cli.offline.pictures.ink import Ink
from hibernator.cli.offline.pictures.strips import Strip, strip
from hibernator.cli.offline.pictures.terminal import render_lanes, wrapped
from hibernator.cli.offline.scene import Resource
from hibernator.cli.output import moment, printable
from hibernator.controllers.daysoff_reading import read_once
from hibernator.decisions.impact import Change, beside, changes
from hibernator.kube.client import Client
from hibernator.kube.errors import Forbidden, NotFound
from hibernator.schedule.bend import NamedException
from hibernator.schedule.daysoff import years_around
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays, load_holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.problems import check_exception, check_schedule
from hibernator.schedule.verdicts import State

_MOST_DAYS: Final = 7
_MOST_CHANGES: Final = 5
_LOCAL: Final = "%a %Y-%m-%d %H:%M"


@dataclass(frozen=True, slots=True)
class Bend:
    """The plan over the validity, without the exception and with it; with the others in force both times."""

    before: Strip
    after: Strip
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Sight:
    exception: ScheduleException
    bend: Bend | None  # None when the plan is gone, or hidden from the one who looks, or makes no sense


async def look(client: Client, name: str, namespace: str) -> Sight:
    exception = await client.get(EXCEPTIONS, name, namespace)
    try:
        plan = await client.get(PLANS, exception.spec.plan_ref.name, namespace)
    except (NotFound, Forbidden):
        return Sight(exception, None)
    if any(check_exception(exception.spec)) or any(check_schedule(plan.spec.schedule)):
        return Sight(exception, None)
    years = years_around(exception.spec.valid_from.year, exception.spec.valid_until.year)
    others = beside(exception, await client.list(EXCEPTIONS, namespace))
    return Sight(exception, bend(plan, exception, await _holidays(client, plan, years), others))


async def _holidays(client: Client, plan: HibernatePlan, years: range) -> Holidays:
    block = plan.spec.schedule.holidays
    if block is None:
        return NO_HOLIDAYS
    days_off = None
    if block.source_ref:
        try:
            found = await client.get(CONFIG_MAPS, block.source_ref.name, plan.metadata.namespace)
        except (NotFound, Forbidden):
            pass
        else:
            days_off = await read_once(found.data, years)
    return load_holidays(block, days_off)[0]


def bend(
    plan: HibernatePlan,
    exception: ScheduleException,
    holidays: Holidays,
    others: Sequence[NamedException] = (),
) -> Bend:
    """Whole days of the plan's own clock, so that what surrounds a change is seen, too."""
    schedule, spec = plan.spec.schedule, exception.spec
    first, last = (Instant(at).to_tz(schedule.timezone) for at in (spec.valid_from, spec.valid_until))
    start, end = first.start_of("day").to_instant(), last.start_of("day").add(days=1).to_instant()

    def drawn(*bends: NamedException) -> Strip:
        timeline = PlanTimeline(schedule, bends, holidays)
        return strip(
            Resource(PLANS.kind, plan.metadata.namespace, plan.metadata.name, timeline, holidays), start, end
        )

    after = drawn(*others, (exception.metadata.name, spec))
    return Bend(drawn(*others), after, changes(plan, exception, holidays, others))


def lines(sight: Sight, width: int, ink: Ink, now: Instant) -> Iterator[Text]:
    """All of it, from what it is to what was done."""
    exception = sight.exception
    spec, metadata = exception.spec, exception.metadata
    what = f"{metadata.namespace}/{metadata.name} {_DOES[spec.type]} HibernatePlan {spec.plan_ref.name}"
    yield from wrapped(printable(what), width, style="bold")
    for title, value in _facts(exception):
        if value:
            yield from wrapped(printable(value), width, bullet=f"  {title:<13} ")
    yield Text("Windows", "bold")
    for window in spec.windows:
        yield from wrapped(", ".join(window.days_of_week), width, bullet=f"  {window.start}-{window.end} ")
    yield from _approvals(exception)
    yield from _changes(sight, width, ink, now)
    if exception.status.history:
        yield Text("History", "bold")
    for entry in exception.status.history:
        yield from wrapped(printable(_told(entry)), width, bullet=f"  {moment(entry.timestamp)} ")


def _facts(exception: ScheduleException) -> Iterator[tuple[str, str]]:
    spec, status = exception.spec, exception.status
    yield "state", status.state or "not seen by the operator yet"
    yield "message", status.message
    yield "reason", spec.reason or ""
    yield "requested by", status.requested_by
    yield "valid from", moment(spec.valid_from)
    yield "valid until", moment(spec.valid_until)
    yield "lead time", spec.lead_time or ""
    yield "seen", matter_of(exception).seen
    if (impact := status.impact) and impact.workloads is not None:
        yield "workloads", str(impact.workloads)


def _approvals(exception: ScheduleException) -> Iterator[Text]:
    status = exception.status
    if not exception.spec.approval_required:
        return
    yield Text(f"Approvals ({status.approval_progress or 'no approver was asked yet'})", "bold")
    for one in status.required_approvals:
        who = printable(one.email or f"a member of the role {one.role}")
        beware = "" if who.isascii() else " (beware: not all of these are plain letters)"
        yield Text(f"  {one.status:<9} {who}{beware}", _STYLES.get(one.status, ""))
    counted = {entry.actor for entry in status.history if entry.action in {"approved", "rejected"}}
    for user in (
        *(yes.approved_by for yes in status.approvals),
        *(no.rejected_by for no in status.rejections),
    ):
        if user not in counted:
            yield Text(f"  the decision of {printable(user)} is not counted")


def _changes(sight: Sight, width: int, ink: Ink, now: Instant) -> Iterator[Text]:
    """The timeline before and after, on the days on which they differ."""
    if (bent := sight.bend) is None:
        yield from wrapped(
            "What changes is unknown: the plan is gone, or you may not see it, or one of the two has "
            "mistakes.",
            width,
        )
        return
    zone = bent.after.resource.zone.name
    yield from wrapped(f"What changes ({zone}): {_amounts(bent.changes)}", width, style="bold")
    if not bent.changes:
        return
    yield from render_lanes(bent.before, bent.after, width, ink, since=now, most=_MOST_DAYS)
    for change in bent.changes[:_MOST_CHANGES]:
        start, end = (at.to_tz(zone).to_stdlib().strftime(_LOCAL) for at in (change.start, change.end))
        words = "asleep instead of awake" if change.state is State.ASLEEP else "awake instead of asleep"
        yield from wrapped(f"{start} until {end}: {words}", width, bullet="  ")
    if (more := len(bent.changes) - _MOST_CHANGES) > 0:
        yield Text(f"  and {more} more")


def _amounts(found: tuple[Change, ...]) -> str:
    asleep = sum(change.hours for change in found if change.state is State.ASLEEP)
    awake = sum(change.hours for change in found if change.state is State.AWAKE)
    told = [
        f"{hours:.2f}".rstrip("0").rstrip(".") + f" hours asleep {word}"
        for hours, word in ((asleep, "gained"), (awake, "lost"))
        if hours
    ]
    return ", ".join(told) or "nothing, the plan rests the same way without it"


def _told(entry: HistoryEntry) -> str:
    role = f" as {entry.role}" if entry.role else ""
    channel = f" through {entry.channel}" if entry.channel else ""
    reason = f": {entry.reason}" if entry.reason else ""
    return f"{entry.action} by {entry.actor or 'an unknown user'}{role}{channel}{reason}"


_STYLES: Final = {"approved": "green", "rejected": "red"}
_DOES: Final = {
    "extend": "adds sleep to",
    "suspend": "keeps awake",
    "replace": "replaces the schedule of",
}
