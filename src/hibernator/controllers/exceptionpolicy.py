"""ExceptionPolicy: says in its status whether it can be read, and records its life in the audit trail.

What policies ask of exceptions is no matter here: what decides about exceptions reads the specs.
"""

from whenever import Instant

from hibernator.api.exceptionpolicy import EXCEPTION_POLICIES, ExceptionPolicy
from hibernator.controllers.means import Means
from hibernator.decisions.exceptionpolicy_status import Decision, Seen, decide
from hibernator.kube.controller import Controller, For, Key
from hibernator.kube.reconciler import Reconciler


class PolicyReconciler(Reconciler[ExceptionPolicy, Seen, Decision]):
    def __init__(self, means: Means, home: str) -> None:
        super().__init__(means.parts(means.caches.of(EXCEPTION_POLICIES)), decide)
        self._home = home

    async def gather(self, _key: Key, policy: ExceptionPolicy, _now: Instant) -> Seen:
        return Seen(policy=policy, home=self._home, recorded=self.journals.recorded(policy))


def policy_controller(means: Means, *, home: str) -> Controller:
    """`home` is the operator's own namespace."""
    reconciler = PolicyReconciler(means, home)
    return means.controller("exceptionpolicy", reconciler.reconcile, [For(reconciler.cache)], workers=1)
