"""What the operator runs of the webhooks, on the real API server, beside a kind of the test's own.

CRDs belong to the whole cluster, which all tests share. So each module has its own copy of ours under
another group, and may do to it what it likes.
"""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from admission.scalers import beta, window
from hibernator.admission import pathsecret
from hibernator.admission.keeper import ConversionRegistration, Keeper
from hibernator.admission.keyrings import OwnCertificates, follow
from hibernator.admission.paths import Gate
from hibernator.admission.pathsecret import OwnPaths
from hibernator.admission.registration import CONVERT, Address, CustomResourceDefinition
from hibernator.admission.review import conversion
from hibernator.admission.server import WebhookServer, application
from hibernator.api import timewindowscaler as v1alpha1, timewindowscaler_v1beta1 as v1beta1
from hibernator.api.conversion import converted
from hibernator.api.core import Secret
from hibernator.api.crd import manifest
from hibernator.api.kind import Kind
from hibernator.api.kinds import DEFINITIONS
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Key
from hibernator.kube.errors import AlreadyExists, ApiError
from support.cluster import ClusterInTest

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True)
class Scalers:
    """A copy of the kind TimeWindowScaler in both its versions."""

    group: str
    alpha: Kind[v1alpha1.TimeWindowScaler]
    beta: Kind[v1beta1.TimeWindowScaler]

    @property
    def definition(self) -> str:
        return self.alpha.resource


@contextlib.contextmanager
def installed(cluster: ClusterInTest) -> Iterator[Scalers]:
    group = f"t{uuid.uuid4().hex[:8]}.kyklos.test"
    ours = next(definition for definition in DEFINITIONS if definition.kind.kind == "TimeWindowScaler")
    document = manifest(ours)
    document["metadata"]["name"] = f"{ours.kind.plural}.{group}"
    document["spec"]["group"] = group
    del document["spec"]["names"]["shortNames"]
    scalers = Scalers(
        group,
        Kind(v1alpha1.TimeWindowScaler, group, "v1alpha1", ours.kind.kind, ours.kind.plural),
        Kind(v1beta1.TimeWindowScaler, group, "v1beta1", ours.kind.kind, ours.kind.plural),
    )
    cluster.request("POST", _CRDS, document)
    cluster.until_established()
    try:
        yield scalers
    finally:
        # Nobody is there to convert any more, and the API server would wait for somebody.
        cluster.kubectl("patch", "crd", scalers.definition, "--type=merge", "--patch", _UNCONVERTED)
        cluster.request("DELETE", f"{_CRDS}/{scalers.definition}")


_UNCONVERTED = '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'


@dataclass(frozen=True)
class Replica:
    """One process of the operator, as far as webhooks go."""

    server: WebhookServer
    gate: Gate
    keeper: Keeper
    secrets: Cache[Secret]
    keys: Cache[Secret]
    definitions: Cache[CustomResourceDefinition]
    running: Sequence[asyncio.Task[None]]

    async def reconcile(self) -> float:
        """What the leader's controller does whenever something has changed or is due."""
        return (await self.keeper.reconcile(Key("", "webhooks"))).after or 0

    async def stop(self) -> None:
        for task in self.running:
            task.cancel()
        await asyncio.wait(self.running)


@contextlib.asynccontextmanager
async def replica(client: Client, scalers: Scalers, namespace: str, clock: Clock) -> AsyncIterator[Replica]:
    gate = Gate((CONVERT,))
    converting = conversion({"TimeWindowScaler": converted})
    server = WebhookServer(application({CONVERT: converting}, gate), host="127.0.0.1", port=0)
    endpoint = Address(f"https://127.0.0.1:{server.port}")
    secrets, keys = OwnCertificates.cache(client, namespace), OwnPaths.cache(client, namespace)
    definitions = ConversionRegistration.cache(client, scalers.definition)
    follow(secrets, server)
    pathsecret.follow(keys, gate)
    certificates = OwnCertificates(client, secrets, namespace, endpoint.names, clock)
    registration = ConversionRegistration(client, definitions, scalers.definition)
    paths = OwnPaths(client, keys, namespace, gate, clock)
    keeper = Keeper(certificates, paths, [registration], endpoint, server)
    running = [asyncio.create_task(part.run()) for part in (secrets, keys, definitions, server)]
    up = Replica(server, gate, keeper, secrets, keys, definitions, running)
    try:
        await secrets.wait_synced()
        await keys.wait_synced()
        await definitions.wait_synced()
        yield up
    finally:
        await up.stop()


async def converting(client: Client, scalers: Scalers, namespace: str) -> None:
    """Return when the API server converts through us, which it does a moment after it was told to."""
    special = converted(beta(window(replicas="50%")) | {"metadata": {"name": "probe"}}, "kyklos.io/v1alpha1")
    async with asyncio.timeout(30):
        while True:
            # A request that meets a CRD in the moment in which that changes can fail.
            with contextlib.suppress(ApiError):
                with contextlib.suppress(AlreadyExists):
                    await client.create(scalers.alpha, special, namespace)
                probe = await client.get(scalers.beta, "probe", namespace)
                if probe.spec.windows[0].replicas == "50%":
                    return


def scaler(name: str, *windows: Any, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {
            "targetRef": {"kind": "Deployment", "name": name},
            "timezone": "Europe/Berlin",
            "windows": list(windows),
            **spec,
        },
    }
