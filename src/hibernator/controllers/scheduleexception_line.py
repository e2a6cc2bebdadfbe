"""The open exceptions of each plan in order, kept up to date with each change and never looked through.

However many there are, a change costs a search in a sorted list, and only those are queued whose turn it may
be: at most as many as a plan has places.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator

from hibernator.api.scheduleexception import ScheduleException
from hibernator.controllers.shared import plan_key
from hibernator.decisions.conditions import find
from hibernator.decisions.scheduleexception import Crowd
from hibernator.decisions.scheduleexception_line import (
    MOST_OF_PLAN,
    MOST_OF_REQUESTER,
    Turn,
    is_open,
    place,
)
from hibernator.decisions.scheduleexception_request import requester
from hibernator.decisions.scheduleexception_status import READY
from hibernator.kube.controller import Key
from hibernator.kube.store import Store

_WAITS = frozenset({"AnotherActive", "QuotaExceeded"})


class Line:
    """The lines of all plans. Make it before the controller, so that it hears of each change first."""

    def __init__(self, exceptions: Store[ScheduleException]) -> None:
        self._exceptions = exceptions
        self._by_plan: defaultdict[str, list[Turn]] = defaultdict(list)  # of each requester the first ones
        self._by_requester: defaultdict[tuple[str, str], list[Turn]] = defaultdict(list)
        self._next: tuple[Key, ...] = ()
        exceptions.on_change(self._changed)

    def crowd(self, one: ScheduleException) -> Crowd:
        plan, who, at = plan_key(one), requester(one), place(one)
        before = bisect_left(self._by_requester.get((plan, who), ()), at) if who else 0
        return Crowd(bisect_left(self._by_plan.get(plan, ()), at), before)

    def has_place(self, one: ScheduleException) -> bool:
        before, mine = self.crowd(one)
        return is_open(one) and before < MOST_OF_PLAN and mine < MOST_OF_REQUESTER

    def holders(self, plan: str) -> Iterator[ScheduleException]:
        """Those that have a place, the oldest first."""
        namespace = plan.partition("/")[0]
        for _, name in self._by_plan.get(plan, ())[:MOST_OF_PLAN]:
            found = self._exceptions.get(namespace, name)
            if found is not None:
                yield found

    def keys(self, one: ScheduleException) -> Iterator[Key]:
        """Whom to look at after a change: itself, and those whose turn or effect it may have changed."""
        yield _key(one)
        yield from self._next

    def _changed(self, old: ScheduleException | None, new: ScheduleException | None) -> None:
        if old is not None and is_open(old):
            self._remove(old)
        if new is not None and is_open(new):
            self._add(new)
        self._next = ()
        if _in_force(old) != _in_force(new) and (one := new or old):
            self._next = tuple(
                map(_key, self.holders(plan_key(one)))
            )  # what each changes, it changes beside it
        elif old is not None and _gave_way(old, new):
            self._next = tuple(self._affected(old, new))

    def _affected(self, old: ScheduleException, new: ScheduleException | None) -> Iterator[Key]:
        """Those that wait; and where an active one wants other times now, those who may want the same."""
        was_changed = new is not None and is_open(new)
        for one in self.holders(plan_key(old)):
            ready = find(one.status.conditions, READY)
            if was_changed or (ready is not None and ready.reason in _WAITS):
                yield _key(one)

    def _add(self, one: ScheduleException) -> None:
        plan, who, at = plan_key(one), requester(one), place(one)
        if who:
            own = self._by_requester[plan, who]
            insort(own, at)
            if bisect_left(own, at) >= MOST_OF_REQUESTER:
                return
            if len(own) > MOST_OF_REQUESTER:
                _drop(self._by_plan[plan], own[MOST_OF_REQUESTER])
        insort(self._by_plan[plan], at)

    def _remove(self, one: ScheduleException) -> None:
        plan, who, at = plan_key(one), requester(one), place(one)
        if who:
            own = self._by_requester[plan, who]
            had_place = bisect_left(own, at) < MOST_OF_REQUESTER
            _drop(own, at)
            if had_place and len(own) >= MOST_OF_REQUESTER:
                insort(self._by_plan[plan], own[MOST_OF_REQUESTER - 1])
            if not own:
                del self._by_requester[plan, who]
        _drop(self._by_plan[plan], at)
        if not self._by_plan[plan]:
            del self._by_plan[plan]


def _in_force(one: ScheduleException | None) -> tuple[str, int] | None:
    """What bends the schedule, if it does."""
    if one is None or one.status.state != "Active" or one.metadata.deletion_timestamp:
        return None
    return one.metadata.uid, one.metadata.generation


def _gave_way(old: ScheduleException, new: ScheduleException | None) -> bool:
    """Whether it stands in the way of others less than before, or otherwise."""
    if not is_open(old):
        return False
    if new is None or not is_open(new) or old.metadata.generation != new.metadata.generation:
        return True
    return old.status.state == "Active" != new.status.state


def _drop(places: list[Turn], at: Turn) -> None:
    index = bisect_left(places, at)
    if index < len(places) and places[index] == at:
        del places[index]


def _key(one: ScheduleException) -> Key:
    return Key(one.metadata.namespace, one.metadata.name)
