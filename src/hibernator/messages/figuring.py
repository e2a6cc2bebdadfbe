"""What requests say, worked out off the event loop.

The hours before and after an exception of 64 windows in 90 days take a quarter of a second to lay out, and
anyone who may file exceptions may file such ones.
"""

from functools import partial
from typing import Final

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.scheduleexception_line import plan_key
from hibernator.kube.store import Store
from hibernator.kube.worked import Worked
from hibernator.messages.facts import Facts, facts_of_exception, facts_of_remediation

BY_PLAN: Final = "plan"


class Figuring:
    def __init__(
        self, exceptions: Store[ScheduleException], plans: Store[HibernatePlan], analyses: Store[AIAnalysis]
    ) -> None:
        """`exceptions` are found by `BY_PLAN`."""
        self._exceptions = exceptions
        self._plans = plans
        self._analyses = analyses
        self._worked = Worked[Facts]()

    async def facts(self, request: ScheduleException | RemediationApprovalRequest) -> Facts:
        if isinstance(request, RemediationApprovalRequest):
            return facts_of_remediation(request, self.analysis_of(request))
        metadata = request.metadata
        plan = self._plans.get(metadata.namespace, request.spec.plan_ref.name)
        beside = self._exceptions.find(BY_PLAN, plan_key(request))
        others = [one for one in beside if one.status.state == "Active"]
        return await self._worked.of(
            metadata.namespace,
            metadata.uid,
            (request, plan, *others),
            partial(facts_of_exception, request, plan, others),
        )

    def analysis_of(self, request: RemediationApprovalRequest) -> AIAnalysis | None:
        return self._analyses.get(request.metadata.namespace, request.spec.ai_analysis_ref.name)
