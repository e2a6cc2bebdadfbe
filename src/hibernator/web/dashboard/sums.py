"""What all plans that a person may see come to, and the next 24 hours of those that change first.

It is computed once for all who see the same namespaces, until a plan or an exception changes: when a thousand
open pages come back after one change, they ask for the same.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest
from typing import Final

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.decisions.hibernateplan_status import saved_by
from hibernator.kube.clock import steady
from hibernator.web.dashboard.changes import Version
from hibernator.web.dashboard.lanes import QUARTERS, Lanes, Piece, Quarters, pieces
from hibernator.web.dashboard.viewer import Viewer
from hibernator.web.dashboard.views import PlanRow, SavedView, is_failed, next_change, plan_row
from hibernator.web.site import Site

_LANES: Final = 16  # plans in the strip; the bar above them is of all
_FAILED: Final = 12
_AT_A_TIME: Final = 0.02  # seconds after which other pages come first
_MOST: Final = 16  # sums that are remembered
_TOPICS: Final = ("plans", "exceptions")

_Key = tuple[Version, Instant, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    plans: int
    phases: Counter[str | None]
    failed: tuple[PlanRow, ...]  # the first of them
    failures: int
    next: tuple[PlanRow, ...]
    saved: SavedView
    start: Instant  # of the lanes
    lanes: Mapping[str, tuple[Piece, ...]]  # of those that change next, by uid
    shares: tuple[float, ...]  # of all plans, how many sleep in each quarter of an hour


class Sums:
    def __init__(self, site: Site, lanes: Lanes) -> None:
        self._site = site
        self._lanes = lanes
        self._known: OrderedDict[_Key, Sum] = OrderedDict()

    async def of(self, who: Viewer) -> Sum:
        now, plans = self._site.clock.now(), await who.plans()
        seen = frozenset(plan.metadata.namespace for plan in plans)
        key = self._site.changes.version(_TOPICS), now.round("minute", mode="floor"), seen
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = await self._sum(plans, now)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        return found

    async def _sum(self, plans: Sequence[HibernatePlan], now: Instant) -> Sum:
        failed = sorted(filter(is_failed, plans), key=_name)
        changing = nsmallest(_LANES, (plan for plan in plans if next_change(plan)), key=_next)
        start, days, breath = lane_start(now), [], steady()
        lanes: dict[str, tuple[Piece, ...]] = {}
        soon = {plan.metadata.uid for plan in changing}
        for plan in plans:
            metadata = plan.metadata
            exceptions = self._site.cases.of_plan(metadata.namespace, metadata.name)
            days.append(self._lanes.sleeps(plan, exceptions, start))
            if metadata.uid in soon:
                lanes[metadata.uid] = pieces(self._lanes.day(plan, exceptions, start), start)
            if steady() - breath > _AT_A_TIME:  # the first page of a day computes all of them
                await asyncio.sleep(0)
                breath = steady()
        return Sum(
            plans=len(plans),
            phases=Counter(plan.status.phase for plan in plans),
            failed=tuple(plan_row(plan) for plan in failed[:_FAILED]),
            failures=len(failed),
            next=tuple(plan_row(plan) for plan in changing),
            saved=_saved(plans, now),
            start=start,
            lanes=lanes,
            shares=asleep_share(days),
        )


def lane_start(now: Instant) -> Instant:
    """Lanes begin with the hour, so that their lines are whole hours."""
    return now.round("hour", mode="floor")


def asleep_share(days: Sequence[Quarters]) -> tuple[float, ...]:
    """Which part of all plans sleeps in each quarter of an hour of a day."""
    change = [0] * (QUARTERS + 1)
    for day in days:
        for first, last in day:
            change[first] += 1
            change[last] -= 1
    shares, asleep = [], 0
    for step in change[:QUARTERS]:
        asleep += step
        shares.append(asleep / len(days) if days else 0.0)
    return tuple(shares)


def _saved(plans: Sequence[HibernatePlan], now: Instant) -> SavedView:
    found = [saved for plan in plans if (saved := saved_by(plan.status, now))]
    return SavedView(
        core_hours=round(sum(one.cpu_core_hours or 0.0 for one in found), 1),
        gib_hours=round(sum(one.memory_gib_hours or 0.0 for one in found), 1),
        node_hours=round(sum(one.node_hours or 0.0 for one in found), 1),
        since=min((one.since for one in found if one.since), default=None),
    )


def _name(plan: HibernatePlan) -> tuple[str, str]:
    return plan.metadata.namespace, plan.metadata.name


def _next(plan: HibernatePlan) -> tuple[datetime, str, str]:
    following = next_change(plan)
    assert following  # noqa: S101  only those that have one are sorted
    return following.at, *_name(plan)
