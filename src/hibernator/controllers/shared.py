"""The caches that several controllers look into, with what the objects are looked up by, and the holidays.

A reconcile of a schedule takes the dates that are in the book and never waits; `daysoff_reader` brings them.
"""

from collections.abc import Callable, Iterator
from typing import Final

from hibernator.api.hibernateplan import PLANS, HibernatePlan, PlanHolidays
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.api.timewindowscaler import SCALERS, ScalerHolidays, TimeWindowScaler, TimeWindowScalerSpec
from hibernator.decisions.hibernateplan_restore import LABEL
from hibernator.decisions.scheduleexception_line import is_open, plan_key
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.controller import Key
from hibernator.kube.store import Store
from hibernator.schedule.calendars import Listed
from hibernator.schedule.holidays import DaysOff

RESTORE_MAPS: Final = Kind(Object, "", "v1", "ConfigMap", "configmaps")  # without the data
BY_PLAN: Final = "plan"
ACTIVE: Final = "active"  # exceptions that are in force, by their plan; there are few
OPEN: Final = "open"  # exceptions that are not over, by their plan
LEAVING: Final = "leaving"  # exceptions that are being deleted, by their plan
UNDECIDED: Final = "undecided"  # exceptions that policies still count for, by their namespace
BY_HOLIDAYS: Final = "holidays"


def plans(caches: Caches) -> Cache[HibernatePlan]:
    found = caches.of(PLANS)
    found.index(BY_HOLIDAYS, _holidays_of)
    return found


def restore_maps(caches: Caches) -> Cache[Object]:
    return caches.of(RESTORE_MAPS, label_selector=f"{LABEL}=true")


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
    found.index(UNDECIDED, lambda one: (one.metadata.namespace,) if one.status.state == "Pending" else ())
    found.index(LEAVING, lambda one: (plan_key(one),) if one.metadata.deletion_timestamp else ())


def holiday_maps_of(schedule: HibernatePlan | TimeWindowScaler) -> Iterator[Key]:
    """The ConfigMap from which a plan or a scaler takes its holidays, if it names one."""
    spec = schedule.spec
    block = spec.holidays if isinstance(spec, TimeWindowScalerSpec) else spec.schedule.holidays
    if block and block.source_ref:
        yield Key(schedule.metadata.namespace, block.source_ref.name)


def _holidays_of(schedule: HibernatePlan | TimeWindowScaler) -> Iterator[str]:
    return (f"{key.namespace}/{key.name}" for key in holiday_maps_of(schedule))


MISSING = DaysOff(Listed({}), version="missing", exists=False)


class DaysOffBook:
    def __init__(self) -> None:
        self._known: dict[Key, DaysOff] = {}
        self._handlers: list[Callable[[Key], None]] = []

    def on_change(self, handler: Callable[[Key], None]) -> None:
        """Call back with the ConfigMap of which something new is known."""
        self._handlers.append(handler)

    def get(self, namespace: str, name: str) -> DaysOff | None:
        """What is known of a ConfigMap; None as long as it was not read."""
        return self._known.get(Key(namespace, name))

    def put(self, key: Key, days_off: DaysOff) -> None:
        self._known[key] = days_off
        for handler in self._handlers:
            handler(key)

    def drop(self, key: Key) -> None:
        self._known.pop(key, None)

    def awaits(self, namespace: str, block: PlanHolidays | ScalerHolidays | None) -> bool:
        """Whether a schedule cannot be laid out yet: a day that may be a holiday is not taken for none."""
        return bool(block and block.source_ref and self.get(namespace, block.source_ref.name) is None)
