"""The approval policy: read as soon as it is written, so that a broken one is told before it is needed."""

from typing import Literal

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.approvals.rego import Rego
from hibernator.audit.event import Resource, event
from hibernator.audit.trail import Trail
from hibernator.kube.cache import Cache
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Key, Result
from hibernator.kube.events import Recorder

Reason = Literal["PolicyLoaded", "PolicyBroken"]


class PolicyReconciler:
    def __init__(
        self, policies: Cache[ConfigMap], rego: Rego, *, recorder: Recorder, clock: Clock, trail: Trail
    ) -> None:
        self._policies = policies
        self._rego = rego
        self._recorder = recorder
        self._clock = clock
        self._trail = trail

    async def reconcile(self, key: Key) -> Result:
        policy = self._policies.get(*key)
        if policy is None:
            return Result()
        broken = await self._rego.check(policy.data)
        reason: Reason = "PolicyBroken" if broken else "PolicyLoaded"
        message = f"{broken.why} Until it is mended, everything needs approval." if broken else "In force."
        self._recorder.note(
            CONFIG_MAPS, policy, "Warning" if broken else "Normal", reason, message, quiet=300.0
        )
        told = event(
            "policy.broken" if broken else "policy.loaded",
            Resource.of(CONFIG_MAPS, policy),
            at=self._clock.now(),
            identity=(policy.metadata.resource_version,),
            error=broken.why if broken else "",
        )
        return Result() if self._trail.has(told.id) or self._trail.record(told) else Result(10.0)
