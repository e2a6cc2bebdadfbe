"""What people are asked about, by the uid that stands in their links, from watch caches of every replica."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeVar

from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.approvaldelivery import ApprovalDelivery
from hibernator.api.core import CONFIG_MAPS
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.meta import Object
from hibernator.api.planrequest import PLAN_REQUESTS, PlanRequest
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.remediationrequest import REMEDIATIONS, RemediationRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.api.timewindowscaler import SCALERS, TimeWindowScaler
from hibernator.approvals.people import People, read_naming
from hibernator.approvals.policies import PolicyCaches
from hibernator.decisions.journal import created_at
from hibernator.decisions.planrequest import carried_out
from hibernator.kube.cache import Cache, Caches
from hibernator.messages.controller import deliveries_of, exceptions_of
from hibernator.messages.facts import Facts
from hibernator.messages.figuring import BY_PLAN, Figuring
from hibernator.messages.records import BY_REQUEST
from hibernator.settings import SettingsError
from hibernator.web.settings import Settings

BY_UID: Final = "uid"

T = TypeVar("T")
Case = ScheduleException | RemediationApprovalRequest


@dataclass(frozen=True, slots=True)
class Cases:
    exceptions: Cache[ScheduleException]
    plans: Cache[HibernatePlan]
    approvals: Cache[RemediationApprovalRequest]
    remediations: Cache[RemediationRequest]
    analyses: Cache[AIAnalysis]
    deliveries: Cache[ApprovalDelivery]
    scalers: Cache[TimeWindowScaler]
    plan_requests: Cache[PlanRequest]
    figuring: Figuring
    people: People
    policies: PolicyCaches
    maps: tuple[Cache[Any], ...]  # what people are known from
    _waiting: dict[str, set[asyncio.Event]] = field(default_factory=dict)  # for a change, by uid of request

    @classmethod
    def of(cls, caches: Caches, settings: Settings) -> Self:
        try:
            naming = read_naming(settings.approver_emails)
        except ValueError as error:
            raise SettingsError(f"approverEmails cannot be used: {error}.") from error
        home = settings.namespace
        roles = caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={settings.approver_roles}")
        emails = (
            caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={naming.value}")
            if naming.way == "configmap"
            else None
        )
        exceptions, approvals = exceptions_of(caches), caches.of(APPROVAL_REQUESTS)
        exceptions.index(BY_UID, _uid)
        approvals.index(BY_UID, _uid)
        plans, analyses = caches.of(PLANS), caches.of(ANALYSES)
        found = cls(
            exceptions,
            plans,
            approvals,
            caches.of(REMEDIATIONS),
            analyses,
            deliveries_of(caches),
            caches.of(SCALERS),
            _plan_requests(caches),
            Figuring(exceptions, plans, analyses),
            People(naming, roles, emails),
            PolicyCaches(caches, home),
            (roles, emails) if emails is not None else (roles,),
        )
        for cache in (exceptions, approvals, found.plan_requests):
            cache.on_change(lambda old, new: found._wake(one.metadata.uid for one in (old, new) if one))
        found.plans.on_change(lambda _old, new: found._wake(carried_out(new) if new else ()))
        found.deliveries.on_change(
            lambda old, new: found._wake(one.spec.request.uid for one in (old, new) if one)
        )
        return found

    @property
    def caches(self) -> tuple[Cache[Any], ...]:
        ours = (self.exceptions, self.plans, self.approvals, self.remediations, self.analyses)
        return (*ours, self.deliveries, self.scalers, self.plan_requests, *self.policies.caches, *self.maps)

    def find(self, uid: str) -> Case | None:
        """The request with this uid; None where there is none, or not any more."""
        found: tuple[Case, ...] = (*self.exceptions.find(BY_UID, uid), *self.approvals.find(BY_UID, uid))
        return found[0] if found else None

    def of_plan(self, namespace: str, plan: str) -> tuple[ScheduleException, ...]:
        """The exceptions of a plan."""
        return self.exceptions.find(BY_PLAN, f"{namespace}/{plan}")

    def requests_of(self, plan: HibernatePlan) -> tuple[PlanRequest, ...]:
        """What people asked for on its page within the last hour, the newest first."""
        found = self.plan_requests.find(BY_UID, plan.metadata.uid)
        return tuple(sorted(found, key=lambda one: created_at(one.metadata), reverse=True))

    def analysis_of(self, request: RemediationApprovalRequest) -> AIAnalysis | None:
        return self.figuring.analysis_of(request)

    async def facts(self, case: Case) -> Facts:
        """What a request says, for whichever door shows it."""
        return await self.figuring.facts(case)

    async def until(self, uid: str, fact: Callable[[Case], bool], seconds: float) -> Case | None:
        """The request, as soon as this is true of it; None where it is not within so many seconds."""

        def look() -> Case | None:
            found = self.find(uid)
            return found if found and fact(found) else None

        return await self.seen(uid, look, seconds)

    async def seen(self, uid: str, look: Callable[[], T | None], seconds: float) -> T | None:
        """What a look finds, again after each change of the request and of what was sent about it."""
        changed = asyncio.Event()
        self._waiting.setdefault(uid, set()).add(changed)
        try:
            async with asyncio.timeout(seconds):
                while (found := look()) is None:
                    changed.clear()
                    await changed.wait()
                return found
        except TimeoutError:
            return None
        finally:
            self._waiting[uid].discard(changed)
            if not self._waiting[uid]:
                del self._waiting[uid]

    def is_awaited(self, uid: str) -> bool:
        """Whether a change of this request is waited for."""
        return uid in self._waiting

    def _wake(self, uids: Iterable[str]) -> None:
        for uid in uids:
            for changed in self._waiting.get(uid, ()):
                changed.set()

    def sent_about(self, uid: str) -> tuple[ApprovalDelivery, ...]:
        """What people were sent about a request, with the links that they have."""
        return self.deliveries.find(BY_REQUEST, uid)


def _plan_requests(caches: Caches) -> Cache[PlanRequest]:
    found = caches.of(PLAN_REQUESTS)
    found.index(BY_UID, lambda one: (one.spec.plan.uid,))
    return found


def _uid(one: Object) -> tuple[str, ...]:
    return (one.metadata.uid,)
