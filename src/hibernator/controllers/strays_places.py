"""Where strays are looked for: in our own cluster, in those that plans reach, and at clouds.

Servers that users name may be away, answer nonsense, or never come to an end. What such a place costs are the
strays of the plans that use it, and not those of everybody.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog

from hibernator.api.core import CustomResourceDefinition
from hibernator.api.hibernateplan import HibernatePlan, Target
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.parameters import KarpenterParameters, PatchesParameters, WorkloadScalerParameters
from hibernator.controllers.hibernateplan_restore import RestoreData
from hibernator.decisions.hibernateplan_restore import PLAN_LABEL
from hibernator.executors import sleepers
from hibernator.executors.connectors import Connectors
from hibernator.executors.insist import typed
from hibernator.executors.patches import kind_named
from hibernator.executors.protocol import ExecutorError, Item, Job, check_count, parameters
from hibernator.executors.registry import Registry
from hibernator.executors.sleepers import Sleeper, Where
from hibernator.executors.workloads.kinds import workload_kind
from hibernator.executors.workloads.writes import ODD
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.controller import Key

_PATIENCE: Final = 60.0  # real seconds for a cluster that users have named

Named = Callable[[Iterable[Kind[Object]]], None]
Take = Callable[[Client, Sleeper], Awaitable[None]]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """A cluster, or our own, and what plans have there."""

    cluster: Key | None
    targets: list[Target] = field(default_factory=list)
    plans: set[Key] = field(default_factory=set)


class Places:
    def __init__(
        self,
        client: Client,
        connectors: Connectors,
        registry: Registry,
        definitions: Cache[CustomResourceDefinition],
        restore_maps: Cache[Object],
        namespace: str,
    ) -> None:
        self._own = client
        self._connectors = connectors
        self._registry = registry
        self._definitions = definitions
        self._restore = RestoreData(client)
        self._restore_maps = restore_maps
        self._namespace = namespace
        self._kinds: dict[str, Where] = {}  # of our own cluster, which were named or had sleepers
        self._first = True

    async def each(self, place: SearchPlace, take: Take, named: Named) -> bool:
        """Hand over everything that bears a mark in a place; False if not all of it could be seen."""
        if place.cluster is None:
            async for sleeper in self._at_home(place, named):
                await take(self._own, sleeper)
            return True
        try:
            async with asyncio.timeout(_PATIENCE):
                client = (await self._connectors.cluster(*place.cluster)).client
                number = 0
                with typed():
                    async for sleeper in sleepers.find(client, await _wheres(client, place.targets)):
                        check_count(number := number + 1)
                        await take(client, sleeper)
        except (ExecutorError, TimeoutError, *ODD) as error:
            log.warning(
                "strays cannot be looked for in a cluster",
                namespace=place.cluster.namespace,
                cluster=place.cluster.name,
                why=str(error) or "it did not answer in time",
            )
            return False
        return True

    async def _at_home(self, place: SearchPlace, named: Named) -> AsyncIterator[Sleeper]:
        """What sleeps in our own cluster.

        A target may have left its plan, and restore data may be gone with it. So the first look of a process
        goes through all kinds; and what was ever named, or found, is looked at as long as it lives.
        """
        wanted = await _wheres(self._own, place.targets)
        named(where.kind for where in wanted if where is not sleepers.POOLS_WHERE)
        self._kinds |= {where.kind.resource: where for where in wanted}
        wheres = list(self._kinds.values())
        if self._first:
            every = sleepers.of_definitions(self._definitions.values())
            others = [where for where in every if where.kind.resource not in self._kinds]
            wheres += [one for one in others if await self._own.may_i("list", one.kind, self._namespace)]
        async for sleeper in sleepers.find(self._own, wheres, self._namespace):
            self._kinds.setdefault(sleeper.where.kind.resource, sleeper.where)
            yield sleeper
        self._first = False

    async def left_elsewhere(self, plans: Cache[HibernatePlan]) -> list[tuple[str, str]]:
        """The plan and the key of each thing at a cloud, or in another cluster, whose plan is gone.

        Accounts and clusters are shared: there a mark does not say whether its plan was one of ours. Restore
        data does, which outlives its plan.
        """
        names = {
            (one.metadata.namespace, one.metadata.labels.get(PLAN_LABEL, ""))
            for one in self._restore_maps.values()
        }
        left: list[tuple[str, str]] = []
        for namespace, name in sorted(names):
            if plans.get(namespace, name) is None:
                left += await self._left_elsewhere(namespace, name)
        return left

    async def _left_elsewhere(self, namespace: str, plan: str) -> list[tuple[str, str]]:
        stored, unreadable = await self._restore.load(namespace, plan)
        for target, one in unreadable.items():
            log.warning(
                "restore data of a plan that is gone cannot be read",
                plan=f"{namespace}/{plan}",
                target=target,
                why=one.why,
            )
        away = [one.kept for one in stored.values() if one.kept.target.connector_ref]
        return [(f"{namespace}/{plan}", key) for kept in away for key in kept.sleeping]

    async def at_cloud(self, job: Job) -> tuple[Item, ...] | None:
        """What bears the mark of a target at its cloud; None if that could not be seen."""
        try:
            executor = self._registry[job.target.type]
            return () if executor.lingers is None else await executor.asleep(job)
        except (ExecutorError, *ODD) as error:
            log.warning(
                "strays cannot be looked for at a cloud",
                plan=job.owner,
                target=job.target.name,
                why=str(error) or repr(error),
            )
            return None


def places_of(plans: Iterable[HibernatePlan]) -> list[SearchPlace]:
    """Our own cluster, and those that the plans reach."""
    places: dict[Key | None, SearchPlace] = {None: SearchPlace(None)}
    for plan in plans:
        namespace = plan.metadata.namespace
        for target in plan.spec.targets:
            ref = target.connector_ref
            if ref and ref.kind != "K8SCluster":
                continue
            cluster = Key(ref.namespace or namespace, ref.name) if ref else None
            place = places.setdefault(cluster, SearchPlace(cluster))
            place.targets.append(target)
            place.plans.add(Key(namespace, plan.metadata.name))
    return list(places.values())


async def _wheres(client: Client, targets: Iterable[Target]) -> tuple[Where, ...]:
    """The usual kinds, and those that the targets name."""
    wheres = {where.kind.resource: where for where in sleepers.USUAL}
    for target in targets:
        try:
            wanted = parameters(target)
            if isinstance(wanted, KarpenterParameters):
                wheres[sleepers.POOLS_WHERE.kind.resource] = sleepers.POOLS_WHERE
            elif isinstance(wanted, PatchesParameters):
                where = sleepers.of_patched(kind_named(wanted.api_version, wanted.resource))
                wheres.setdefault(where.kind.resource, where)
            elif isinstance(wanted, WorkloadScalerParameters):
                for name in wanted.included_groups:
                    where = sleepers.of_workload_kind(await workload_kind(client, name))
                    wheres.setdefault(where.kind.resource, where)
        except ExecutorError:  # which the plan itself says in its status
            continue
    return tuple(wheres.values())
