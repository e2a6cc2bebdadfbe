"""What a scaler may scale: a watch for each kind that is named, begun when it is first named.

A cluster where no one scales StatefulSets is not made to hold them in memory. Which other kinds exist, and
whether they can be scaled, is read from the watch on CustomResourceDefinitions, never asked.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from hibernator.api.core import (
    DAEMON_SETS,
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    SCALED_OBJECTS,
    STATEFUL_SETS,
    CustomResourceDefinition,
    DaemonSet,
    Deployment,
    HorizontalPodAutoscaler,
    Scale,
    ScaledObject,
    StatefulSet,
)
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.decisions import sleepmark
from hibernator.decisions.scaler_mark import Before, ScalingMark, read_before, read_mark
from hibernator.decisions.scaling import (
    ASLEEP_SELECTOR,
    KEDA_PAUSED_REPLICAS,
    Autoscaler,
    Horizontal,
    Keda,
    ObjectRef,
    Patch,
    Workload,
    paused_at,
)
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.controller import Key
from hibernator.kube.errors import ApiError, Forbidden, Invalid, NotFound

BUILT_IN: Final[dict[tuple[str, str], Kind[Any]]] = {
    (kind.api_version, kind.kind): kind for kind in (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS)
}
_SCALED_BY: Final = "scaled-by"
_SET: Final = "set-by-a-scaler"
_PATIENCE: Final = 10.0  # real seconds for the first list of a kind that was just named

_Autoscaling = HorizontalPodAutoscaler | ScaledObject


class WorkloadName(NamedTuple):
    """A workload by name, wherever it may live."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f'{self.kind} "{self.name}"'

    @property
    def key(self) -> str:
        """The versions of a group show the same object, so that the version does not count."""
        group = self.api_version.rpartition("/")[0]
        return f"{group}/{self.kind}/{self.namespace}/{self.name}"


class Marks(NamedTuple):
    scalings: tuple[ScalingMark | None, ...]
    asleep_by: str  # the plan that has put it to sleep


class SetAutoscaler(NamedTuple):
    """An autoscaler that a scaler has set, as it was found."""

    target: WorkloadName
    kind: Kind[Any]
    found: Object
    autoscaler: Autoscaler
    before: Before


