"""Tells people what happened, as Kubernetes Events, without keeping a reconcile waiting.

A reconcile only notes an event. A task of its own writes what was noted as soon as a moment passes without
another, so that a boundary which thousands cross is not held up by telling of it. While the API server is
away the newest are kept and the oldest dropped: events are for people, and the truth is in the status of the
objects.

The name of an Event is made from what it says and about what. So the same event counts up the Event that is
there already, also after a restart and from another replica, and "not again within five minutes" holds
across both.
"""

import asyncio
import hashlib
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import structlog
from whenever import Instant

from hibernator.api.core import EVENTS, Event, EventSource, ObjectReference
from hibernator.api.kind import Kind
from hibernator.api.meta import Object, ObjectMeta
from hibernator.kube.backoff import backoff
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock, steady
from hibernator.kube.errors import AlreadyExists, ApiError, Conflict, NotFound, Throttled, Unavailable
from hibernator.kube.metrics import EVENTS_DROPPED, EVENTS_WRITTEN, Metrics

log = structlog.get_logger(__name__)

_COMPONENT: Final = "hibernator"
_WAITING: Final = 10_000  # events that wait to be written; a boundary that thousands cross makes as many
_REMEMBERED: Final = 4_096  # Events and objects that are remembered, the most recent ones
# As in client-go: an object may have this many events at a time, and one more every so many seconds.
_BURST: Final = 25
_REFILL: Final = 300.0
_LONGEST_MESSAGE: Final = 1_024  # what the API's newer form of Events allows
_LONGEST_NAME: Final = 200  # of an object, in the name of its Event, which may have 253 characters
_TRIES: Final = 3
_LULL: Final = 0.2  # real seconds without another event, after which they are written
_LONGEST_LULL: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Noted:
    """What waits to be written: an event, or several of the same."""

    name: str
    about: ObjectReference
    type: str
    reason: str
    message: str
    first: Instant
    last: Instant
    count: int
    quiet: float

    @property
    def namespace(self) -> str:
        return self.about.namespace or "default"

    def after(self, earlier: "_Noted") -> "_Noted":
        return replace(self, first=earlier.first, count=earlier.count + self.count)


@dataclass(frozen=True, slots=True)
class _Written:
    """An Event in the API server, as far as we know."""

    count: int
    last: Instant | None
    resource_version: str


@dataclass(slots=True)
class _Allowance:
    """How many more events an object may have, and since when."""

    left: float
    at: Instant


