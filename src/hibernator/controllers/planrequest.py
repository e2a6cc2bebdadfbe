"""PlanRequest: carries out in the name of people what they asked of a plan on its page."""

from contextlib import suppress

from whenever import Instant

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.planrequest import PLAN_REQUESTS, PlanRequest
from hibernator.controllers.means import Means
from hibernator.decisions.journal import created_at
from hibernator.decisions.planrequest import Decision, Seen, decide
from hibernator.kube.clock import Clock, SystemClock
from hibernator.kube.controller import Controller, For, Key
from hibernator.kube.errors import NotFound
from hibernator.kube.reconciler import Pass, Reconciler


class PlanRequestReconciler(Reconciler[PlanRequest, Seen, Decision]):
    def __init__(self, means: Means, real: Clock) -> None:
        super().__init__(means.parts(means.caches.of(PLAN_REQUESTS)), decide)
        self._real = real

    async def gather(self, _key: Key, request: PlanRequest, _now: Instant) -> Seen:
        recorded = self.journals.recorded(request)
        if request.status.finished_at:
            return Seen(request=request, recorded=recorded)
        age = self._real.now() - created_at(request.metadata)
        return Seen(request=request, plan=await self._plan(request), age=age, recorded=recorded)

    async def _plan(self, request: PlanRequest) -> HibernatePlan | None:
        """Past the cache: others suspend and resume plans, too, and the plan says what was carried out."""
        try:
            return await self.client.get(PLANS, request.spec.plan.name, request.metadata.namespace)
        except NotFound:
            return None

    async def perform(self, one: Pass[PlanRequest, Seen, Decision]) -> PlanRequest | None:
        metadata, plan = one.found.metadata, one.seen.plan
        if one.decision.over:
            with suppress(NotFound):
                await self.client.delete(PLAN_REQUESTS, metadata.name, metadata.namespace, uid=metadata.uid)
            return None
        if one.decision.change and plan:
            await self.client.patch(
                PLANS,
                plan.metadata.name,
                plan.metadata.namespace,
                one.decision.change,
                resource_version=plan.metadata.resource_version,
                uid=plan.metadata.uid,
            )
        return one.found


def request_controller(means: Means, real: Clock | None = None) -> Controller:
    """The real clock is that of the API server, which says when something was asked."""
    reconciler = PlanRequestReconciler(means, real or SystemClock())
    return means.controller("planrequest", reconciler.reconcile, [For(reconciler.cache)], workers=1)