class Targets:
    """Looks at targets and their autoscalers, and writes to them."""

    def __init__(
        self,
        client: Client,
        definitions: Cache[CustomResourceDefinition],
        autoscalers: Cache[HorizontalPodAutoscaler],
        *,
        follow: Callable[[Cache[Any]], None],
        changed: Callable[[WorkloadName], None],
        set_by: Callable[[Key], None],
        namespace: str = "",
    ) -> None:
        self._client = client
        self._definitions = definitions
        self._autoscalers = autoscalers
        self._changed = changed
        self._set_by = set_by
        self._caches: dict[str, Cache[Any]] = {autoscalers.kind.resource: autoscalers}
        self._follow = follow
        self._began: dict[str, float] = {}
        self._namespace = namespace
        autoscalers.index(_SCALED_BY, lambda hpa: (scaled_by(hpa).key,))
        autoscalers.index(_SET, _set_in)

    def kind_of(self, target: WorkloadName) -> Kind[Any] | None:
        """The kind, if the cluster knows it and it can be scaled."""
        if built_in := BUILT_IN.get((target.api_version, target.kind)):
            return built_in
        group, _, version = target.api_version.rpartition("/")
        for definition in self._definitions.values():
            spec = definition.spec
            if (spec.group, spec.names.kind) == (group, target.kind) and spec.scope == "Namespaced":
                for served in spec.versions:
                    if served.name == version and served.served and served.subresources.scale is not None:
                        return Kind(Object, group, version, target.kind, spec.names.plural)
        return None

    def unscalable(self, target: WorkloadName) -> str:
        """Why a kind cannot be scaled, if so, which no new object of it would change."""
        if self.kind_of(target):
            return ""
        group = target.api_version.rpartition("/")[0]
        kinds = {(each.spec.group, each.spec.names.kind) for each in self._definitions.values()}
        if (group, target.kind) in kinds or "." not in group or group.endswith(".k8s.io"):
            return (
                f"{target} cannot be scaled: the kind {target.kind} of {target.api_version} has no scale "
                "subresource that the operator uses. Let targetRef name a Deployment, a StatefulSet, a "
                "DaemonSet or a custom resource with a scale subresource."
            )
        return (
            f"{target} cannot be found: the cluster has no kind {target.kind} in {target.api_version}. "
            "Install it, or correct targetRef."
        )

    async def read(self, target: WorkloadName) -> tuple[Workload | None, str]:
        """The workload if it is there, or why no one can say anything about it."""
        if why := await self._unreadable(target):
            return None, why
        try:
            return await self._workload(target), ""
        except ApiError as error:
            if not is_refusal(error):
                raise
            return None, f"The API server does not report the number of {target}: {error.message}."

    async def _unreadable(self, target: WorkloadName) -> str:
        """Why no one can say anything about the target, if so. Anyone who asks first waits a little.

        Not longer: one kind that may not be read must not hold up the scalers of all others.
        """
        kinds = [kind for kind in (self.kind_of(target),) if kind]
        if self._definitions.get("", SCALED_OBJECTS.resource):
            kinds.append(SCALED_OBJECTS)
        for kind in kinds:
            cache = self._followed(kind)
            if cache.synced.is_set():
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._began[kind.resource] + _PATIENCE):
                    await cache.wait_synced()
            if not cache.synced.is_set():
                why = cache.trouble or "the API server has not answered yet"
                return (
                    f"The operator cannot read {kind.resource}: {why}. "
                    "If it is forbidden, let the operator's account get, list, watch and patch them."
                )
        return ""

    async def _workload(self, target: WorkloadName) -> Workload | None:
        kind = self.kind_of(target)
        if kind is None:
            return None
        found = self._followed(kind).get(target.namespace, target.name)
        match found:
            case None:
                return None
            case Deployment() | StatefulSet():
                asked = 1 if found.spec.replicas is None else found.spec.replicas
                return Workload(place=_place(kind, found), replicas=asked, running=found.status.replicas)
            case DaemonSet():
                awake = ASLEEP_SELECTOR not in found.spec.template.spec.node_selector
                return Workload(
                    place=_place(kind, found),
                    replicas=int(awake),
                    running=found.status.desired_number_scheduled,
                    by_node_selector=True,
                )
            case _:
                return await self._scale_of(kind, target)

    def autoscaler(self, target: WorkloadName) -> Autoscaler | None:
        """Who else sets the number. KEDA keeps a HorizontalPodAutoscaler of its own, so it is asked first."""
        found = next(self._autoscaling(target), None)
        return (
            None if found is None else _keda(found) if isinstance(found, ScaledObject) else _horizontal(found)
        )

    def before(self, target: WorkloadName) -> Before | None:
        """What a scaler recorded on the autoscaler of a target, if it ever set it."""
        found = next(self._autoscaling(target), None)
        return read_before(found.metadata.annotations) if found else None

    def _autoscaling(self, target: WorkloadName) -> Iterator[_Autoscaling]:
        if self._definitions.get("", SCALED_OBJECTS.resource):
            yield from self._followed(SCALED_OBJECTS).find(_SCALED_BY, target.key)
        yield from self._autoscalers.find(_SCALED_BY, target.key)

    def set_in(self, namespace: str) -> Iterator[SetAutoscaler]:
        """The autoscalers of a namespace that some scaler has set, but for those that a plan has asleep."""
        for hpa in self._autoscalers.find(_SET, namespace):
            yield from _left(HORIZONTAL_POD_AUTOSCALERS, hpa, _horizontal(hpa))
        if self._definitions.get("", SCALED_OBJECTS.resource):
            for scaled in self._followed(SCALED_OBJECTS).find(_SET, namespace):
                yield from _left(SCALED_OBJECTS, scaled, _keda(scaled))

    def marks(self, target: WorkloadName) -> Marks:
        """What scalers and plans left on the target and on what scales it, wherever they wrote last."""
        borne = [bearer.metadata.annotations for bearer in self._bearers(target)]
        sleeping = filter(None, map(sleepmark.read_mark, borne))
        return Marks(tuple(map(read_mark, borne)), next((mark.plan for mark in sleeping), ""))

    def _bearers(self, target: WorkloadName) -> list[Object]:
        """The target, and what scales it: where marks are left."""
        kind = self.kind_of(target)
        found = self._followed(kind).get(target.namespace, target.name) if kind else None
        return [*([found] if found else []), *self._autoscaling(target)]

    async def write(self, patch: Patch) -> None:
        place = patch.place
        cache = self._caches[place.resource]
        kind: Kind[Any] = cache.kind
        if place.subresource:
            kind = Kind(Scale, kind.group, kind.version, kind.kind, kind.plural)
        written = await self._client.patch(
            kind,
            place.name,
            place.namespace,
            patch.body,
            resource_version=place.resource_version,
            subresource=place.subresource,
        )
        if not place.subresource:
            cache.wrote(written)

    def _followed(self, kind: Kind[Any]) -> Cache[Any]:
        cache = self._caches.get(kind.resource)
        if cache is None:
            cache = self._caches[kind.resource] = Cache(self._client, kind, self._namespace)
            if kind is SCALED_OBJECTS:
                cache.index(_SCALED_BY, lambda scaled: (scaled_by(scaled).key,))
                cache.index(_SET, _set_in)
                cache.on_change(self._autoscaler_changed)
            else:
                cache.on_change(lambda old, new: self._workload_changed(kind, new or old))
            self._began[kind.resource] = asyncio.get_running_loop().time()
            self._follow(cache)
        return cache

    async def _scale_of(self, kind: Kind[Any], target: WorkloadName) -> Workload | None:
        scales = Kind(Scale, kind.group, kind.version, kind.kind, kind.plural)
        try:
            scale = await self._client.get(scales, target.name, target.namespace, subresource="scale")
        except NotFound:
            return None
        place = replace(_place(kind, scale), subresource="scale")
        return Workload(place=place, replicas=scale.spec.replicas, running=scale.status.replicas)

    def _workload_changed(self, kind: Kind[Any], found: Object | None) -> None:
        if found:
            metadata = found.metadata
            self._changed(WorkloadName(kind.api_version, kind.kind, metadata.namespace, metadata.name))

    def _autoscaler_changed(self, old: _Autoscaling | None, new: _Autoscaling | None) -> None:
        for autoscaler in (old, new):
            if autoscaler:
                self._changed(scaled_by(autoscaler))
                for key in setters(autoscaler):
                    self._set_by(key)


