"""Who does something to an object of each kind, and whom the audit trail names for it."""

import asyncio
from typing import Any

from support.operators import Running
from support.plan_scenes import noop, plan
from support.policed import ALICE, Room, Somebody, wish
from support.remediation_scenes import REMEDIATIONS, remediation
from support.scaler_scenes import scaler


def admin(room: Room, name: str) -> Somebody:
    return room(name, "system:masters")


def ours(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    group = "hibernator.ardikabs.com/v1alpha1"
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": spec}


def aws(region: str) -> dict[str, Any]:
    auth = {"static": {"secretRef": {"name": "nowhere"}}}
    return {"type": "aws", "aws": {"accountId": "123456789012", "region": region, "auth": auth}}


# Each kind: what it is called, how it is made, and another spec.
KINDS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "hibernateplan": ("hplan", plan(noop("n"), name="kind"), {"dryRun": True}),
    "timewindowscaler": ("tws", scaler("kind"), {"defaultReplicas": 2}),
    "cloudprovider": (
        "cloudproviders.hibernator.ardikabs.com",
        ours("CloudProvider", "kind", **aws("eu-central-1")),
        {"aws": {"region": "eu-west-1"}},
    ),
    "k8scluster": (
        "k8sclusters.hibernator.ardikabs.com",
        ours("K8SCluster", "kind", inCluster=True),
        {"inCluster": None, "kubeconfigRef": {"name": "nowhere"}},
    ),
    "exceptionpolicy": (
        "exceptionpolicies.hibernator.ardikabs.com",
        ours("ExceptionPolicy", "kind", require={"roles": ["manager"]}),
        {"message": "Four eyes."},
    ),
    "remediationrequest": (REMEDIATIONS, remediation("kind"), {"environment": "staging"}),
    "scheduleexception": ("schedex", wish("kind", None, draft=True), {"reason": "changed"}),
}


def named(who: Somebody) -> tuple[str, str, str]:
    """Such a person, as `actors` tells of them."""
    return ("user", who.name, "api")


async def made(run: Running, room: Room, document: dict[str, Any]) -> None:
    await asyncio.to_thread(admin(room, ALICE).create, document)
    await run.settle()


async def delete(who: Somebody, of: str, name: str, *flags: str) -> None:
    await asyncio.to_thread(who.kubectl, "delete", of, name, "--timeout=60s", *flags)


async def actors(run: Running, type_: str, name: str, count: int = 1) -> list[tuple[str, str, str]]:
    """Who did it, in the trail, once it is there so often."""
    async with asyncio.timeout(120):
        while True:
            found = [one for one in await run.trail(type_) if one.resource.name == name]
            if len(found) >= count:
                return [(one.actor.type, one.actor.id, one.channel) for one in found]
            await run.settle()
            await asyncio.sleep(0.02)
