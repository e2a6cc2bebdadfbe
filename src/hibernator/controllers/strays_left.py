"""What plans that are gone have left asleep at clouds, where their restore data is gone, too.

Accounts are shared by clusters, so the name of a plan in a mark says nothing. The mark also names the
cluster: what sleeps for a plan of our own cluster, and that plan is not there, was left. Connectors are asked
for it, because nothing else tells any more where to look. What was found stands in the status of its
connector.

It is only reported. A plan that is created again under the same name, and with a target of the same type that
leads to the same place, wakes it.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from hibernator.api.cloudprovider import CloudProvider
from hibernator.api.hibernateplan import HibernatePlan, Target
from hibernator.api.k8scluster import K8SCluster
from hibernator.api.meta import MOST_STRAYS, ConnectorReference, Stray
from hibernator.decisions.connectors import Name
from hibernator.decisions.sleepmark import SleepMark
from hibernator.executors.aws.account import AwsRefusedError
from hibernator.executors.gcp.project import GcpRefusedError
from hibernator.executors.protocol import Executor, ExecutorError, Item, Job, Marked
from hibernator.executors.registry import Registry
from hibernator.executors.workloads.writes import ODD
from hibernator.kube.cache import Cache
from hibernator.kube.clock import Clock

_TYPES: Final = {"aws": ("ec2", "asg", "rds"), "gcp": ("cloudsql",)}  # that bear marks
_LONGEST_PLAN, _LONGEST_ITEM, _LONGEST_TARGET = 317, 512, 63  # anyone who may write tags can write anything
_LAST_CYCLE: Final = 2**53

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CloudStray:
    """A thing that bears the mark of a plan which is not there by that uid."""

    at: Name  # the connector: kind, namespace and name
    type: str
    item: Item
    mark: SleepMark
    asleep: bool

    @property
    def shown(self) -> Stray:
        mark = self.mark
        return Stray(
            type=self.type,
            item=self.item.key[:_LONGEST_ITEM],
            plan=mark.plan[:_LONGEST_PLAN],
            target=mark.target[:_LONGEST_TARGET],
            cycle=max(0, min(mark.cycle, _LAST_CYCLE)),
        )

    def heir(self, plan: HibernatePlan) -> Target | None:
        """The target of a plan by the same name that leads to it."""
        for target in plan.spec.targets:
            ref = target.connector_ref
            there = ref and (ref.kind, ref.namespace or plan.metadata.namespace, ref.name)
            if (target.type, there) == (self.type, self.at):
                return target
        return None


class LeftAtClouds:
    """Asks every connector. What could not be seen is as it was seen last."""

    def __init__(
        self, registry: Registry, providers: Cache[CloudProvider], clusters: Cache[K8SCluster], clock: Clock
    ) -> None:
        self._registry = registry
        self._providers = providers
        self._clusters = clusters
        self._clock = clock
        self._seen: dict[tuple[Name, str], tuple[Marked, ...]] = {}
        # Rights that an account does not give: to ask for them each time would look like an attack.
        self._refused: set[tuple[str, int, str]] = set()
        self._reported: dict[Name, tuple[Stray, ...]] | None = None
        self.changed: Callable[[Name], object] = lambda _name: None

    def at(self, kind: str, namespace: str, name: str) -> tuple[Stray, ...] | None:
        """What the status of a connector shows; None before the first look."""
        return None if self._reported is None else self._reported.get((kind, namespace, name), ())

    def looks(self) -> Iterator[Awaitable[None]]:
        """One for each connector and type, to be awaited as many at a time as is seemly."""
        there = dict(self._places())
        self._seen = {place: found for place, found in self._seen.items() if place in there}
        return (self._look(*place, connector) for place, connector in there.items())

    def found(self, plans: Mapping[str, HibernatePlan]) -> Iterator[CloudStray]:
        """What was seen last and is of no plan that is there, each thing once; `plans` by uid."""
        once: set[tuple[str, str]] = set()
        for (at, type_), every in sorted(self._seen.items(), key=lambda one: one[0]):
            for one in every:
                if one.mark.uid not in plans and (type_, one.mark.item) not in once:
                    once.add((type_, one.mark.item))
                    yield CloudStray(at, type_, one.item, one.mark, one.asleep)

    def report(self, left: Iterable[CloudStray]) -> None:
        """Let the connectors say what was left where they lead."""
        by: dict[Name, list[Stray]] = {}
        for one in left:
            by.setdefault(one.at, []).append(one.shown)
        before, now = self._reported, {at: _first(strays) for at, strays in by.items()}
        self._reported = now
        if before is None:  # what the last process has written may be over
            names = {at for (at, _), _ in self._places()}
        else:
            names = {at for at in before.keys() | now.keys() if before.get(at) != now.get(at)}
        for at in sorted(names):
            self.changed(at)

    def _places(self) -> Iterator[tuple[tuple[Name, str], CloudProvider | K8SCluster]]:
        for provider in self._providers.values():
            for type_ in _TYPES[provider.spec.type]:
                yield (_name("CloudProvider", provider), type_), provider
        for cluster in self._clusters.values():
            if cluster.spec.eks:
                yield (_name("K8SCluster", cluster), "eks"), cluster

    async def _look(self, at: Name, type_: str, connector: CloudProvider | K8SCluster) -> None:
        right = connector.metadata.uid, connector.metadata.generation, type_
        if right in self._refused:
            return
        try:
            executor: Executor = self._registry[type_]
            self._seen[at, type_] = await executor.asleep_for_cluster(self._job(at, type_))
        except (ExecutorError, *ODD) as error:
            if isinstance(error, AwsRefusedError | GcpRefusedError):
                self._refused.add(right)
            log.info(
                "sleepers of plans that are gone cannot be looked for",
                connector="/".join(at[1:]),
                type=type_,
                why=str(error) or repr(error),
            )

    def _job(self, at: Name, type_: str) -> Job:
        kind, namespace, name = at
        ref = ConnectorReference(kind=kind, namespace=namespace, name=name)  # type: ignore[arg-type] # of two
        target = Target(name=type_, type=type_, parameters={}, connector_ref=ref)
        now = self._clock.now()
        return Job(
            namespace=namespace, plan="", uid="", cycle=0, target=target, attempt=1, began=now, now=now
        )


def _name(kind: str, connector: CloudProvider | K8SCluster) -> Name:
    return kind, connector.metadata.namespace, connector.metadata.name


def _first(strays: Iterable[Stray]) -> tuple[Stray, ...]:
    return tuple(sorted(strays, key=lambda one: (one.plan, one.type, one.item))[:MOST_STRAYS])
