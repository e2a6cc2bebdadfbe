"""The caches that several controllers look into, with what the objects are looked up by."""

from collections.abc import Iterable
from typing import Final

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.kube.cache import Cache
from hibernator.kube.caches import Caches

BY_PLAN: Final = "plan"
BY_HOLIDAYS: Final = "holidays"


def plans(caches: Caches) -> Cache[HibernatePlan]:
    found = caches.of(PLANS)
    found.index(BY_HOLIDAYS, _holidays_of)
    return found


def exceptions(caches: Caches) -> Cache[ScheduleException]:
    found = caches.of(EXCEPTIONS)
    found.index(BY_PLAN, lambda one: (plan_key(one),))
    return found


def plan_key(exception: ScheduleException) -> str:
    """The plan that an exception bends, which lives beside it."""
    return f"{exception.metadata.namespace}/{exception.spec.plan_ref.name}"


def _holidays_of(plan: HibernatePlan) -> Iterable[str]:
    """The ConfigMap with the holidays."""
    block = plan.spec.schedule.holidays
    if block and block.source_ref:
        yield f"{plan.metadata.namespace}/{block.source_ref.name}"
