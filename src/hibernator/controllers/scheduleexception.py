"""ScheduleException: gather what the decision needs, write label, finalizer and status, and tell people.

Exceptions of one plan are looked at one after the other, because each look depends on who is active.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Literal
from weakref import WeakValueDictionary

from msgspec.structs import replace

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import EXCEPTIONS, Impact, ScheduleException
from hibernator.approvals.people import Naming, People, everybody
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.spool import AuditSpool
from hibernator.audit.trail import Trail
from hibernator.controllers import shared
from hibernator.controllers.daysoff import DaysOffBook
from hibernator.controllers.journal_audit import farewell
from hibernator.controllers.means import Means
from hibernator.controllers.scheduleexception_audit import events, record
from hibernator.controllers.scheduleexception_line import Line
from hibernator.decisions.impact import beside, impact, workloads
from hibernator.decisions.scheduleexception import FINALIZER, PLAN_LABEL, Decision, Seen, decide
from hibernator.decisions.scheduleexception_line import is_open
from hibernator.decisions.scheduleexception_request import Rules
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, Key, Result, Watches
from hibernator.kube.events import Recorder
from hibernator.kube.objects import Objects
from hibernator.schedule.holidays import load_holidays
from hibernator.schedule.problems import check_exception, check_schedule


class ExceptionReconciler:
    def __init__(
        self,
        client: Client,
        exceptions: Cache[ScheduleException],
        line: Line,
        plans: Cache[HibernatePlan],
        days_off: DaysOffBook,
        people: People,
        *,
        recorder: Recorder,
        clock: Clock,
        trail: Trail,
        spool: AuditSpool,
        rules: Rules,
    ) -> None:
        self._exceptions = exceptions
        self._line = line
        self._plans = plans
        self._days_off = days_off
        self._people = people
        self._objects = Objects(client, exceptions, recorder)
        self._clock = clock
        self._trail = trail
        self._spool = spool
        self._rules = rules
        self._told: dict[Key, str] = {}  # the versions that the audit trail knows
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._impacts: dict[Key, tuple[object, Impact]] = {}

    async def reconcile(self, key: Key) -> Result:
        exception = self._exceptions.get(*key)
        if exception is None:
            self._impacts.pop(key, None)
            self._told.pop(key, None)
            return Result()
        async with self._turn(exception):
            exception = self._exceptions.get(*key)
            if exception is None:
                return Result()
            recorded = await self._is_recorded(exception)
            seen = self._gather(key, exception, recorded=recorded == "yes", away=recorded == "away")
            decision = decide(seen, self._clock.now())
            exception = await self._perform(exception, decision)
            version = exception.metadata.resource_version
            if self._told.get(key) != version and record(self._trail, exception, self._clock.now()):
                self._told[key] = version
            return Result(decision.after)

    def _turn(self, exception: ScheduleException) -> AbstractAsyncContextManager[object]:
        """One after the other, those that could become active; however many others there are do not wait."""
        if not self._line.has_place(exception):
            return nullcontext()
        return self._turns.setdefault(shared.plan_key(exception), asyncio.Lock())

    async def _is_recorded(self, exception: ScheduleException) -> Literal["yes", "not yet", "away"]:
        """Whether the consent that stands in the status is in the audit trail for good."""
        status = exception.status
        if not exception.spec.approval_required or status.state == "Active":
            return "yes"
        if status.approval_state != "Approved":
            return "not yet"
        try:
            await self._trail.record_now(*events(exception))
        except AuditUnavailable:
            return "away"
        return "yes"

    def _gather(self, key: Key, exception: ScheduleException, *, recorded: bool, away: bool) -> Seen:
        plan = self._plans.get(key.namespace, exception.spec.plan_ref.name)
        problems = tuple(check_exception(exception.spec))
        return Seen(
            exception=exception,
            plan=plan,
            others=tuple(
                other
                for other in self._line.holders(shared.plan_key(exception))
                if other.metadata.uid != exception.metadata.uid
            ),
            crowd=self._line.crowd(exception),
            people=everybody(exception, self._people.directory()),
            impact=self._impact(key, exception, plan) if plan and not problems else None,
            problems=problems,
            recorded=recorded,
            away=away,
            rules=self._rules,
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
        others = beside(exception, self._line.holders(shared.plan_key(exception)))
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

    async def _perform(self, exception: ScheduleException, decision: Decision) -> ScheduleException:
        kept = [one for one in exception.metadata.finalizers if one != FINALIZER]
        if decision.release:
            await farewell(self._spool, EXCEPTIONS, exception, events(exception))
            return await self._objects.write_metadata(exception, {"finalizers": kept})
        if decision.label:
            labels = {PLAN_LABEL: exception.spec.plan_ref.name}
            exception = await self._objects.write_metadata(
                exception, {"labels": labels, "finalizers": [*kept, FINALIZER]}
            )
        if decision.status is None or decision.status == exception.status:
            return exception
        written = await self._objects.write_status(exception, decision.status)
        self._objects.notify(exception, decision.notices)
        return written


def exception_controller(means: Means, *, rules: Rules, naming: Naming, roles: str, home: str) -> Controller:
    """The controller with its watches. `roles` is a ConfigMap at `home`, and so is that of `naming`."""
    exceptions = shared.exceptions(means.caches)
    plans = shared.plans(means.caches)
    role_maps = means.caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={roles}")
    email_maps = (
        means.caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={naming.value}")
        if naming.way == "configmap"
        else None
    )
    line = Line(exceptions)
    reconciler = ExceptionReconciler(
        means.client,
        exceptions,
        line,
        plans,
        means.days_off,
        People(naming, role_maps, email_maps),
        recorder=means.recorder,
        clock=means.clock,
        trail=means.trail,
        spool=means.spool,
        rules=rules,
    )

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

    means.days_off.on_change(holidays_changed)
    controller = Controller(
        "scheduleexception",
        reconciler.reconcile,
        sources=[
            Watches(exceptions, line.keys),
            Watches(plans, of_plan),
            Watches(role_maps, undecided),
            *([Watches(email_maps, undecided)] if email_maps is not None else []),
        ],
        clock=means.clock,
        metrics=means.metrics,
        workers=means.workers,
    )
    return controller


def _key(exception: ScheduleException) -> Key:
    return Key(exception.metadata.namespace, exception.metadata.name)
