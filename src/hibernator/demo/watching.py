"""Follows the scene through the runtime's own caches, as a controller would, and keeps what happened."""

from dataclasses import replace
from typing import Any, Final, Literal

from whenever import Instant

from hibernator.api.aianalysis import ANALYSES
from hibernator.api.core import DEPLOYMENTS, EVENTS, STATEFUL_SETS, Deployment, Event, StatefulSet
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.planstatus import HibernatePlanStatus, TargetStatus
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.api.timewindowscaler import SCALERS
from hibernator.demo.scene import PLAN, SCALER, SHOP, Scene
from hibernator.demo.view import Happening, View, Workload, opening
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock

_OURS: Final = "reportingComponent=hibernator"  # Kubernetes itself tells much that is not of this scene
_KEPT: Final = 200
_ECHO: Final = 4  # what was said so few lines ago is not said again: several objects report the same thing
_BY_PEOPLE: Final = {
    "requested": "asks for it",
    "approved": "agrees",
    "rejected": "says no",
    "cancelled": "calls it off",
}
_RESTS: Final[dict[Literal["Sleep", "Wake"], str]] = {"Sleep": "asleep", "Wake": "awake"}


class Watching:
    def __init__(self, client: Client, clock: Clock, scene: Scene) -> None:
        self._opening = opening(scene)
        self._clock = clock
        self._happenings: list[Happening] = []
        self._most: dict[str, int] = {}
        self._deployments = Cache(client, DEPLOYMENTS, label_selector=SHOP)
        self._stateful_sets = Cache(client, STATEFUL_SETS, label_selector=SHOP)
        self._plans = Cache(client, PLANS)
        self._scalers = Cache(client, SCALERS)
        self._exceptions = Cache(client, EXCEPTIONS)
        self._analyses = Cache(client, ANALYSES)
        self._requests = Cache(client, APPROVAL_REQUESTS)
        self._events = Cache(client, EVENTS, field_selector=_OURS)
        self._events.on_change(self._heard)
        self._plans.on_change(self._plan_changed)
        self._exceptions.on_change(self._exception_changed)

    @property
    def caches(self) -> tuple[Cache[Any], ...]:
        return (
            self._deployments,
            self._stateful_sets,
            self._plans,
            self._scalers,
            self._exceptions,
            self._analyses,
            self._requests,
            self._events,
        )

    def view(self) -> View:
        found: list[Deployment | StatefulSet] = [*self._deployments.values(), *self._stateful_sets.values()]
        workloads = {one.metadata.name: self._workload(one) for one in found}
        return replace(
            self._opening,
            now=self._clock.now(),
            workloads=tuple(workloads.get(one.name, one) for one in self._opening.workloads),
            plan=self._plans.get(*PLAN) or self._opening.plan,
            scaler=self._scalers.get(*SCALER) or self._opening.scaler,
            exceptions=tuple(self._exceptions.values()),
            analyses=tuple(self._analyses.values()),
            requests=tuple(self._requests.values()),
            happenings=tuple(self._happenings),
        )

    def _workload(self, found: Deployment | StatefulSet) -> Workload:
        name, wanted = found.metadata.name, found.spec.replicas or 0
        self._most[name] = max(wanted, self._most.get(name, 0))
        ready = found.status.ready_replicas
        return Workload(found.metadata.namespace, name, wanted, ready, self._most[name])

    def _happened(self, about: str, text: str, at: Instant | None = None, *, bad: bool = False) -> None:
        happening = Happening(at or self._clock.now(), about, text, bad)
        if any((one.about, one.text) == (about, text) for one in self._happenings[-_ECHO:]):
            return
        self._happenings = [*self._happenings[-_KEPT:], happening]

    def _heard(self, old: Event | None, new: Event | None) -> None:
        if new and (old is None or old.count != new.count):
            at = Instant(new.last_timestamp) if new.last_timestamp else None
            self._happened(self._subject(new), new.message, at, bad=new.type == "Warning")

    def _subject(self, event: Event) -> str:
        """What people call it: a request has a name that only programs like."""
        about = event.involved_object
        request = self._requests.get(about.namespace, about.name)
        return request.spec.ai_analysis_ref.name if request else about.name

    def _plan_changed(self, old: HibernatePlan | None, new: HibernatePlan | None) -> None:
        """Events say when everything is asleep; here each step of the order is shown, too."""
        if old is None or new is None:
            return
        operation = new.status.current_operation or old.status.current_operation
        before = _states(old.status)
        for target in new.status.targets:
            if (
                operation
                and target.state == "Completed"
                and before.get(target.name) in {"Pending", "Running"}
            ):
                at = Instant(target.finished_at) if target.finished_at else None
                self._happened(
                    new.metadata.name, f"{target.name} is {_RESTS[operation]}{_count(target)}.", at
                )

    def _exception_changed(self, old: ScheduleException | None, new: ScheduleException | None) -> None:
        if new is None:
            return
        known = len(old.status.history) if old else 0
        for entry in new.status.history[known:]:
            if done := _BY_PEOPLE.get(entry.action):
                why = f": {entry.reason}" if entry.reason else "."
                self._happened(new.metadata.name, f"{entry.actor} {done}{why}", Instant(entry.timestamp))


def _states(status: HibernatePlanStatus) -> dict[str, str]:
    return {target.name: target.state for target in status.targets}


def _count(target: TargetStatus) -> str:
    total = target.items.total if target.items else None
    return f" ({total} workload{'' if total == 1 else 's'})" if total else ""
