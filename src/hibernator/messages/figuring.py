"""What requests say, worked out off the event loop, and kept until something changes from which it follows.

The hours before and after an exception of 64 windows in 90 days take a quarter of a second to lay out, and
anyone who may file exceptions may file such ones. So one of each namespace is worked out at a time: whoever
asks about those of another namespace does not wait for them.
"""

import asyncio
import operator
from collections import OrderedDict
from typing import Any, Final
from weakref import WeakValueDictionary

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.scheduleexception_line import plan_key
from hibernator.kube.store import Store
from hibernator.messages.facts import Facts, facts_of_exception, facts_of_remediation

BY_PLAN: Final = "plan"
_MOST: Final = 200  # requests that are remembered at once


class Figuring:
    def __init__(
        self, exceptions: Store[ScheduleException], plans: Store[HibernatePlan], analyses: Store[AIAnalysis]
    ) -> None:
        """`exceptions` are found by `BY_PLAN`."""
        self._exceptions = exceptions
        self._plans = plans
        self._analyses = analyses
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._kept: OrderedDict[str, tuple[tuple[Any, ...], Facts]] = OrderedDict()

    async def facts(self, request: ScheduleException | RemediationApprovalRequest) -> Facts:
        if isinstance(request, RemediationApprovalRequest):
            return facts_of_remediation(request, self.analysis_of(request))
        namespace, uid = request.metadata.namespace, request.metadata.uid
        async with self._turns.setdefault(namespace, asyncio.Lock()):
            plan = self._plans.get(namespace, request.spec.plan_ref.name)
            beside = self._exceptions.find(BY_PLAN, plan_key(request))
            others = [one for one in beside if one.status.state == "Active"]
            made_of = (request, plan, *others)
            kept, facts = self._kept.get(uid, ((), None))
            if facts is None or len(kept) != len(made_of) or not all(map(operator.is_, kept, made_of)):
                facts = await asyncio.to_thread(facts_of_exception, request, plan, others)
                self._kept[uid] = made_of, facts
            self._kept.move_to_end(uid)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
            return facts

    def analysis_of(self, request: RemediationApprovalRequest) -> AIAnalysis | None:
        return self._analyses.get(request.metadata.namespace, request.spec.ai_analysis_ref.name)
