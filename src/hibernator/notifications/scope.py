"""Whose events a HibernateNotification sends, from what the caches have."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from msgspec import structs

from hibernator.api.hibernatenotification import HibernateNotification
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import Object
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.api.selector import selects
from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.audit.chain import Entry
from hibernator.kube.cache import Cache
from hibernator.notifications.events import EVENTS, KINDS, placed
from hibernator.notifications.occasions import Placed
from hibernator.notifications.timing import GIVE_UP

_EXCEPTION: Final = "ScheduleException"
T = TypeVar("T", bound=Object)

BY_NAMESPACE: Final = "namespace"

Named = tuple[str, str, str]  # kind, namespace and name


@dataclass(frozen=True, slots=True)
class SelectableObjects:
    """What there is to select."""

    plans: Cache[HibernatePlan]
    scalers: Cache[TimeWindowScaler]
    approvals: Cache[RemediationApprovalRequest]
    exceptions: Cache[ScheduleException]

    def __post_init__(self) -> None:
        """Of five thousand plans, a look of one namespace is about fifty; for caches that are still empty."""
        for cache in (self.plans, self.scalers, self.approvals, self.exceptions):
            cache.index(BY_NAMESPACE, lambda one: (one.metadata.namespace,))

    def of(self, kind: str) -> Cache[Any]:
        caches: dict[str, Cache[Any]] = {
            "HibernatePlan": self.plans,
            "TimeWindowScaler": self.scalers,
            "RemediationApprovalRequest": self.approvals,
        }
        return caches[kind]


@dataclass(slots=True)
class Lately:
    """What one HibernateNotification has selected within the time that a message may wait.

    A plan that is deleted leaves its last events behind, and nothing else that says whose they are.
    """

    selected: dict[Named, float] = field(default_factory=dict)  # and when, in seconds
    plan_of: dict[Named, str] = field(default_factory=dict)  # the plan of an exception

    def see(self, scope: "Scope", now: float) -> None:
        for kind in scope.notification.spec.kinds:
            for found in scope.selected(kind):
                self.selected[kind, found.metadata.namespace, found.metadata.name] = now
        for exception in scope.exceptions():
            name = _EXCEPTION, exception.metadata.namespace, exception.metadata.name
            self.selected[name], self.plan_of[name] = now, exception.spec.plan_ref.name
        for name in [name for name, seen in self.selected.items() if now - seen > GIVE_UP]:
            del self.selected[name]
            self.plan_of.pop(name, None)


@dataclass(frozen=True, slots=True)
class Scope:
    """What one HibernateNotification selects; `namespaces` are all that it may look at."""

    notification: HibernateNotification
    objects: SelectableObjects
    namespaces: frozenset[str]
    lately: Lately = field(default_factory=Lately)

    def selected(self, kind: str) -> Iterator[Any]:
        if kind not in self.notification.spec.kinds:
            return
        for found in self._near(self.objects.of(kind)):
            if self._has(found):
                yield found

    def _near(self, cache: Cache[T]) -> Iterator[T]:
        for namespace in self.namespaces:
            yield from cache.find(BY_NAMESPACE, namespace)

    def plans(self) -> list[HibernatePlan]:
        return sorted(
            self.selected("HibernatePlan"), key=lambda plan: (plan.metadata.namespace, plan.metadata.name)
        )

    def exceptions(self) -> Iterator[ScheduleException]:
        """Those of the selected plans."""
        for found in self._near(self.objects.exceptions):
            plan = self.objects.plans.get(found.metadata.namespace, found.spec.plan_ref.name)
            if plan and "HibernatePlan" in self.notification.spec.kinds and self._has(plan):
                yield found

    def count(self) -> int:
        return sum(1 for kind in self.notification.spec.kinds for _ in self.selected(kind))

    @property
    def types(self) -> tuple[str, ...]:
        """The audit events that may matter."""
        wanted = set(self.notification.spec.on_events)
        return tuple(
            type_
            for type_, events in EVENTS.items()
            if wanted & {*events, *(("SleepSkipped",) if type_ == "hibernateplan.exception.applied" else ())}
        )

    def placed(self, entry: Entry) -> Placed | None:
        """The audit event as what is sent; None where it is not."""
        spec, about = self.notification.spec, entry.resource
        kind = KINDS.get(about.kind)
        if kind not in spec.kinds or about.namespace not in self.namespaces:
            return None
        name = self._plan_name(entry) if about.kind == _EXCEPTION else about.name
        if not self._selects(kind, about.namespace, name):
            return None
        found = placed(entry, spec.on_events, name if kind == "HibernatePlan" else "")
        if found and entry.type == "hibernateplan.wake.completed" and "Savings" in spec.on_events:
            data = {**found.occasion.data, **self._savings(about.namespace, name)}
            return structs.replace(found, occasion=structs.replace(found.occasion, data=data))
        return found

    def _savings(self, namespace: str, name: str) -> dict[str, float]:
        """What the plan has saved so far."""
        plan = self.objects.plans.get(namespace, name)
        savings = plan.status.savings if plan else None
        if savings is None:
            return {}
        amounts = {"cpuCoreHours": savings.cpu_core_hours, "memoryGiBHours": savings.memory_gib_hours}
        return {key: value for key, value in amounts.items() if value}

    def _plan_name(self, entry: Entry) -> str:
        about = entry.resource
        found = self.objects.exceptions.get(about.namespace, about.name)
        gone = self.lately.plan_of.get((_EXCEPTION, about.namespace, about.name), "")
        return found.spec.plan_ref.name if found else gone

    def _selects(self, kind: str, namespace: str, name: str) -> bool:
        """By its labels; what was deleted meanwhile counts where it had them, or where all do."""
        found = self.objects.of(kind).get(namespace, name)
        if found:
            return self._has(found)
        if (kind, namespace, name) in self.lately.selected:
            return True
        known = {(one.namespace, one.name) for one in self.notification.status.watched_plans}
        return (namespace, name) in known or selects(self.notification.spec.selector, {})

    def _has(self, found: Object) -> bool:
        metadata = found.metadata
        return metadata.namespace in self.namespaces and selects(
            self.notification.spec.selector, metadata.labels
        )
