"""TimeWindowScaler: gather what the decision needs, take it, and perform it.

What is kept between two looks (readings, the moment of the last write) only saves work: a new process finds
all of it again from the objects.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random
from typing import Any, Final

import aiohttp
from whenever import Instant

from hibernator.api.conversion import ANNOTATION, effective_spec, settled_annotation
from hibernator.api.core import CUSTOM_RESOURCE_DEFINITIONS, HORIZONTAL_POD_AUTOSCALERS
from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.api.timewindowscaler_v1beta1 import TimeWindowScalerSpec
from hibernator.controllers import shared
from hibernator.controllers.means import Means
from hibernator.controllers.measurements import Measurements, measurement_controller
from hibernator.controllers.targets import Targets, WorkloadName, is_refusal, scaled_by, setters
from hibernator.controllers.timewindowscaler_readings import Readings
from hibernator.decisions.scaler_mark import marked, newest, noting_before, put_back
from hibernator.decisions.scaling import Patch, Workload
from hibernator.decisions.timewindowscaler import MOST_SETS, decide, refused
from hibernator.decisions.timewindowscaler_case import REFUSED, Decision, Pace, Seen, Trouble
from hibernator.kube.cache import Cache
from hibernator.kube.controller import Controller, Key, Result, Watches
from hibernator.kube.errors import ApiError
from hibernator.kube.metrics import Metric
from hibernator.kube.reconciler import Pass, Reconciler

BACKOFF: Final = (30.0, 60.0, 120.0, 300.0)  # after errors that pass by themselves
BY_TARGET: Final = "target"

TRANSITIONS = Metric(
    "hibernator_scaler_transitions_total",
    "counter",
    ("direction",),
    "Targets scaled by a TimeWindowScaler: `up` or `down`.",
)
LAG_SECONDS = Metric(
    "hibernator_scaler_lag_seconds",
    "histogram",
    (),
    "From a boundary of a TimeWindowScaler to the write that answers it.",
)
DEGRADED = Metric(
    "hibernator_scaler_degraded_total",
    "counter",
    ("reason",),
    "Reconciles of a TimeWindowScaler that found a trouble, by reason.",
)
WRITES_SAVED = Metric(
    "hibernator_scaler_writes_saved_total",
    "counter",
    (),
    "Reconciles of a TimeWindowScaler after which nothing had to be written.",
)
METRICS: Final = (TRANSITIONS, LAG_SECONDS, DEGRADED, WRITES_SAVED)


class ScalerReconciler(Reconciler[TimeWindowScaler, Seen, Decision]):
    QUIET = 300.0

    def __init__(self, means: Means, readings: Readings, targets: Targets, pace: Pace) -> None:
        super().__init__(means.parts(shared.scalers(means.caches)), decide)
        self._readings = readings
        self._targets = targets
        self._recorder = means.recorder
        self._metrics = means.metrics
        self._pace = pace
        self._random = Random()
        self._wrote: dict[Key, Instant] = {}
        self._writing: set[Key] = set()
        self._sets: dict[Key, tuple[tuple[Instant, int], ...]] = {}

    def trails(self, key: Key) -> bool:
        """Whether the target is being written, or was, and the status does not tell so yet."""
        return key in self._wrote or key in self._writing

    async def forget(self, key: Key) -> None:
        self._readings.forget(key)
        self._wrote.pop(key, None)
        self._sets.pop(key, None)
        await self._put_back(key.namespace)

    async def gather(self, key: Key, scaler: TimeWindowScaler, now: Instant) -> Seen | Result:
        """All that there is to know; nothing while something is being read, which brings a look."""
        if scaler.metadata.deletion_timestamp:
            await self.forget(key)
            return Result()
        if scaler.status.observed_generation != scaler.metadata.generation:
            await self._put_back(key.namespace)  # of a target that it may have left
        if self._readings.are_awaited(scaler):
            return Result()
        spec = self._readings.spec(key, scaler)
        target = target_of(scaler, spec)
        workload, unreadable = await self._targets.read(target)
        wanted = self._readings.wanted(key, scaler, _baseline(scaler, workload), now)
        if wanted.awaited:
            return Result()
        marks = self._targets.marks(target)
        return Seen(
            scaler=scaler,
            timeline=wanted.timeline,
            default_replicas=wanted.default_replicas,
            workload=workload,
            target=str(target),
            unscalable=self._targets.unscalable(target),
            autoscaler=self._targets.autoscaler(target) if workload else None,
            before=self._targets.before(target),
            holiday_data=wanted.holiday_data,
            problems=wanted.problems,
            troubles=(*_unreadable(unreadable), *wanted.troubles),
            elder=self._elder(scaler, target),
            asleep_by=marks.asleep_by,
            wrote_at=self._wrote.get(key),
            sets=self._sets.get(key, ()),
            settling=len(self._wrote) - (key in self._wrote),
            mark=newest(marks.scalings, scaler.metadata.uid, scaler.status.scalings or 0),
            recorded=self.journals.recorded(scaler),
            jitter=self._random.random(),
            pace=self._pace,
        )

    def _elder(self, scaler: TimeWindowScaler, target: WorkloadName) -> str:
        """The name of the oldest scaler with this target, if it is another one."""
        found = self.cache.find(BY_TARGET, target.key)
        oldest = min(found, key=_age) if len(found) > 1 else scaler
        return "" if oldest.metadata.uid == scaler.metadata.uid else oldest.metadata.name

    async def perform(self, one: Pass[TimeWindowScaler, Seen, Decision]) -> TimeWindowScaler:
        """Write the target, in the order of the decision; returns the scaler as it is then."""
        key, scaler, seen, decision = one.key, one.found, one.seen, one.decision
        if (annotation := settled_annotation(scaler)) != scaler.metadata.annotations.get(ANNOTATION):
            # Drop what an edit through v1alpha1 has overruled, so that no later edit brings it back.
            change = {"annotations": {ANNOTATION: annotation}}
            scaler = await self.objects.write_metadata(scaler, change)
        if decision.first:
            scaler = await self.objects.write_status(scaler, decision.first)
        before = seen.before if decision.writes else None
        writes = noting_before(decision.writes, seen.autoscaler, before, key.name)
        for patch in marked(writes, decision.mark) if decision.mark else ():
            self._writing.add(key)
            try:
                await self._write_target(patch, seen, scaler)
            finally:
                self._writing.discard(key)
            self._wrote[key] = self.clock.now()
        if decision.writes and decision.mark:
            self._sets[key] = (*seen.sets, (self.clock.now(), decision.mark.wanted))[-MOST_SETS:]
            self._count(decision)
        return scaler

    async def follow(self, one: Pass[TimeWindowScaler, Seen, Decision]) -> float | None:
        if one.decision.status:
            if not one.wrote and not one.decision.first:
                self._metrics.count(WRITES_SAVED)
            self._wrote.pop(one.key, None)
        for trouble in one.seen.troubles:
            self._metrics.count(DEGRADED, trouble.reason)
        return one.decision.after

    async def _put_back(self, namespace: str) -> None:
        """Set autoscalers that no scaler has any more as they were before one came."""
        for left in self._targets.set_in(namespace):
            if self.cache.find(BY_TARGET, left.target.key):
                continue
            await self._targets.write(put_back(left.autoscaler, left.before))
            message = f"Set as it was before TimeWindowScaler {left.before.scaler} scaled {left.target}."
            self._recorder.note(left.kind, left.found, "Normal", "AutoscalerRestored", message)

    async def _write_target(self, patch: Patch, seen: Seen, scaler: TimeWindowScaler) -> None:
        """Write, or say in the status that it may not be."""
        try:
            await self._targets.write(patch)
        except ApiError as error:
            if is_refusal(error):
                self._metrics.count(DEGRADED, REFUSED)
                status = refused(replace(seen, scaler=scaler), error.message, self.clock.now())
                if status != scaler.status:
                    await self.objects.write_status(scaler, status)
            raise

    def _count(self, decision: Decision) -> None:
        for notice in decision.notices:
            if notice.reason in {"ScaledUp", "ScaledDown"}:
                self._metrics.count(TRANSITIONS, "up" if notice.reason == "ScaledUp" else "down")
        if decision.due:
            self._metrics.observe(LAG_SECONDS, (self.clock.now() - decision.due).total("seconds"))


def scaler_controllers(
    means: Means, *, session: aiohttp.ClientSession, pace: Pace, follow: Callable[[Cache[Any]], None]
) -> tuple[Controller, Controller]:
    """The controller with its watches, and the one that reads numbers for it.

    The watches of targets are begun with `follow` when they are first named.
    """
    measurements = Measurements(session)
    scalers = shared.scalers(means.caches)
    scalers.index(BY_TARGET, target_keys)
    autoscalers = means.caches.of(HORIZONTAL_POD_AUTOSCALERS)
    definitions = means.caches.of(CUSTOM_RESOURCE_DEFINITIONS)

    def of_target(target: WorkloadName) -> tuple[Key, ...]:
        return tuple(map(_key, scalers.find(BY_TARGET, target.key)))

    def holidays_changed(of: Key) -> None:
        for scaler in scalers.find(shared.BY_HOLIDAYS, f"{of.namespace}/{of.name}"):
            controller.queue.add(_key(scaler))

    def siblings(scaler: TimeWindowScaler) -> Iterator[Key]:
        """Those with the same target too: when the oldest goes, the next one's turn has come."""
        yield _key(scaler)
        for target in target_keys(scaler):
            yield from map(_key, scalers.find(BY_TARGET, target))

    def target_changed(keys: Iterable[Key]) -> None:
        for key in keys:
            # What has just been written is recorded afterwards: others still have to be written.
            controller.queue.add(key, can_wait=reconciler.trails(key))

    targets = Targets(
        means.client,
        definitions,
        autoscalers,
        follow=follow,
        changed=lambda target: target_changed(of_target(target)),
        set_by=lambda key: controller.queue.add(key, can_wait=reconciler.trails(key)),
        namespace=means.caches.namespace,
    )
    reconciler = ScalerReconciler(means, Readings(means.days_off, measurements), targets, pace)
    controller = means.controller(
        "timewindowscaler",
        reconciler.reconcile,
        [
            Watches(scalers, siblings),
            Watches(autoscalers, lambda found: (*of_target(scaled_by(found)), *setters(found))),
            Watches(definitions, lambda _definition: ()),
        ],
        backoff=BACKOFF,
    )
    means.days_off.on_change(holidays_changed)
    reading = measurement_controller(measurements, means.clock, means.metrics)
    measurements.connect(ask=reading.queue.add, notify=controller.queue.add)
    return controller, reading


def _key(scaler: TimeWindowScaler) -> Key:
    return Key(scaler.metadata.namespace, scaler.metadata.name)


def target_of(scaler: TimeWindowScaler, spec: TimeWindowScalerSpec) -> WorkloadName:
    ref = spec.target_ref
    return WorkloadName(ref.api_version, ref.kind, scaler.metadata.namespace, ref.name)


def target_keys(scaler: TimeWindowScaler) -> Iterable[str]:
    """For the index by target. Someone who is being deleted claims nothing any more."""
    if not scaler.metadata.deletion_timestamp:
        yield target_of(scaler, effective_spec(scaler)).key


def _age(scaler: TimeWindowScaler) -> tuple[str, str]:
    created = scaler.metadata.creation_timestamp
    return created.isoformat() if created else "", scaler.metadata.name


def _unreadable(why: str) -> tuple[Trouble, ...]:
    return (Trouble(reason="TargetUnreadable", message=why),) if why else ()


def _baseline(scaler: TimeWindowScaler, workload: Workload | None) -> int:
    if scaler.status.baseline_replicas is not None:
        return scaler.status.baseline_replicas
    return workload.replicas if workload else 0
