"""What sleep has saved today and this month, as `hibernator savings` counts it: from the trail.

The trail is read on while people look, past what was read before, and of each plan only the sleep that goes
on is kept: a month of thousands of plans is two sums for each.
"""

import asyncio
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Final

import structlog
from whenever import Instant, TimeDelta

from hibernator.api.meta import says
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.reading import PAGE, Filter, TrailReader
from hibernator.audit.sleeps import ENDS, SLEPT, read_sleep
from hibernator.decisions.prices import Prices
from hibernator.decisions.savings import Amount, Plan, SavingKey, Slept, Woke, count, spells
from hibernator.kube.clock import Clock
from hibernator.schedule.zones import day_and_month
from hibernator.web.dashboard.views import View

_EVERY: Final = 30.0  # seconds between two looks into the trail
_FIRST: Final = 1.0  # seconds for which the first page waits
_BACK: Final = TimeDelta(hours=62 * 24)  # a sleep that began before that is not known
_AT_ONCE: Final = 20  # plans
_HOUR: Final = 3600

_log: Final = structlog.get_logger(__name__)


class Worth(View):
    """What was not used, and about what it is worth."""

    core_hours: float = 0.0
    gib_hours: float = 0.0
    node_hours: float = 0.0
    worth: Annotated[float, says("By the prices of `pricesFile`, or by list prices.")] = 0.0

    def __add__(self, other: "Worth") -> "Worth":
        return Worth(
            core_hours=self.core_hours + other.core_hours,
            gib_hours=self.gib_hours + other.gib_hours,
            node_hours=self.node_hours + other.node_hours,
            worth=self.worth + other.worth,
        )


class SavedNow(View):
    """Days and months begin at midnight in the zone of each plan."""

    today: Worth
    month: Worth
    currency: str


@dataclass(slots=True)
class _Kept:
    zone: str = "UTC"
    day_began: int = 0  # seconds since the epoch
    month_began: int = 0
    day: Worth = field(default_factory=Worth)
    month: Worth = field(default_factory=Worth)
    events: list[Slept | Woke] = field(default_factory=list)  # of the sleep that goes on

    def begin(self, now: Instant) -> None:
        """Drop what was saved on another day or in another month."""
        day, month = day_and_month(now, self.zone)
        if day != self.day_began:
            self.day_began, self.day = day, Worth()
        if month != self.month_began:
            self.month_began, self.month = month, Worth()


class Counted:
    """What plans saved, from the events of each plan in their order."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._plans: dict[Plan, _Kept] = {}

    def add(self, event: Slept | Woke, now: Instant) -> None:
        kept = self._plans.setdefault(event.plan, _Kept())
        kept.events.append(event)
        if isinstance(event, Slept):
            kept.zone = event.rate.zone
            return
        kept.begin(now)
        if event.at > kept.month_began:
            day, month = self._going_on(kept, event.at)
            kept.day, kept.month = kept.day + day, kept.month + month
        kept.events.clear()

    def plans(self) -> tuple[Plan, ...]:
        return tuple(self._plans)

    def of(self, plan: Plan, now: Instant) -> tuple[Worth, Worth]:
        """Today and this month, the sleep that goes on included."""
        kept = self._plans[plan]
        kept.begin(now)
        day, month = self._going_on(kept, now.timestamp())
        return kept.day + day, kept.month + month

    def _going_on(self, kept: _Kept, until: int) -> tuple[Worth, Worth]:
        if not kept.events:
            return Worth(), Worth()
        found = list(spells(kept.events, until))
        day, month = (
            self._worth(count(found, (began, until)).items()) for began in (kept.day_began, kept.month_began)
        )
        return day, month

    def _worth(self, parts: Iterable[tuple[SavingKey, Amount]]) -> Worth:
        total = Worth()
        for place, amount in parts:
            total += Worth(
                core_hours=amount.millicores / 1000 / _HOUR,
                gib_hours=amount.mebibytes / 1024 / _HOUR,
                node_hours=amount.nodes / _HOUR,
                worth=self._prices.worth(place.type, amount),
            )
        return total


class Savings:
    """What one replica has counted; shared by all who look."""

    def __init__(self, trail: TrailReader, clock: Clock, prices: Prices) -> None:
        self._trail, self._clock, self._prices = trail, clock, prices
        self._counted = Counted(prices)
        self._read = 0  # up to which event
        self._was_asked = False
        self._asked, self._done = asyncio.Event(), asyncio.Event()
        self._totals: dict[str, tuple[Worth, Worth]] | None = None  # by namespace

    async def namespaces(self) -> Collection[str] | None:
        """Where something was saved; None until it was counted for the first time."""
        is_first, self._was_asked = not self._was_asked, True
        self._asked.set()
        if is_first:
            with suppress(TimeoutError):
                async with asyncio.timeout(_FIRST):
                    await self._done.wait()
        return None if self._totals is None else self._totals.keys()

    def of(self, namespaces: Iterable[str]) -> SavedNow:
        found = [(self._totals or {})[one] for one in namespaces]
        today, month = (sum((pair[which] for pair in found), Worth()) for which in (0, 1))
        return SavedNow(today=today, month=month, currency=self._prices.currency)

    async def run(self) -> None:
        """Read on while someone looks, until it is cancelled."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                await self._read_on()
            except AuditUnavailable as error:
                _log.warning("savings not counted", error=str(error))
            else:
                await self._add_up()
            self._done.set()
            await asyncio.sleep(_EVERY)

    async def _read_on(self) -> None:
        now = self._clock.now()
        wanted = Filter(types=(*SLEPT, *ENDS), since=now - _BACK)
        while found := await self._trail.page(wanted, after=self._read):
            for entry in found:
                self._counted.add(read_sleep(entry)[0], now)
            self._read = found[-1].sequence
            if len(found) < PAGE:
                return

    async def _add_up(self) -> None:
        now = self._clock.now()
        totals: dict[str, tuple[Worth, Worth]] = {}
        for number, plan in enumerate(self._counted.plans()):
            day, month = self._counted.of(plan, now)
            before = totals.get(plan.namespace, (Worth(), Worth()))
            totals[plan.namespace] = before[0] + day, before[1] + month
            if not number % _AT_ONCE:
                await asyncio.sleep(0)  # pages come first
        self._totals = totals
