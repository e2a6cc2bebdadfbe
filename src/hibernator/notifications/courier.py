"""Takes what waits to one sink, in order, and records each step.

Send, then record: a process that dies in between sends again, under the same id. What a sink does not take
waits, and all behind it; what it will never take becomes a dead letter.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

import structlog
from msgspec import structs
from whenever import Instant

from hibernator.api.core import CONFIG_MAPS, SECRETS
from hibernator.api.hibernatenotification import (
    URGENT,
    HibernateNotificationSpec,
    NotificationEvent,
    NotificationSink,
    SinkStatus,
    SlackThread,
)
from hibernator.audit.reading import PAGE, Filter, TrailReader
from hibernator.decisions.conditions import seconds_until, whole_second
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.errors import ApiError, Forbidden, NotFound
from hibernator.kube.metrics import Metrics
from hibernator.messages.channel import AwayError, RefusedError
from hibernator.notifications.clocked import due, duration
from hibernator.notifications.config import Config, ConfigError, SlackConfig, hide, read_config
from hibernator.notifications.events import seconds
from hibernator.notifications.ledger import Ledger
from hibernator.notifications.markup import MARKUPS
from hibernator.notifications.metrics import SENT
from hibernator.notifications.occasions import Parcel, Placed, parcel_id
from hibernator.notifications.records import delivered, dropped, failed, is_due
from hibernator.notifications.scope import Scope
from hibernator.notifications.sinks import SinkClients, deliver, markup_of
from hibernator.notifications.templates import TemplateError, Templates, template_in
from hibernator.notifications.timing import MOST_IN_GROUP, group, is_given_up, quiet_until, split
from hibernator.notifications.wording import explained, text

_log: Final = structlog.get_logger(__name__)

_BUDGET: Final = 5.0  # seconds of one look; what is left waits for the next
_TRIED: Final = 3  # of the messages that have waited too long: one of them may be what the sink cannot read
_SCANNED: Final = 1000  # how far a cursor may stay behind where there was nothing to send


@dataclass(frozen=True, slots=True)
class CourierMeans:
    """What couriers need of the process that they run in."""

    client: Client  # for writes, fenced by the Lease
    trail: TrailReader
    clients: SinkClients
    templates: Templates
    clock: Clock
    metrics: Metrics
    base_url: str
    account: str  # the web process's own, as namespace:name
    spread: Callable[[], float] = random.random


@dataclass(slots=True)
class Memory:
    """What one process knows of a sink besides the status."""

    # The id of a parcel that was taken, and its thread, until it is recorded.
    sent: tuple[str, str] = ("", "")
    scanned: int = 0  # up to where the trail has nothing to send
    waiting_since: float = 0.0  # seconds since the epoch; 0 while nothing waits


@dataclass(frozen=True, slots=True)
class Step:
    """What to send next, and what to record once it is done with; or how long to wait."""

    members: tuple[Placed, ...] = ()
    after: SinkStatus | None = None
    wait: float | None = None


class Courier:
    def __init__(
        self,
        means: CourierMeans,
        scope: Scope,
        ledger: Ledger,
        sink: NotificationSink,
        memory: Memory,
        head: int,
    ) -> None:
        self._means = means
        self._head = head  # where the trail ended before this look
        self._scope = scope
        self._ledger = ledger
        self._sink = sink
        self._memory = memory
        self._config: Config | None = None
        self._ahead: list[Placed] = []  # read by this look and not sent yet
        self._ahead_after, self._ahead_end = 0, 0  # the numbers between which there is nothing else
        self._looked = False  # at what the clock brings: once a look is enough
        self._away = ""  # why the sink did not take messages that are older than a day
        self._old = 0  # how many of those it was asked to take

    async def run(self) -> float | None:
        """Send what is due; the seconds until the next look, None where only news brings one."""
        end = self._means.clock.monotonic() + _BUDGET
        while True:
            now, status = self._means.clock.now(), self._ledger.sink(self._sink.name)
            if not is_due(status, now) and status.next_attempt_time:
                return seconds_until(Instant(status.next_attempt_time), now)
            step = await self._next(status, now)
            if not step.members:
                self._memory.waiting_since = 0.0
                if step.after:
                    await self._ledger.record(step.after)
                return step.wait
            self._memory.waiting_since = step.members[0].recorded
            await self._take(step, status)
            if self._means.clock.monotonic() >= end:
                return 0.0

    async def _next(self, status: SinkStatus, now: Instant) -> Step:
        spec = self._scope.notification.spec
        over = quiet_until(spec.quiet_hours, now)
        urgent = spec.quiet_hours.urgent if spec.quiet_hours and over else None
        if step := self._by_the_clock(status, now, urgent):
            return step
        if status.held_from is not None and over is None and (step := await self._held(status)):
            return step
        return await self._from_the_trail(status, now, urgent, over)

    def _by_the_clock(self, status: SinkStatus, now: Instant, urgent: Sequence[str] | None) -> Step | None:
        if self._looked:
            return None
        scope = self._scope
        spec = scope.notification.spec
        since = Instant(status.looked_at) if status.looked_at else now
        found = due(spec, scope.plans(), scope.exceptions(), since, now)
        if status.urgent_looked_at:
            done, known = seconds(Instant(status.urgent_looked_at)), _urgent(spec)
            found = [one for one in found if one.recorded > done or one.occasion.event not in known]
        if urgent is not None:
            found = [one for one in found if one.occasion.event in urgent]
        if not found:
            self._looked = True
            return None
        at = found[0].recorded
        moment = whole_second(Instant.from_timestamp(at))
        after = {"looked_at": moment} if urgent is None else {"urgent_looked_at": moment}
        # All of that second, however many: what is recorded is the moment up to which nothing is left.
        together = tuple(one for one in found if one.recorded == at)
        return Step(together, structs.replace(status, **after))

    async def _held(self, status: SinkStatus) -> Step | None:
        """What waited for the end of quiet hours, as one message, or a few."""
        start, last = status.held_from or 0, status.cursor or 0
        while True:
            found, _ = await self._read(start, MOST_IN_GROUP, last)
            _, held = split(found, _urgent(self._scope.notification.spec))
            if held:
                return Step(held, structs.replace(status, held_from=held[-1].sequence))
            if len(found) < MOST_IN_GROUP:
                await self._ledger.record(structs.replace(status, held_from=None))
                return None
            start = found[-1].sequence

    async def _from_the_trail(
        self, status: SinkStatus, now: Instant, urgent: Sequence[str] | None, over: Instant | None
    ) -> Step:
        # Not behind the head: the trail may be another one.
        cursor = max(status.cursor or 0, min(self._memory.scanned, self._head))
        within = duration(self._scope.notification.spec.group_within)
        many = within or urgent is not None
        found, scanned = await self._read(cursor, MOST_IN_GROUP + 1 if many else 1)
        if urgent is not None and over is not None:
            return await self._in_quiet(status, found, urgent, (over - now).total("seconds"), scanned)
        if not found:
            return self._nothing(status, scanned)
        chosen = group(found, within, seconds(now))
        if not chosen.members:
            return Step(wait=max(0.0, (chosen.closes or 0.0) - seconds(now)))
        last = chosen.members[-1].sequence
        return Step(chosen.members, structs.replace(status, cursor=last))

    async def _in_quiet(
        self, status: SinkStatus, found: Sequence[Placed], urgent: Sequence[str], rest: float, scanned: int
    ) -> Step:
        if not found:
            nothing = self._nothing(status, scanned)
            return Step(after=nothing.after, wait=rest)
        first = found[0]
        if first.occasion.event in urgent:
            return Step((first,), structs.replace(status, cursor=first.sequence))
        held = status.cursor or 0 if status.held_from is None else status.held_from
        *_, last = takewhile(lambda one: one.occasion.event not in urgent, found)
        return Step(after=structs.replace(status, held_from=held, cursor=last.sequence), wait=0.0)

    def _nothing(self, status: SinkStatus, scanned: int) -> Step:
        self._memory.scanned = scanned
        if scanned - (status.cursor or 0) < _SCANNED:
            return Step()
        return Step(after=structs.replace(status, cursor=scanned))

    async def _read(self, after: int, most: int, last: int | None = None) -> tuple[list[Placed], int]:
        """What is to be sent after a number, and up to which number that was looked at."""
        if not (self._ahead_after <= after and len(_between(self._ahead, after, last)) >= most):
            await self._read_ahead(after, most, last)
        found = _between(self._ahead, after, last)[:most]
        if len(found) == most:
            return found, found[-1].sequence
        return found, self._ahead_end if last is None else last

    async def _read_ahead(self, after: int, most: int, last: int | None) -> None:
        """At least so many, and the rest of their page, which the next messages of this look are made of."""
        scope = self._scope
        only = next(iter(scope.namespaces)) if len(scope.namespaces) == 1 else ""
        wanted = Filter(types=scope.types, namespace=only)
        self._ahead, self._ahead_after, self._ahead_end = [], after, after
        while len(self._ahead) < most and (last is None or self._ahead_end < last):
            page = await self._means.trail.page(wanted, after=self._ahead_end, limit=PAGE)
            self._ahead += [one for one in map(scope.placed, page) if one]
            if len(page) < PAGE:
                # All up to the head was looked at: what is asked for later is not asked for in retrospect.
                self._ahead_end = max(self._ahead_end, self._head, *(entry.sequence for entry in page))
                return
            self._ahead_end = page[-1].sequence

    async def _take(self, step: Step, status: SinkStatus) -> None:
        """Send, and record what became of it."""
        occasions = tuple(explained(one.occasion, self._means.base_url) for one in step.members)
        uid = self._scope.notification.metadata.uid
        parcel = Parcel(parcel_id(uid, self._sink.name, occasions[0]), occasions)
        done = step.after or status
        last = Instant(status.last_delivery_time) if status.last_delivery_time else None
        is_old = is_given_up(step.members[-1].recorded, self._means.clock.now(), last)
        if is_old and self._old >= _TRIED:  # these have tried for all of that age
            await self._give_up(done, parcel, self._away)
            return
        try:
            thread = await self._send(parcel, status)
        except RefusedError as error:
            why = hide(str(error), self._config)
            await self._give_up(done, parcel, why)
        except AwayError as error:
            why = hide(str(error), self._config)
            now = self._means.clock.now()
            if is_old:
                self._away, self._old = f"given up after a day: {why}", self._old + 1
                await self._give_up(done, parcel, self._away)
                return
            self._count("delayed", why)
            kept = failed(status, why, now, spread=self._means.spread(), asked=error.after)
            await self._ledger.record(kept)
        else:
            now = self._means.clock.now()
            await self._ledger.record(delivered(done, now, self._thread(parcel, thread)))
            self._memory.sent = ("", "")
            self._count("sent")

    async def _give_up(self, done: SinkStatus, parcel: Parcel, why: str) -> None:
        self._count("dropped", why)
        await self._ledger.record(dropped(done, parcel, why, self._means.clock.now()))

    async def _send(self, parcel: Parcel, status: SinkStatus) -> str:
        sent, thread = self._memory.sent
        if sent == parcel.id:
            return thread  # taken before, and only its record was missing
        config = self._config = self._config or await self._read_config()
        said = await self._text(parcel, markup_of(config))
        known = next((one.ts for one in status.threads if one.key == _key(parcel)), "")
        try:
            thread = await deliver(self._means.clients, config, parcel, said, self._means.clock.now(), known)
        except (AwayError, RefusedError):
            raise
        except Exception as error:  # noqa: BLE001 — one sink's surprise must not stop those beside it
            raise AwayError(f"unexpected {type(error).__name__} while it was sent") from None
        self._memory.sent = (parcel.id, thread)
        return thread

    async def _read_config(self) -> Config:
        where = self._scope.notification.metadata.namespace
        reference = self._sink.secret_ref
        named = f"the Secret {where}/{reference.name}"
        try:
            secret = await self._means.client.get(SECRETS, reference.name, where)
        except NotFound:
            raise AwayError(f"{named} is not there: create it") from None
        except Forbidden:
            raise AwayError(
                f"the web process may not read {named}: run kubectl create rolebinding hibernator-notifier "
                f"-n {where} --clusterrole=hibernator-notifier --serviceaccount={self._means.account}"
            ) from None
        except ApiError as error:
            raise AwayError(f"{named} cannot be read: {error.reason or type(error).__name__}") from None
        if reference.key not in secret.data:
            raise AwayError(f"{named} has no key {reference.key!r}: add it")
        try:
            return read_config(self._sink.type, secret.data[reference.key])
        except ConfigError as error:
            raise AwayError(f"{named}, key {reference.key}: {error}") from None

    async def _text(self, parcel: Parcel, markup: str) -> str:
        """By the user's template; where that is broken, by the built-in one, with the reason."""
        built_in = text(parcel, MARKUPS[markup])
        if (reference := self._sink.template_ref) is None:
            return built_in
        where = self._scope.notification.metadata.namespace
        try:
            found = await self._means.client.get(CONFIG_MAPS, reference.name, where)
            template = template_in(found.data, reference.key)
            return await self._means.templates.render(template, parcel, markup)
        except (TemplateError, ApiError) as error:
            why = str(error) if isinstance(error, TemplateError) else error.message
            _log.warning("template not used", sink=self._sink.name, template=reference.name, why=why)
            note = f"The template {reference.name} was not used: {why}"
            return f"{built_in}\n{MARKUPS[markup].escape(note)}"

    def _thread(self, parcel: Parcel, ts: str) -> SlackThread | None:
        is_bot = isinstance(self._config, SlackConfig) and self._config.token
        key = _key(parcel)
        known = any((one.key, one.ts) == (key, ts) for one in self._ledger.sink(self._sink.name).threads)
        return SlackThread(key=key, ts=ts) if is_bot and ts and key and not known else None

    def _count(self, result: str, why: str = "") -> None:
        self._means.metrics.count(SENT, self._sink.type, result)
        if why:
            _log.warning("notification not sent", sink=self._sink.name, result=result, why=why)
        else:
            _log.info("notification sent", sink=self._sink.name)


def _between(found: Sequence[Placed], after: int, last: int | None) -> list[Placed]:
    return [one for one in found if one.sequence > after and (last is None or one.sequence <= last)]


def _urgent(spec: HibernateNotificationSpec) -> Sequence[NotificationEvent]:
    """What quiet hours let through; also of those that were removed from the spec while they went on."""
    return spec.quiet_hours.urgent if spec.quiet_hours else URGENT


def _key(parcel: Parcel) -> str:
    """Of the thread: one for each cycle of a plan; groups have none."""
    first = parcel.first
    return f"{first.uid}/{first.cycle}" if len(parcel.occasions) == 1 and first.cycle is not None else ""