class Recorder:
    def __init__(self, client: Client, clock: Clock, metrics: Metrics, *, instance: str) -> None:
        self._client = client
        self._clock = clock
        self._metrics = metrics
        self._instance = instance
        self._waiting: OrderedDict[str, _Noted] = OrderedDict()
        self._written: OrderedDict[str, _Written] = OrderedDict()
        self._allowances: OrderedDict[str, _Allowance] = OrderedDict()
        self._some = asyncio.Event()
        self._none = asyncio.Event()
        self._none.set()
        self._hurried = asyncio.Event()
        self._noted = steady()

    def note(
        self,
        kind: Kind[Any],
        obj: Object,
        type_: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        *,
        quiet: float = 0.0,
    ) -> None:
        """Have an event written soon; not if the very same was there less than `quiet` seconds ago."""
        now = self._clock.now()
        about = ObjectReference(
            api_version=kind.api_version,
            kind=kind.kind,
            namespace=obj.metadata.namespace,
            name=obj.metadata.name,
            uid=obj.metadata.uid,
            resource_version=obj.metadata.resource_version,
        )
        message = message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…"
        name = _name(about, type_, reason, message)
        if _within(quiet, self._last(name), now):
            return
        if not self._allowed(about.uid or f"{about.namespace}/{about.name}", now):
            self._metrics.count(EVENTS_DROPPED, "spam")
            return
        self._wait(_Noted(name, about, type_, reason, message, now, now, 1, quiet))

    async def run(self) -> None:
        """Write what was noted, one after the other, for ever."""
        failures = 0
        while True:
            if not self._waiting:
                await self._some.wait()
                await self._lull()
            name, noted = self._waiting.popitem(last=False)
            try:
                await self._write(noted)
            except (Throttled, Unavailable) as error:
                self._wait_again(name, noted)
                failures += 1
                log.warning("events have to wait", why=str(error), waiting=len(self._waiting))
                await asyncio.sleep(backoff(failures))
                continue
            except ApiError as error:
                self._metrics.count(EVENTS_DROPPED, "refused")
                log.warning("an event was refused", why=str(error), reason=noted.reason)
            failures = 0
            self._show()

    async def _lull(self) -> None:
        """Let those go first who keep to the clock."""
        latest = steady() + _LONGEST_LULL
        while (left := min(self._noted + _LULL, latest) - steady()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._hurried.wait()
                return

    async def flush(self, seconds: float) -> None:
        """Wait until everything is written, but not for long."""
        self._hurried.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._none.wait()

    def _last(self, name: str) -> Instant | None:
        if noted := self._waiting.get(name):
            return noted.last
        return self._written[name].last if name in self._written else None

    def _allowed(self, who: str, now: Instant) -> bool:
        allowance = self._allowances.setdefault(who, _Allowance(_BURST, now))
        self._allowances.move_to_end(who)
        if len(self._allowances) > _REMEMBERED:
            self._allowances.popitem(last=False)
        gained = (now - allowance.at).total("seconds") / _REFILL
        allowance.left, allowance.at = min(_BURST, allowance.left + gained), now
        if allowance.left < 1:
            return False
        allowance.left -= 1
        return True

    def _wait(self, noted: _Noted) -> None:
        self._noted = steady()
        earlier = self._waiting.get(noted.name)
        self._waiting[noted.name] = noted.after(earlier) if earlier else noted
        self._shorten()

    def _wait_again(self, name: str, noted: _Noted) -> None:
        """Put back what could not be written, before everything that came after it."""
        later = self._waiting.get(name)
        self._waiting[name] = later.after(noted) if later else noted
        self._waiting.move_to_end(name, last=False)
        self._shorten()

    def _shorten(self) -> None:
        while len(self._waiting) > _WAITING:
            _, dropped = self._waiting.popitem(last=False)
            self._metrics.count(EVENTS_DROPPED, "full", by=dropped.count)
        self._show()

    def _show(self) -> None:
        if self._waiting:
            self._some.set()
            self._none.clear()
        else:
            self._some.clear()
            self._none.set()

    async def _write(self, noted: _Noted) -> None:
        """Create the Event, or count it up; each time someone else was quicker, look again."""
        for _ in range(_TRIES):
            written = self._written.get(noted.name)
            try:
                event = await (self._count_up(noted, written) if written else self._create(noted))
            except AlreadyExists:
                last = await self._look(noted)
                if _within(noted.quiet, last, noted.first):
                    return
            except (Conflict, NotFound):
                if not self._written.pop(noted.name, None):
                    raise
            else:
                self._metrics.count(EVENTS_WRITTEN)
                self._remember(event)
                return
        raise Conflict("others write the same Event all the time")

    async def _create(self, noted: _Noted) -> Event:
        event = Event(
            metadata=ObjectMeta(name=noted.name, namespace=noted.namespace),
            involved_object=noted.about,
            type=noted.type,
            reason=noted.reason,
            message=noted.message,
            count=noted.count,
            first_timestamp=noted.first.to_stdlib(),
            last_timestamp=noted.last.to_stdlib(),
            source=EventSource(component=_COMPONENT),
            reporting_component=_COMPONENT,
            reporting_instance=self._instance,
        )
        return await self._client.create(EVENTS, event)

    async def _count_up(self, noted: _Noted, written: _Written) -> Event:
        patch = {
            "count": written.count + noted.count,
            "lastTimestamp": noted.last.to_stdlib(),
            "reportingInstance": self._instance,
        }
        return await self._client.patch(
            EVENTS, noted.name, noted.namespace, patch, resource_version=written.resource_version
        )

    async def _look(self, noted: _Noted) -> Instant | None:
        with suppress(NotFound):  # gone again: it is an hour old
            self._remember(await self._client.get(EVENTS, noted.name, noted.namespace))
        return self._written[noted.name].last if noted.name in self._written else None

    def _remember(self, event: Event) -> None:
        last = Instant(event.last_timestamp) if event.last_timestamp else None
        self._written[event.metadata.name] = _Written(event.count, last, event.metadata.resource_version)
        self._written.move_to_end(event.metadata.name)
        if len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)


def _name(about: ObjectReference, *said: str) -> str:
    """A name that the same event about the same object always gets, and no other."""
    identity = "\0".join((about.uid, about.api_version, about.kind, about.namespace, about.name, *said))
    return f"{about.name[:_LONGEST_NAME]}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}"


def _within(quiet: float, last: Instant | None, now: Instant) -> bool:
    return quiet > 0 and last is not None and (now - last).total("seconds") < quiet
