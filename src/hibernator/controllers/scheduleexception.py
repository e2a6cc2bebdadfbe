"""ScheduleException: gather what the decision needs, write label, finalizer and status, and tell people.

Exceptions of one plan are looked at one after the other, because each look depends on who is active.
"""

import asyncio
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Literal
from weakref import WeakValueDictionary

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.core import ConfigMap, Namespace
from hibernator.api.exceptionpolicy import ExceptionPolicy
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import (
    EXCEPTIONS,
    Impact,
    ScheduleException,
    ScheduleExceptionStatus,
)
from hibernator.approvals.people import Naming, People, everybody
from hibernator.approvals.policies import Policies
from hibernator.controllers import shared
from hibernator.controllers.journal_audit import record_deletion
from hibernator.controllers.means import Means
from hibernator.decisions.impact import beside, impact, workloads
from hibernator.decisions.scheduleexception import FINALIZER, PLAN_LABEL, Decision, OpenBefore, Seen, decide
from hibernator.decisions.scheduleexception_line import (
    MOST_OF_PLAN,
    MOST_OF_REQUESTER,
    Turn,
    is_agreed,
    is_held,
    is_open,
    place,
    plan_key,
)
from hibernator.decisions.scheduleexception_request import Rules, needs_approval, requester, settled
from hibernator.kube.controller import Controller, Key, Result, Watches
from hibernator.kube.reconciler import Pass, Reconciler
from hibernator.kube.store import Store
from hibernator.schedule.holidays import load_holidays
from hibernator.schedule.problems import check_exception, check_schedule


class Line:
    """The lines of all plans. Make it before the controller, so that it sees each change first."""

    def __init__(self, exceptions: Store[ScheduleException]) -> None:
        self._exceptions = exceptions
        self._by_plan: defaultdict[str, list[Turn]] = defaultdict(list)  # of each requester the first ones
        self._by_requester: defaultdict[tuple[str, str], list[Turn]] = defaultdict(list)
        self._next: tuple[Key, ...] = ()
        exceptions.on_change(self._changed)

    def open_before(self, one: ScheduleException) -> OpenBefore:
        plan, who, at = plan_key(one), requester(one), place(one)
        before = bisect_left(self._by_requester.get((plan, who), ()), at) if who else 0
        return OpenBefore(bisect_left(self._by_plan.get(plan, ()), at), before)

    def has_place(self, one: ScheduleException) -> bool:
        before, mine = self.open_before(one)
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
        """Those that are not in force; and where one wants other times now, those that may want the same."""
        was_changed = new is not None and is_open(new)
        for one in self.holders(plan_key(old)):
            if was_changed or one.status.state != "Active":
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
    """What overrides the schedule, if anything does."""
    if one is None or one.status.state != "Active" or one.metadata.deletion_timestamp:
        return None
    return one.metadata.uid, one.metadata.generation


def _gave_way(old: ScheduleException, new: ScheduleException | None) -> bool:
    """Whether it stands in the way of others less than before, or otherwise."""
    if not is_open(old):
        return False
    if new is None or not is_open(new) or old.metadata.generation != new.metadata.generation:
        return True
    if not is_held(old) and is_held(new):
        return True
    return (old.status.state == "Active" != new.status.state) or (is_agreed(old) and not is_agreed(new))


def _drop(places: list[Turn], at: Turn) -> None:
    index = bisect_left(places, at)
    if index < len(places) and places[index] == at:
        del places[index]


def _is_let_through(found: ScheduleException, after: ScheduleExceptionStatus) -> bool:
    """Whether policies that appear after this write no longer count for it, and did until now."""
    if settled(found):
        return False
    return after.approval_state == "Approved" or after.state == "Active" != found.status.state


def _key(exception: ScheduleException) -> Key:
    return Key(exception.metadata.namespace, exception.metadata.name)


