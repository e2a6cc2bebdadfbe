"""Sleepers that their owners want awake: seen as soon as they write it, in the cluster of the operator.

A watch by the label of sleepers brings only what sleeps, and of that only the metadata. It begins with the
first look for strays, which knows the kinds. In other clusters it is that look, every quarter of an hour,
which finds them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.core import CustomResourceDefinition
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.kind import Kind, partial
from hibernator.api.meta import Object
from hibernator.controllers.hibernateplan_restore import Stored
from hibernator.controllers.shared import BY_PLAN
from hibernator.decisions.sleepmark import LABEL, SleepMark, read_mark
from hibernator.decisions.staying import EXCLUDE, FORCE_AWAKE, wants_to_be_awake
from hibernator.executors.sleepers import BUILT_INS
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.controller import Key
from hibernator.kube.store import lean

_NOTHING: Final[Mapping[str, str]] = {}


class Staying:
    def __init__(
        self,
        client: Client,
        namespace: str,
        definitions: Cache[CustomResourceDefinition],
        follow: Callable[[Cache[Object]], None],
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._definitions = definitions
        self._follow = follow
        self._caches: dict[str, Cache[Object]] = {}
        self.found: Callable[[Key], object] = lambda _key: None  # called with the plans to look at

    def watch(self, kinds: Iterable[Kind[Object]]) -> None:
        """Follow the sleepers of these kinds, as far as the cluster has them."""
        for kind in kinds:
            known = kind.resource in BUILT_INS or self._definitions.get("", kind.resource)
            if kind.resource in self._caches or not known:
                continue
            cache = Cache(self._client, partial(kind), self._namespace, label_selector=LABEL, keep=_kept)
            cache.index(BY_PLAN, _plan_of)
            cache.on_change(lambda _old, new: self._changed(new))
            self._caches[kind.resource] = cache
            self._follow(cache)

    def targets(self, plan: HibernatePlan, stored: Mapping[str, Stored], now: Instant) -> Iterator[str]:
        """The targets that have put something to sleep which is to be awake now."""
        own = f"{plan.metadata.namespace}/{plan.metadata.name}"
        for cache in self._caches.values():
            for sleeper in cache.find(BY_PLAN, own):
                annotations = sleeper.metadata.annotations
                mark = read_mark(annotations)
                if mark and is_kept(plan, stored, mark) and wants_to_be_awake(annotations, now):
                    yield mark.target

    def _changed(self, new: Object | None) -> None:
        for own in _plan_of(new) if new else ():
            self.found(Key(*own.split("/", 1)))


def is_kept(plan: HibernatePlan, stored: Mapping[str, Stored], mark: SleepMark) -> bool:
    """Whether the plan says what the mark says: who may edit the workload may edit the mark."""
    known = stored.get(mark.target)
    return mark.uid == plan.metadata.uid and known is not None and mark.item in known.kept.sleeping


def _kept(sleeper: Object) -> Object:
    """Of most sleepers nothing is asked but that they are there: thousands cost little then."""
    if any(_plan_of(sleeper)):
        return lean(sleeper)
    return replace(sleeper, metadata=replace(sleeper.metadata, labels=_NOTHING, annotations=_NOTHING))


def _plan_of(sleeper: Object) -> Iterator[str]:
    annotations = sleeper.metadata.annotations
    if FORCE_AWAKE in annotations or EXCLUDE in annotations:
        mark = read_mark(annotations)
        if mark and "/" in mark.plan:
            yield mark.plan