def is_refusal(error: ApiError) -> bool:
    """Whether the API server, or someone whom it asks, says no until people change something."""
    return isinstance(error, Forbidden | Invalid) or error.status == HTTPStatus.INTERNAL_SERVER_ERROR


def scaled_by(autoscaler: _Autoscaling) -> WorkloadName:
    """What an autoscaler sets the number of."""
    ref = autoscaler.spec.scale_target_ref
    return WorkloadName(ref.api_version, ref.kind, autoscaler.metadata.namespace, ref.name)


def setters(autoscaler: _Autoscaling) -> Iterator[Key]:
    """The scaler that set an autoscaler last, which may be gone."""
    if before := read_before(autoscaler.metadata.annotations):
        yield Key(autoscaler.metadata.namespace, before.scaler)


def _set_in(autoscaler: _Autoscaling) -> Iterator[str]:
    if read_before(autoscaler.metadata.annotations):
        yield autoscaler.metadata.namespace


def _left(kind: Kind[Any], found: _Autoscaling, autoscaler: Autoscaler) -> Iterator[SetAutoscaler]:
    before = read_before(found.metadata.annotations)
    if before and not sleepmark.read_mark(found.metadata.annotations):
        yield SetAutoscaler(scaled_by(found), kind, found, autoscaler, before)


def _keda(scaled: ScaledObject) -> Keda:
    paused = scaled.metadata.annotations.get(KEDA_PAUSED_REPLICAS, "")
    return Keda(place=_place(SCALED_OBJECTS, scaled), paused_at=paused_at(paused))


def _horizontal(hpa: HorizontalPodAutoscaler) -> Horizontal:
    place = _place(HORIZONTAL_POD_AUTOSCALERS, hpa)
    return Horizontal(place=place, minimum=hpa.spec.min_replicas, maximum=hpa.spec.max_replicas)


def _place(kind: Kind[Any], found: Object) -> ObjectRef:
    metadata = found.metadata
    return ObjectRef(
        resource=kind.resource,
        namespace=metadata.namespace,
        name=metadata.name,
        resource_version=metadata.resource_version,
    )
