"""The exceptions that a plan shows: those that are active, and the last that were.

Exceptions that are over stay for as long as people keep them. However many there are, a look at the plan
costs no more for it.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator

from hibernator.api.scheduleexception import ScheduleException
from hibernator.controllers.shared import ACTIVE, plan_key
from hibernator.decisions.hibernateplan_case import MOST_EXCEPTIONS
from hibernator.kube.store import Store


class PlanExceptions:
    """Make it before the controller, so that it hears of each change first."""

    def __init__(self, exceptions: Store[ScheduleException]) -> None:
        self._exceptions = exceptions
        self._over: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)  # when and which, in order
        exceptions.on_change(self._changed)

    def active(self, plan: str) -> tuple[ScheduleException, ...]:
        return self._exceptions.find(ACTIVE, plan)

    def last(self, plan: str) -> Iterator[ScheduleException]:
        """Of those that were active and expired, the last ones."""
        namespace = plan.partition("/")[0]
        for _, name in self._over.get(plan, ())[-MOST_EXCEPTIONS:]:
            found = self._exceptions.get(namespace, name)
            if found is not None:
                yield found

    def _changed(self, old: ScheduleException | None, new: ScheduleException | None) -> None:
        if old is not None and _is_over(old):
            places = self._over[plan_key(old)]
            del places[bisect_left(places, _place(old))]
            if not places:
                del self._over[plan_key(old)]
        if new is not None and _is_over(new):
            insort(self._over[plan_key(new)], _place(new))


def _is_over(one: ScheduleException) -> bool:
    return one.status.state == "Expired" and not one.metadata.deletion_timestamp


def _place(one: ScheduleException) -> tuple[str, str]:
    over = one.status.expired_at
    return over.isoformat() if over else "", one.metadata.name