class ExceptionReconciler(Reconciler[ScheduleException, Seen, Decision]):
    def __init__(self, means: Means, line: Line, people: People, rules: Rules, policies: Policies) -> None:
        super().__init__(means.parts(shared.exceptions(means.caches)), decide)
        self._line = line
        self._plans = shared.plans(means.caches)
        self._days_off = means.days_off
        self._people = people
        self._spool = means.spool
        self._rules = rules
        self._policies = policies
        self._client = means.client
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._impacts: dict[Key, tuple[object, Impact]] = {}

    async def reconcile(self, key: Key) -> Result:
        found = self.cache.get(*key)
        async with self._turn(found) if found else nullcontext():
            return await super().reconcile(key)

    async def forget(self, key: Key) -> None:
        self._impacts.pop(key, None)

    def _turn(self, exception: ScheduleException) -> AbstractAsyncContextManager[object]:
        """One after the other, those that could become active; however many others there are do not wait."""
        if not self._line.has_place(exception):
            return nullcontext()
        return self._turns.setdefault(plan_key(exception), asyncio.Lock())

    async def _on_record(self, exception: ScheduleException) -> Literal["yes", "not yet", "away"]:
        """Whether the approval that stands in the status is in the audit trail for good."""
        status = exception.status
        if not needs_approval(exception) and not status.approvals:
            return "yes"
        if status.approval_state != "Approved":
            return "not yet"
        if status.state == "Active":
            return "yes"
        return "yes" if await self.journals.record_now(exception) else "away"

    async def gather(self, key: Key, exception: ScheduleException, _now: Instant) -> Seen:
        on_record = await self._on_record(exception)
        plan = self._plans.get(key.namespace, exception.spec.plan_ref.name)
        problems = tuple(check_exception(exception.spec))
        return Seen(
            exception=exception,
            plan=plan,
            others=tuple(
                other
                for other in self._line.holders(plan_key(exception))
                if other.metadata.uid != exception.metadata.uid
            ),
            open_before=self._line.open_before(exception),
            people=everybody(exception, self._people.directory()),
            impact=self._impact(key, exception, plan) if plan and not problems else None,
            problems=problems,
            on_record=on_record == "yes",
            away=on_record == "away",
            recorded=self.journals.recorded(exception),
            rules=self._rules,
            policies=self._policies.of(key.namespace),
            namespace_labels=self._policies.labels(key.namespace),
            home=self._policies.home,
        )

    def _impact(self, key: Key, exception: ScheduleException, plan: HibernatePlan) -> Impact | None:
        """What it changes, worked out again only when it, its plan or the others in force have changed.

        What is over has changed what it changed, whatever is in force now.
        """
        if exception.status.impact and not is_open(exception):
            return exception.status.impact
        block = plan.spec.schedule.holidays
        if self._days_off.awaits(key.namespace, block):
            return exception.status.impact  # what is read of them brings the next look
        source = block.source_ref if block else None
        days_off = self._days_off.get(key.namespace, source.name) if source else None
        others = beside(exception, self._line.holders(plan_key(exception)))
        made_of = (
            others,
            (plan.metadata.uid, plan.metadata.generation),
            (exception.metadata.uid, exception.metadata.generation),
            days_off and days_off.version,
        )
        known = self._impacts.get(key)
        if known is None or known[0] != made_of:
            if any(check_schedule(plan.spec.schedule)):
                return None
            holidays, _ = load_holidays(block, days_off)
            known = self._impacts[key] = made_of, impact(plan, exception, holidays, others)
        return replace(known[1], workloads=workloads(plan.status))

    async def perform(self, one: Pass[ScheduleException, Seen, Decision]) -> ScheduleException | None:
        found, decision = one.found, one.decision
        kept = [name for name in found.metadata.finalizers if name != FINALIZER]
        if decision.release:
            await record_deletion(self._spool, EXCEPTIONS, found)
            await self.objects.write_metadata(found, {"finalizers": kept})
            return None
        if decision.status and _is_let_through(found, decision.status):
            namespace, seen = found.metadata.namespace, one.seen
            await self._policies.read_again(self._client, namespace, seen.policies, seen.namespace_labels)
        if not decision.label:
            return found
        labels = {PLAN_LABEL: found.spec.plan_ref.name}
        return await self.objects.write_metadata(found, {"labels": labels, "finalizers": [*kept, FINALIZER]})


def exception_controller(means: Means, *, rules: Rules, naming: Naming, roles: str, home: str) -> Controller:
    """The controller with its watches. `roles` is a ConfigMap at `home`, and so is that of `naming`."""
    exceptions = shared.exceptions(means.caches)
    plans = shared.plans(means.caches)
    line = Line(exceptions)
    policies = Policies(means.caches, home)
    people = People.of(means.caches, naming, roles, home)
    reconciler = ExceptionReconciler(means, line, people, rules, policies)

    def of_plan(plan: HibernatePlan) -> Iterator[Key]:
        """Those to which a plan matters: the others have ended, or have no place."""
        name = f"{plan.metadata.namespace}/{plan.metadata.name}"
        yield from map(_key, line.holders(name))
        yield from map(_key, exceptions.find(shared.LEAVING, name))

    def holidays_changed(of: Key) -> None:
        for plan in plans.find(shared.BY_HOLIDAYS, f"{of.namespace}/{of.name}"):
            for key in of_plan(plan):
                controller.queue.add(key)

    def undecided(_people: ConfigMap) -> Iterator[Key]:
        return (_key(one) for one in exceptions.values() if one.status.approval_state == "Pending")

    def governed(policy: ExceptionPolicy) -> Iterator[Key]:
        """Those that are not decided yet, to which a change of a policy may matter."""
        if not policies.is_for_others(policy):
            return map(_key, exceptions.find(shared.UNDECIDED, policy.metadata.namespace))
        return (_key(one) for one in exceptions.values() if one.status.state == "Pending")

    def relabelled(namespace: Namespace) -> Iterator[Key]:
        return map(_key, exceptions.find(shared.UNDECIDED, namespace.metadata.name))

    means.days_off.on_change(holidays_changed)
    controller = means.controller(
        "scheduleexception",
        reconciler.reconcile,
        [
            Watches(exceptions, line.keys),
            Watches(plans, of_plan),
            *(Watches(cache, undecided) for cache in people.maps),
            *(Watches(cache, governed) for cache in policies.caches),
            Watches(policies.namespaces, relabelled),
        ],
    )
    return controller
