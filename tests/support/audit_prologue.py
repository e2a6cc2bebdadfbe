"""What must happen in any scene of the audit trail, one after the other, before chance takes over.

Every step waits for what it needs to have happened, so that its events do not depend on who is quicker.
"""

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any, Final

from hibernator.audit.spool import NAME as SPOOL
from hibernator.controlplane.cluster import KubectlError
from support.connector_scenes import ConnectorScene
from support.exception_scenes import exception
from support.plan_scenes import noop, plan
from support.remediation_scenes import ANALYSES, BOB, REMEDIATIONS, REQUESTS, analysis, remediation
from support.scaler_scenes import scaler

SCALERS: Final = "timewindowscalers.v1alpha1.kyklos.io"  # which needs no webhook to be read
PROVIDERS: Final = "cloudproviders.hibernator.ardikabs.com"
CLUSTERS: Final = "k8sclusters.hibernator.ardikabs.com"
PLANS: Final = "hibernateplans.hibernator.ardikabs.com"
EXCEPTIONS: Final = "scheduleexceptions.hibernator.ardikabs.com"
# What the steps below bring about, whoever dies in between.
MUSTS: Final = frozenset(
    f"{subject}.{action}"
    for subject, actions in {
        "timewindowscaler": "created degraded deleted",
        "hibernateplan": "created deleted sleep.started target.slept wake.started target.woken",
        "scheduleexception": "requested deleted",
        "cloudprovider": "created degraded deleted",
        "k8scluster": "created ready deleted",
        "remediationrequest": "created deleted",
        "aianalysis": "created adopted approving ready rejected deleted",
        "remediationapprovalrequest": "created approval.given approved expired deleted",
        "admission": "denied",
    }.items()
    for action in actions.split()
)
_DEADLINE: Final = 120.0
_LOOK_EVERY: Final = 0.1


