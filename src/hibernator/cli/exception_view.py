"""One exception with all that matters to an approver, and the list of exceptions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rich.text import Text
from whenever import Instant

from hibernator.api.core import CONFIG_MAPS
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.scheduleexception import EXCEPTIONS, HistoryEntry, ScheduleException
from hibernator.approvals.decision import matter_of
from hibernator.cli.output import Column, aged, distanced, moment, printable
from hibernator.controllers.daysoff_reader import read_once
from hibernator.decisions.impact import Change, beside
from hibernator.decisions.person import Person, in_place_of, mailbox
from hibernator.decisions.scheduleexception_request import needs_approval, requester, seats_of
from hibernator.kube.client import Client
from hibernator.kube.errors import Forbidden, NotFound
from hibernator.pictures.comparison import Comparison, compare
from hibernator.pictures.ink import Ink
from hibernator.pictures.terminal import render_lanes, wrapped
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays, load_holidays, years_around
from hibernator.schedule.problems import check_exception, check_schedule
from hibernator.schedule.spoken import relative
from hibernator.schedule.timeline import State
from hibernator.schedule.zones import known_zone

_MOST_DAYS: Final = 7
_MOST_CHANGES: Final = 5
_LOCAL: Final = "%a %Y-%m-%d %H:%M"


@dataclass(frozen=True, slots=True)
class ExceptionDetails:
    exception: ScheduleException
    comparison: Comparison | None  # None when the plan is gone, invalid or not readable
    zone: str = "UTC"  # of the plan, as far as it can be read


async def look(client: Client, name: str, namespace: str) -> ExceptionDetails:
    exception = await client.get(EXCEPTIONS, name, namespace)
    try:
        plan = await client.get(PLANS, exception.spec.plan_ref.name, namespace)
    except (NotFound, Forbidden):
        return ExceptionDetails(exception, None)
    if any(check_exception(exception.spec)) or any(check_schedule(plan.spec.schedule)):
        return ExceptionDetails(exception, None, known_zone(plan.spec.schedule.timezone))
    years = years_around(exception.spec.valid_from.year, exception.spec.valid_until.year)
    others = beside(exception, await client.list(EXCEPTIONS, namespace))
    comparison = compare(plan, exception, await _holidays(client, plan, years), others)
    return ExceptionDetails(exception, comparison, plan.spec.schedule.timezone)


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


def lines(details: ExceptionDetails, width: int, ink: Ink, now: Instant) -> Iterator[Text]:
    """All of it, from what it is to what was done."""
    exception = details.exception
    spec, metadata = exception.spec, exception.metadata
    what = f"{metadata.namespace}/{metadata.name} {_DOES[spec.type]} HibernatePlan {spec.plan_ref.name}"
    yield from wrapped(printable(what), width, style="bold")
    for title, value in _facts(details, now):
        if value:
            yield from wrapped(printable(value), width, bullet=f"  {title:<13} ")
    yield Text("Windows", "bold")
    for window in spec.windows:
        yield from wrapped(", ".join(window.days_of_week), width, bullet=f"  {window.start}-{window.end} ")
    yield from _approvals(exception)
    yield from _changes(details, width, ink, now)
    if exception.status.history:
        yield Text("History", "bold")
    for entry in exception.status.history:
        yield from wrapped(printable(_history_line(entry)), width, bullet=f"  {moment(entry.timestamp)} ")


def _facts(details: ExceptionDetails, now: Instant) -> Iterator[tuple[str, str]]:
    exception = details.exception
    spec, status = exception.spec, exception.status
    yield "state", status.state or "not seen by the operator yet"
    yield "message", status.message
    yield "reason", spec.reason or ""
    yield "requested by", status.requested_by
    yield "valid from", distanced(spec.valid_from, details.zone, now)
    yield "valid until", distanced(spec.valid_until, details.zone, now)
    yield "lead time", spec.lead_time or ""
    yield "seen", matter_of(exception).seen
    if (impact := status.impact) and impact.workloads is not None:
        yield "workloads", str(impact.workloads)


def _approvals(exception: ScheduleException) -> Iterator[Text]:
    status = exception.status
    if not needs_approval(exception):
        return
    yield Text(f"Approvals ({status.approval_progress or 'no approver was asked yet'})", "bold")
    for one in status.required_approvals:
        who = printable(one.email or f"a member of the role {one.role}")
        beware = "" if who.isascii() else " (beware: not all of these are plain letters)"
        by = f" (ExceptionPolicy {printable(one.policy)})" if one.policy else ""
        yield Text(f"  {one.status:<9} {who}{beware}{by}", _STYLES.get(one.status, ""))
    counted = {entry.actor for entry in status.history if entry.action in {"approved", "rejected"}}
    for user in (
        *(yes.approved_by for yes in status.approvals),
        *(no.rejected_by for no in status.rejections),
    ):
        if user not in counted:
            yield Text(f"  the decision of {printable(user)} is not counted")


def _changes(details: ExceptionDetails, width: int, ink: Ink, now: Instant) -> Iterator[Text]:
    """The timeline before and after, on the days on which they differ."""
    if (comparison := details.comparison) is None:
        yield from wrapped(
            "What changes is unknown: the plan is gone, or you may not see it, or one of the two has "
            "mistakes.",
            width,
        )
        return
    zone = comparison.after.resource.zone.name
    yield from wrapped(f"What changes ({zone}): {_amounts(comparison.changes)}", width, style="bold")
    if not comparison.changes:
        return
    yield from render_lanes(comparison.before, comparison.after, width, ink, since=now, most=_MOST_DAYS)
    for change in comparison.changes[:_MOST_CHANGES]:
        start, end = (at.to_tz(zone).to_stdlib().strftime(_LOCAL) for at in (change.start, change.end))
        words = "asleep instead of awake" if change.state is State.ASLEEP else "awake instead of asleep"
        yield from wrapped(f"{start} until {end}: {words}", width, bullet="  ")
    if (more := len(comparison.changes) - _MOST_CHANGES) > 0:
        yield Text(f"  and {more} more")


def _amounts(found: tuple[Change, ...]) -> str:
    asleep = sum(change.hours for change in found if change.state is State.ASLEEP)
    awake = sum(change.hours for change in found if change.state is State.AWAKE)
    amounts = [
        f"{_hours(hours)} asleep {word}" for hours, word in ((asleep, "gained"), (awake, "lost")) if hours
    ]
    return ", ".join(amounts) or "nothing, the plan sleeps the same way without it"


def _hours(hours: float) -> str:
    number = f"{hours:.2f}".rstrip("0").rstrip(".")
    return f"{number} {'hour' if number == '1' else 'hours'}"


def _history_line(entry: HistoryEntry) -> str:
    role = f" as {entry.role}" if entry.role else ""
    channel = f" through {entry.channel}" if entry.channel else ""
    reason = f": {entry.reason}" if entry.reason else ""
    who = in_place_of(entry.actor or "an unknown user", entry.on_behalf_of)
    return f"{entry.action} by {who}{role}{channel}{reason}"


_STYLES: Final = {"approved": "green", "rejected": "red"}
_DOES: Final = {
    "extend": "adds sleep to",
    "suspend": "keeps awake",
    "replace": "replaces the schedule of",
}


def columns(now: Callable[[], Instant]) -> tuple[Column[ScheduleException], ...]:
    """What is shown of an exception, by a clock."""
    return (
        Column("Plan", lambda one: one.spec.plan_ref.name),
        Column("Type", lambda one: one.spec.type),
        Column("State", lambda one: one.status.state or ""),
        Column("Approvals", lambda one: one.status.approval_progress),
        Column(
            "Ends",
            lambda one: relative(one.spec.valid_until, now()),
            basis=lambda one: one.spec.valid_until,
        ),
        Column("Requested by", requester),
        aged(),
        Column("From", lambda one: moment(one.spec.valid_from), wide=True),
        Column("Until", lambda one: moment(one.spec.valid_until), wide=True),
        Column("Message", lambda one: one.status.message, wide=True),
    )


@dataclass(frozen=True, slots=True)
class Filter:
    pending: bool
    role: str | None
    state: str | None
    mine: Person | None = None  # to whom they matter

    def lets(self, one: ScheduleException) -> bool:
        status = one.status
        roles = {seat.name for seat in seats_of(one) if seat.kind == "role"}
        return (
            (not self.pending or (status.approval_state, status.state) == ("Pending", "Pending"))
            and (self.role is None or self.role in roles)
            and (self.state is None or status.state == self.state)
            and (self.mine is None or _matters_to(self.mine, one))
        )


def _matters_to(me: Person, one: ScheduleException) -> bool:
    """Whether this person requested or must approve it, as far as is known without the operator's settings.

    A user name without a domain is taken for the beginning of an address, and a group for a role.
    """
    seats = seats_of(one)
    named = {mailbox(seat.name) for seat in seats if seat.kind == "email"}
    mine = {mailbox(address) for address in (me.user, *me.claimed)}
    begins = "@" not in me.user and any(email.startswith(f"{mailbox(me.user)}@") for email in named)
    in_role = not {*me.groups}.isdisjoint(seat.name for seat in seats if seat.kind == "role")
    return one.status.requested_by == me.user or begins or in_role or not mine.isdisjoint(named)
