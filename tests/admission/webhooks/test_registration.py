"""What the API server is told of the webhooks: little enough to be safe, and again when it is lost."""

import asyncio
import base64
import json
from typing import Any

import pytest
from whenever import Instant

from hibernator.admission.certificates import first
from hibernator.admission.registration import Service
from hibernator.admission.webhooks.configurations import (
    MUTATING,
    VALIDATING,
    Scope,
    WebhookConfiguration,
    WebhookRegistration,
)
from hibernator.api.kind import Kind
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from support.cluster import ClusterInTest
from support.operators import Running
from support.policed import Room

KINDS = (MUTATING, VALIDATING)


def webhooks(room: Room, kind: Kind[Any]) -> list[dict[str, Any]]:
    out = room.cluster.kubectl("get", kind.plural, "hibernator", "-o", "json", "--ignore-not-found").stdout
    return list(json.loads(out)["webhooks"]) if out else []


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_waits_long_or_depends_on_a_webhook(room: Room, up: Running, kind: Kind[Any]) -> None:
    found = webhooks(room, kind)
    assert found
    for hook in found:
        assert (hook["failurePolicy"], hook["timeoutSeconds"] <= 5) == ("Ignore", True)
        groups = {group for rule in hook["rules"] for group in rule["apiGroups"]}
        assert groups <= {
            "hibernator.ardikabs.com",
            "kyklos.io",
            "remediation.kubernaut.ai",
            "aianalysis.kubernaut.ai",
        }


def test_plans_beside_the_operator_are_checked_as_all_others() -> None:
    """The RFC's own examples live in its namespace, and so do policies for all namespaces."""
    assert Scope().selector() == {}
    [expression] = Scope("team-a").selector()["matchExpressions"]
    assert (expression["operator"], expression["values"]) == ("In", ["team-a"])


@pytest.mark.parametrize("kind", KINDS)
async def test_what_someone_changed_is_put_right(room: Room, up: Running, kind: Kind[Any]) -> None:
    before = webhooks(room, kind)
    hooks = [hook | {"failurePolicy": "Fail", "timeoutSeconds": 30} for hook in before]
    change = json.dumps({"webhooks": hooks})
    patch = ("patch", kind.plural, "hibernator", "--type=merge", "-p", change)
    await asyncio.to_thread(room.cluster.kubectl, *patch)
    await up.until(lambda: webhooks(room, kind) == before)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_someone_removed_is_made_again(room: Room, up: Running, kind: Kind[Any]) -> None:
    before = webhooks(room, kind)
    await asyncio.to_thread(room.cluster.kubectl, "delete", kind.plural, "hibernator")
    await up.until(lambda: webhooks(room, kind) == before)


async def test_authorities_that_another_injects_are_left_alone(
    cluster: ClusterInTest, namespace: str
) -> None:
    """As cert-manager does it. Under a name of the test's own, because these belong to the whole cluster."""
    endpoint = Service("hibernator-webhook", namespace)
    theirs = first(endpoint.names, Instant.now()).bundle
    async with Client(find(str(cluster.kubeconfig))) as client:
        found = WebhookRegistration.cache(client, VALIDATING, namespace)
        seen = asyncio.Event()  # of what is new, a cache with a selector hears by its watch only
        found.on_change(lambda _old, _new: seen.set())
        following = asyncio.create_task(found.run())
        try:
            await found.wait_synced()
            registration = WebhookRegistration(client, found, Scope(namespace), namespace)
            await registration.register(endpoint, None)
            await asyncio.wait_for(seen.wait(), 60)
            assert _trusted(found, namespace) is None
            await registration.register(endpoint, theirs)
            assert _trusted(found, namespace) == base64.b64encode(theirs).decode()
            version = found.get("", namespace)
            await registration.register(endpoint, None)
            assert found.get("", namespace) == version  # nothing was written
        finally:
            following.cancel()
            await client.delete(VALIDATING, namespace)


def _trusted(found: Cache[WebhookConfiguration], name: str) -> Any:
    present = found.get("", name)
    assert present
    return present.webhooks[0]["clientConfig"].get("caBundle")