class Prologue:
    def __init__(self, scene: ConnectorScene) -> None:
        self._scene = scene
        self.offended: dict[str, bool] = {}  # plans that a webhook should refuse, and whether it did

    async def arrive(self) -> None:
        """One of each kind, and two remediations: somebody agrees to one, and nobody to the other."""
        keys = {"static": {"secretRef": {"name": "nowhere"}}}
        aws = {"accountId": "123456789012", "region": "eu-central-1", "auth": keys}
        await self._do(lambda: self._scene.provider("account", type="aws", aws=aws))
        await self._do(lambda: self._scene.k8s_cluster("here", inCluster=True))
        party = exception(
            "party",
            "passing",
            type="suspend",
            validFrom="2027-03-09T00:00:00Z",
            validUntil="2027-03-10T00:00:00Z",
            windows=[{"start": "18:00", "end": "22:00", "daysOfWeek": ["Monday"]}],
        )
        await self._do(lambda: self._scene.create(plan(noop("drill"), name="passing"), party))
        await self._do(
            lambda: self._scene.apply(
                _aimless("brief"),
                _aimless("gone"),
                *(remediation(name) for name in ("oom", "late")),
                analysis(approvalTimeout="8000h"),
                analysis(name="late", of="late", approvalTimeout="12h"),
            )
        )

    async def remedy(self) -> None:
        await self._until(lambda: self._named("oom"))
        [name] = self._named("oom")
        said = {"type": "Approved", "status": "True", "reason": "Decided", "message": ""}
        condition = said | {"lastTransitionTime": "2020-01-01T00:00:00Z"}
        patch = json.dumps({"status": {"conditions": [condition], "decidedBy": BOB}})
        words = ("patch", REQUESTS, name, "--subresource=status", "--type=merge", "-p", patch)
        await self._do(lambda: self._kubectl(*words))
        await self._until(lambda: self._status(ANALYSES, "oom").get("phase") == "Ready")
        await self._until(lambda: self._status(ANALYSES, "late").get("phase") == "Rejected")
        [late] = self._named("late")
        await self._until(lambda: self._status(REQUESTS, late).get("decision") == "Expired")

    async def meet_the_webhook(self) -> None:
        """Until it answers, which a trial run shows that is not for the trail; and then for the trail.

        Whoever it keeps waiting too long is let in, so that on a busy machine it may take more than one.
        """
        await self._until(lambda: not self._offer("trial", "--dry-run=server"))
        async with asyncio.timeout(_DEADLINE):
            for number in itertools.count(1):
                await self.offend(f"first-{number}")
                if self.offended[f"first-{number}"]:
                    return

    async def offend(self, name: str) -> None:
        accepted = await asyncio.to_thread(self._offer, name)
        self.offended[name] = not accepted

    async def leave(self) -> None:
        """While somebody looks."""
        await self._delete(SCALERS, "brief")
        await self._delete(PROVIDERS, "account")
        await self._delete(PLANS, "passing")
        await self._delete(REMEDIATIONS, "late")
        await self._until(lambda: not self._there(REQUESTS, "late") and not self._there(ANALYSES, "late"))

    async def leave_unseen(self) -> None:
        """While nobody looks."""
        await self._delete(SCALERS, "gone")
        await self._delete(CLUSTERS, "here")

    async def pass_through(self) -> None:
        """Come and go while the database is away, and be refused meanwhile."""
        await self._do(lambda: self._scene.apply(_aimless("short")))
        await self._until(lambda: self._status(SCALERS, "short").get("observedGeneration"))
        await self.offend("second")
        await self._delete(SCALERS, "short")
        await self._delete(EXCEPTIONS, "party")
        wanted = {("TimeWindowScaler", "short"), ("ScheduleException", "party"), ("HibernatePlan", "second")}
        await self._until(lambda: wanted - self._not_refused() <= self._spooled())

    def _not_refused(self) -> set[tuple[str, str]]:
        return {("HibernatePlan", name) for name, refused in self.offended.items() if not refused}

    def _spooled(self) -> set[tuple[str, str]]:
        """Whose end, or refusal, waits in the cluster."""
        found = self._listed("configmaps", f"--field-selector=metadata.name={SPOOL}")
        events = [json.loads(text) for one in found for text in (one.get("data") or {}).values()]
        last = [one["resource"] for one in events if one["action"] in {"deleted", "denied"}]
        return {(one["kind"], one["name"]) for one in last}

    def _offer(self, name: str, *more: str) -> bool:
        """A plan with a mistake that only the webhook knows, by somebody; whether it was taken."""
        wrong = plan(noop("nothing"), name=name)
        wrong["spec"]["schedule"]["timezone"] = "Mars/Olympus"
        try:
            self._kubectl("create", "-f", "-", *more, input=json.dumps(wrong), as_user="eve")
        except KubectlError as error:
            if "denied the request" in str(error):
                return False
            raise
        return True

    def _kubectl(self, *words: str, **options: Any) -> str:
        if options.get("as_user"):
            options["as_groups"] = ("system:masters",)
        return self._scene.cluster.kubectl("-n", self._scene.namespace, *words, **options).stdout

    def _listed(self, kind: str, *more: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._kubectl("get", kind, *more, "-o", "json"))["items"]
        return found

    def _named(self, part: str) -> list[str]:
        """The requests about an analysis."""
        found = self._listed(REQUESTS)
        return [one["metadata"]["name"] for one in found if one["spec"]["aiAnalysisRef"]["name"] == part]

    def _there(self, kind: str, part: str) -> bool:
        return any(part in one["metadata"]["name"] for one in self._listed(kind))

    def _status(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._scene.get(kind, name).get("status", {})
        return found

    async def _delete(self, kind: str, name: str) -> None:
        await self._do(
            lambda: self._kubectl("delete", kind, name, "--wait=true", f"--timeout={_DEADLINE:g}s")
        )

    async def _do(self, act: Callable[[], object]) -> None:
        await asyncio.to_thread(act)

    async def _until(self, fact: Callable[[], object]) -> None:
        async with asyncio.timeout(_DEADLINE):
            while not await asyncio.to_thread(fact):  # noqa: ASYNC110 — an API server has no event
                await asyncio.sleep(_LOOK_EVERY)


def _aimless(name: str) -> dict[str, Any]:
    """A scaler without a target: it says so, and scales nothing."""
    return scaler(name, targetRef={"kind": "Deployment", "name": f"{name}-target"})
