"""The caches that several controllers look into, with what the objects are looked up by."""

from collections.abc import Iterator
from typing import Final

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.api.timewindowscaler import SCALERS, TimeWindowScaler, TimeWindowScalerSpec
from hibernator.decisions.scheduleexception_line import is_open
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.controller import Key
from hibernator.kube.store import Store

BY_PLAN: Final = "plan"
ACTIVE: Final = "active"  # exceptions that are in force, by their plan; there are few
OPEN: Final = "open"  # exceptions that are not over, by their plan
LEAVING: Final = "leaving"  # exceptions that are being deleted, by their plan
BY_HOLIDAYS: Final = "holidays"


def plans(caches: Caches) -> Cache[HibernatePlan]:
    found = caches.of(PLANS)
    found.index(BY_HOLIDAYS, _holidays_of)
    return found


def scalers(caches: Caches) -> Cache[TimeWindowScaler]:
    found = caches.of(SCALERS)
    found.index(BY_HOLIDAYS, _holidays_of)
    return found


def exceptions(caches: Caches) -> Cache[ScheduleException]:
    found = caches.of(EXCEPTIONS)
    index_exceptions(found)
    return found


def index_exceptions(found: Store[ScheduleException]) -> None:
    """Of a plan's exceptions only those are looked up that matter; those that are over are never few."""
    found.index(ACTIVE, lambda one: (plan_key(one),) if is_open(one) and one.status.state == "Active" else ())
    found.index(OPEN, lambda one: (plan_key(one),) if is_open(one) else ())
    found.index(LEAVING, lambda one: (plan_key(one),) if one.metadata.deletion_timestamp else ())


def plan_key(exception: ScheduleException) -> str:
    """The plan that an exception bends, which lives beside it."""
    return f"{exception.metadata.namespace}/{exception.spec.plan_ref.name}"


def holiday_maps_of(schedule: HibernatePlan | TimeWindowScaler) -> Iterator[Key]:
    """The ConfigMap from which a plan or a scaler takes its holidays, if it names one."""
    spec = schedule.spec
    block = spec.holidays if isinstance(spec, TimeWindowScalerSpec) else spec.schedule.holidays
    if block and block.source_ref:
        yield Key(schedule.metadata.namespace, block.source_ref.name)


def _holidays_of(schedule: HibernatePlan | TimeWindowScaler) -> Iterator[str]:
    return (f"{key.namespace}/{key.name}" for key in holiday_maps_of(schedule))
