"""Strays: what bears the mark of a plan that is awake, that is gone, or that does not know it.

They are looked for when a replica begins to lead, and every quarter of an hour, by one list of each kind with
the label of sleepers: the API server answers that from memory, and only with what sleeps. Clouds are asked
for the sleepers of each plan by its uid, because accounts are shared by clusters; for those of plans that are
gone, by the id of our cluster (`strays_left`). What is done about a stray is decided in the reconcile of its
plan.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import structlog
from whenever import Instant

from hibernator.api.cloudprovider import PROVIDERS
from hibernator.api.core import CUSTOM_RESOURCE_DEFINITIONS
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.k8scluster import CLUSTERS
from hibernator.controllers import shared
from hibernator.controllers.hibernateplan_keeping import Held, job_of
from hibernator.controllers.hibernateplan_restore import Stored
from hibernator.controllers.hibernateplan_runs import Runner
from hibernator.controllers.hibernateplan_staying import Staying, is_kept
from hibernator.controllers.means import Means
from hibernator.controllers.strays_left import CloudStray, LeftAtClouds
from hibernator.controllers.strays_places import Places, SearchPlace, places_of
from hibernator.decisions.hibernateplan_case import Run, is_suspended
from hibernator.decisions.hibernateplan_keeping import is_stray, is_woken_by_others, may_act
from hibernator.decisions.hibernateplan_restore import Kept
from hibernator.decisions.hibernateplan_status import Woken, standing
from hibernator.decisions.sleepmark import SleepMark
from hibernator.executors import sleepers
from hibernator.executors.connectors import Connectors
from hibernator.executors.protocol import ExecutorError, Item, Job, Saved
from hibernator.executors.registry import Registry
from hibernator.executors.sleepers import Sleeper, WokenBy
from hibernator.executors.workloads.writes import ODD
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, Key, Result, Watches
from hibernator.kube.metrics import Metric
from hibernator.kube.together import together

SWEEP: Final = Key("", "strays")
EVERY: Final = 900.0
_AT_ONCE: Final = 4  # clusters, and plans whose accounts are asked
SOON: Final = 10.0  # seconds, after which plans that were not read yet have been

STRAYS = Metric(
    "hibernator_strays",
    "gauge",
    ("of",),
    "Things that sleep although they should not, by the plan that put them to sleep: `plan` is there and is "
    "awake or does not know them, `none` is gone.",
)

ReadAgain = Callable[[HibernatePlan], Awaitable[None]]  # raises if the plan has changed since

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    key: str  # as the restore data names it
    plan: str  # namespace/name, as its mark says
    asleep: bool = True
    excluded: bool = False
    confirmed: bool = False  # while restore data names it, the plan itself looks again whether it is awake
    woken_by: WokenBy | None = None  # only of what others have woken
    wake: Callable[[], Awaitable[object]] = field(compare=False)


@dataclass(slots=True)
class _Swept:
    """What a sweep has found so far."""

    found: dict[Key, list[Stray]] = field(default_factory=dict)
    called: dict[Key, list[Sleeper]] = field(default_factory=dict)
    orphans: list[str] = field(default_factory=list)  # the plan of each, which is gone
    unseen: set[Key] = field(default_factory=set)  # plans of which not everything could be seen


class Strays:
    """Those of the last sweep that were not dealt with since."""

    def __init__(
        self,
        plans: Cache[HibernatePlan],
        places: Places,
        registry: Registry,
        staying: Staying,
        clock: Clock,
        left: LeftAtClouds,
    ) -> None:
        self.left = left
        self._staying = staying
        self._plans = plans
        self._places = places
        self._registry = registry
        self._clock = clock
        self._found: dict[Key, list[Stray]] = {}
        self._called: dict[Key, list[Sleeper]] = {}
        self._orphans: list[str] = []
        self._looked_at: frozenset[Key] = frozenset()  # the plans that the last sweep could ask
        self._pause = SOON  # until the next sweep, while some plan could not be asked
        self.kept: Callable[[Key], Collection[str] | None] = lambda _key: None  # what a plan knows of
        self.found: Callable[[Key], object] = lambda _key: None  # called with the plans that have strays

    def count(self, of: str) -> int:
        return len(self._orphans) if of == "none" else sum(map(len, self._found.values()))

    def of(self, plan: HibernatePlan, kept: Collection[str]) -> tuple[Stray, ...]:
        """The strays of a plan as it is now; what is none any more is forgotten."""
        key = Key(plan.metadata.namespace, plan.metadata.name)
        known = self._found.get(key)
        if not known:
            return ()
        left = [one for one in known if _is_out_of_place(plan, kept, one)]
        self._keep(key, left)
        return tuple(left)

    def woken(self, plan: HibernatePlan, held: Held) -> tuple[Woken, ...] | None:
        """What others woke of a plan that sleeps; None before the first sweep, which alone can tell."""
        if Key(plan.metadata.namespace, plan.metadata.name) not in self._looked_at:
            return None
        slept = {
            key: (name, entry)
            for name, one in (held.stored or {}).items()
            for key, entry in one.kept.sleeping.items()
        }
        return tuple(
            Woken(
                item=one.key,
                by=one.woken_by.manager,
                at=one.woken_by.at,
                target=slept[one.key][0],
                saving=slept[one.key][1].saving,
            )
            for one in self.of(plan, held.items)
            if one.woken_by is not None and one.key in slept
        )

    def due(self, plan: HibernatePlan, stored: Mapping[str, Stored], now: Instant) -> frozenset[str]:
        """The targets of a plan that have put something to sleep which is to be awake now."""
        called = self._called.get(Key(plan.metadata.namespace, plan.metadata.name), ())
        marks = [one.mark for one in called if one.awake_until and one.awake_until > now]
        targets = {mark.target for mark in marks if is_kept(plan, stored, mark)}
        return frozenset(targets.union(self._staying.targets(plan, stored, now)))

    def forget(self, plan: HibernatePlan, strays: Collection[Stray]) -> None:
        """They were woken; where that failed, the next sweep finds them again."""
        key = Key(plan.metadata.namespace, plan.metadata.name)
        self._keep(key, [one for one in self._found.get(key, ()) if one not in strays])

    async def wake(self, plan: HibernatePlan, strays: Iterable[Stray]) -> None:
        """Wake them from their marks. What fails is found again by the next sweep."""
        for stray in strays:
            try:
                await stray.wake()
            except (ExecutorError, *ODD) as error:
                log.warning("stray was not woken", item=stray.key, plan=stray.plan, why=str(error))
            else:
                log.warning("stray was woken", item=stray.key, plan=stray.plan)
                self.forget(plan, (stray,))

    async def settle(
        self, plan: HibernatePlan, held: Held, runner: Runner, read_again: ReadAgain, now: Instant
    ) -> float:
        """Wake what should not sleep, and put to sleep again what others woke, where the plan says so.

        Returns the seconds until the plan can say what became of it.
        """
        found = self.of(plan, held.items)
        if not found or not may_act(plan, suspended=is_suspended(plan, now)):
            return float("inf")
        awake = standing(plan.status, held.items) == "Awake"
        strays = [one for one in found if one.excluded or (awake and one.woken_by is None)]
        again = [one for one in found if one.woken_by is not None and not one.excluded]
        if plan.spec.behavior.on_woken_by_others != "SleepAgain":
            again = []
        if not strays and not again:
            return float("inf")
        await read_again(plan)
        await self.wake(plan, strays)
        keys = {one.key for one in again}
        for name, one in (held.stored or {}).items():
            if some := {key: entry for key, entry in one.kept.sleeping.items() if key in keys}:
                job = job_of(plan, Run(name=name, operation="Wake"), held.stored or {}, now)
                failed = await runner.keep_asleep(job, Kept(target=one.kept.target, entries=some))
                log.warning("put to sleep again", target=name, items=len(some), failed=len(failed))
        self.forget(plan, again)
        return 1.0

    async def sweep(self, _key: Key) -> Result:
        known, swept = self._known(), _Swept()
        turns = asyncio.Semaphore(_AT_ONCE)

        async def look(at: Awaitable[None]) -> None:
            async with turns:
                await at

        places = places_of(self._plans.values())
        quiet = [plan for plan in self._plans.values() if plan.status.current_operation is None]
        await together(
            [
                *(look(self._look_in(place, swept)) for place in places),
                *(look(self._look_at_clouds(plan, swept)) for plan in quiet),
                *map(look, self.left.looks()),
            ]
        )
        await self._take_left(swept)
        for key in swept.unseen:  # what was found before holds, until it can be seen again
            swept.found.setdefault(key, self._found.get(key, []))
            swept.called.setdefault(key, self._called.get(key, []))
        before, self._found = self._found, {key: found for key, found in swept.found.items() if found}
        self._orphans, self._called = swept.orphans, swept.called
        known &= self._known()
        self._looked_at = (known - swept.unseen) | (known & self._looked_at)
        self._say({**before, **self._found, **self._called})
        if not swept.unseen and len(known) == len(self._plans):
            self._pause = SOON
            return Result(EVERY)
        pause, self._pause = self._pause, min(self._pause * 2, EVERY)  # one that cannot be read stays so
        return Result(pause)

    async def _look_in(self, place: SearchPlace, swept: "_Swept") -> None:
        async def take(client: Client, sleeper: Sleeper) -> None:
            key, plan = self._plan_of(sleeper.mark)
            # In another cluster the plans of another operator may have put things to sleep, too.
            if place.cluster and (plan is None or plan.metadata.uid != sleeper.mark.uid):
                return
            stray = _in_cluster(client, sleeper)
            if plan is None:
                swept.orphans.append(stray.plan)
            elif _is_out_of_place(plan, kept := self.kept(key), stray):
                others = is_woken_by_others(plan, kept, stray.key, asleep=stray.asleep)
                by = await sleepers.woken_by(client, sleeper) if others else None
                swept.found.setdefault(key, []).append(replace(stray, woken_by=by))
            elif sleeper.awake_until:
                swept.called.setdefault(key, []).append(sleeper)

        if not await self._places.each(place, take, self._staying.watch):
            swept.unseen |= place.plans

    def _say(self, plans: Iterable[Key]) -> None:
        for key, strays in self._found.items():
            log.warning("strays found", plan=f"{key.namespace}/{key.name}", strays=len(strays))
        for key in plans:
            self.found(key)
        if orphans := self._orphans:
            gone = sorted(set(orphans))
            log.warning("sleepers of plans that are gone", strays=len(orphans), plans=gone[:10])

    def _known(self) -> frozenset[Key]:
        """The plans of which it is known what they keep."""
        keys = (Key(one.metadata.namespace, one.metadata.name) for one in self._plans.values())
        return frozenset(key for key in keys if self.kept(key) is not None)

    def on_found(self, found: Callable[[Key], object]) -> None:
        """Call this with every plan that has something to do about what was found."""
        self.found = self._staying.found = found

    async def _look_at_clouds(self, plan: HibernatePlan, swept: "_Swept") -> None:
        key = Key(plan.metadata.namespace, plan.metadata.name)
        for target in plan.spec.targets:
            job = job_of(plan, Run(name=target.name, operation="Wake"), {}, self._clock.now())
            found = await self._places.at_cloud(job)
            if found is None:
                swept.unseen.add(key)
            strays = [self._at_cloud(job, item) for item in found or ()]
            if out := [stray for stray in strays if _is_out_of_place(plan, self.kept(key), stray)]:
                swept.found.setdefault(key, []).extend(out)

    async def _take_left(self, swept: "_Swept") -> None:
        """Of plans that are gone: those that restore data names, and those of which only marks tell.

        What has an heir is a stray of that one.
        """
        named = await self._places.left_elsewhere(self._plans)
        swept.orphans += [plan for plan, _ in named]
        left: list[CloudStray] = []
        for one in self.left.found({plan.metadata.uid: plan for plan in self._plans.values()}):
            key, plan = self._plan_of(one.mark)
            if plan and (target := one.heir(plan)):
                run = Run(name=target.name, operation="Wake")
                job = job_of(plan, run, {}, self._clock.now())
                stray = self._at_cloud(replace(job, uid=one.mark.uid), one.item)
                if _is_out_of_place(plan, self.kept(key), stray):
                    swept.found.setdefault(key, []).append(stray)
            elif one.asleep and (one.mark.plan, one.item.key) not in named:
                left.append(one)
        swept.orphans += [one.mark.plan for one in left]
        self.left.report(left)

    def _at_cloud(self, job: Job, item: Item) -> Stray:
        wake, saved = self._registry[job.target.type].wake, Saved(key=item.key, restore=item.restore or {})
        waking = partial(wake, job, replace(saved, covered=False))
        return Stray(key=item.key, plan=job.owner, confirmed=True, wake=waking)

    def _keep(self, key: Key, strays: list[Stray]) -> None:
        if strays:
            self._found[key] = strays
        else:
            self._found.pop(key, None)

    def _plan_of(self, mark: SleepMark) -> tuple[Key, HibernatePlan | None]:
        namespace, _, name = mark.plan.partition("/")
        return Key(namespace, name), self._plans.get(namespace, name)


def _in_cluster(client: Client, sleeper: Sleeper) -> Stray:
    return Stray(
        key=sleeper.key,
        plan=sleeper.mark.plan,
        asleep=sleeper.asleep,
        excluded=sleeper.excluded,
        wake=partial(sleepers.wake, client, sleeper),
    )


def _is_out_of_place(plan: HibernatePlan, kept: Collection[str] | None, stray: Stray) -> bool:
    if stray.confirmed and kept and stray.key in kept:
        return False
    return is_stray(plan, kept, stray.key, excluded=stray.excluded) or is_woken_by_others(
        plan, kept, stray.key, asleep=stray.asleep
    )


def strays_of(
    means: Means,
    connectors: Connectors,
    registry: Registry,
    follow: Callable[[Cache[Any]], None],
    namespace: str,
) -> Strays:
    definitions = means.caches.of(CUSTOM_RESOURCE_DEFINITIONS)
    places = Places(
        means.client, connectors, registry, definitions, shared.restore_maps(means.caches), namespace
    )
    staying = Staying(means.client, namespace, definitions, follow)
    left = LeftAtClouds(registry, means.caches.of(PROVIDERS), means.caches.of(CLUSTERS), means.clock)
    strays = Strays(shared.plans(means.caches), places, registry, staying, means.clock, left)
    for of in ("plan", "none"):
        means.metrics.follow(STRAYS, lambda of=of: strays.count(of), of)  # type: ignore[misc]
    return strays


def strays_controller(means: Means, strays: Strays) -> Controller:
    """Sweeps; the first time when its key is added to its queue."""
    nothing = Watches(shared.plans(means.caches), lambda _plan: ())
    return means.controller("strays", strays.sweep, [nothing], workers=1)
