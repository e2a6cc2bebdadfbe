"""Certificates and registrations on the real API server: made, shared, replaced and put right again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from whenever import Instant, TimeDelta

from admission.replicas import Replica, Scalers, converting, replica
from admission.serving import LOCAL
from hibernator.admission.certificates import ANNOUNCEMENT, LIFETIME, RENEWAL, first, from_data, to_data
from hibernator.admission.keeper import ConversionRegistration
from hibernator.admission.keyrings import NAME, MountedCertificates
from hibernator.admission.paths import SPREADING
from hibernator.admission.registration import DEFINITIONS, CustomResourceDefinition, Service
from hibernator.api.conversion import effective_spec
from hibernator.api.core import SECRETS, Secret
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.errors import ApiError, Unavailable
from support.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """Begins in the past: the API server goes by the real time and believes in no future certificate."""
    return ManualClock(Instant.now().round() - TimeDelta(hours=70 * 24))


@pytest.fixture
async def leader(
    client: Client, scalers: Scalers, namespace: str, clock: ManualClock
) -> AsyncIterator[Replica]:
    async with replica(client, scalers, namespace, clock) as up:
        yield up


async def seen(cache: Cache[Any], name: str, holds: Callable[[Any], bool], namespace: str = "") -> None:
    """Return when a cache holds an object of which this is true."""
    reached = asyncio.Event()

    def look(_old: Any, new: Any) -> None:
        if new is not None and new.metadata.name == name and holds(new):
            reached.set()

    cache.on_change(look)
    look(None, cache.get(namespace, name))
    async with asyncio.timeout(30):
        await reached.wait()


async def refusal(client: Client, scalers: Scalers, namespace: str) -> str:
    """What the API server says once it does not answer any more."""
    async with asyncio.timeout(30):
        while True:
            try:
                await client.get(scalers.beta, "probe", namespace)
            except ApiError as error:
                return error.message


async def change(client: Client, scalers: Scalers, leader: Replica, conversion: Any) -> None:
    """Do to the registration what somebody else might do, and wait until the leader has seen it."""
    patch = {"spec": {"conversion": conversion}}
    written = await client.patch(DEFINITIONS, scalers.definition, "", patch, resource_version=None)
    await seen(
        leader.definitions,
        scalers.definition,
        lambda new: new.metadata.resource_version == written.metadata.resource_version,
    )


def authorities(definition: CustomResourceDefinition | None) -> list[x509.Certificate]:
    assert definition is not None
    assert definition.spec.conversion.webhook is not None
    bundle = definition.spec.conversion.webhook.client_config.ca_bundle
    return x509.load_pem_x509_certificates(bundle or b"")


async def test_a_replica_makes_its_certificates_and_registers_itself(
    client: Client, scalers: Scalers, namespace: str, leader: Replica
) -> None:
    after = await leader.reconcile()
    assert after == pytest.approx((LIFETIME - RENEWAL).total("seconds"), abs=1)
    secret = await client.get(SECRETS, NAME, namespace)
    assert set(secret.data) == {"ca.crt", "tls.crt", "tls.key"}
    definition = await client.get(DEFINITIONS, scalers.definition)
    assert definition.spec.conversion.strategy == "Webhook"
    assert len(authorities(definition)) == 1


async def test_a_second_look_writes_nothing(
    client: Client, scalers: Scalers, namespace: str, leader: Replica
) -> None:
    async def versions() -> list[str]:
        found = [
            await client.get(SECRETS, NAME, namespace),
            await client.get(DEFINITIONS, scalers.definition),
        ]
        return [item.metadata.resource_version for item in found]

    await leader.reconcile()
    before = await versions()
    await leader.reconcile()
    assert await versions() == before


async def test_of_two_replicas_that_start_together_one_makes_the_certificates_for_both(
    client: Client, scalers: Scalers, namespace: str, clock: ManualClock
) -> None:
    async with (
        replica(client, scalers, namespace, clock) as one,
        replica(client, scalers, namespace, clock) as other,
    ):
        await asyncio.gather(one.reconcile(), other.reconcile(), return_exceptions=True)
        await asyncio.gather(one.server.listening.wait(), other.server.listening.wait())
        secret = await client.get(SECRETS, NAME, namespace)
        assert one.server._pair == other.server._pair == from_data(secret.data).current


async def test_certificates_are_replaced_while_requests_flow_and_none_fails(
    client: Client, scalers: Scalers, namespace: str, clock: ManualClock, leader: Replica
) -> None:
    started = clock.now()
    await leader.reconcile()
    first_served = leader.server._pair
    await converting(client, scalers, namespace)

    over = asyncio.Event()
    answered = 0

    async def keep_asking() -> None:
        nonlocal answered
        while not over.is_set():
            try:
                await client.get(scalers.beta, "probe", namespace)
                answered += 1
            except Unavailable as error:
                # What an API server says for a moment of a kind whose definition has just changed.
                if error.message != "apiserver is shutting down":
                    raise

    async def let_some_through() -> None:
        goal = answered + 20
        while answered < goal:
            await asyncio.sleep(0)
            for task in asking:
                if task.done():
                    task.result()

    asking = [asyncio.create_task(keep_asking()) for _ in range(4)]
    await let_some_through()

    await clock.advance((LIFETIME - RENEWAL).total("seconds"))
    assert await leader.reconcile() == pytest.approx(SPREADING.total("seconds"), abs=1)
    await clock.advance(SPREADING.total("seconds"))  # from here on the API server asks at another path
    after = await leader.reconcile()
    assert after == pytest.approx((ANNOUNCEMENT - SPREADING).total("seconds"), abs=1)
    await seen(leader.secrets, NAME, lambda new: "next.crt" in new.data, namespace)
    await let_some_through()
    assert leader.server._pair == first_served
    assert len(authorities(await client.get(DEFINITIONS, scalers.definition))) == 2

    await clock.advance(after)
    await leader.reconcile()
    await seen(leader.secrets, NAME, lambda new: "next.crt" not in new.data, namespace)
    assert leader.server._pair != first_served
    await let_some_through()

    # The old authority ends: whoever connects now has to accept the new certificate, or fail.
    await clock.advance_to(started + LIFETIME)
    await leader.reconcile()
    assert len(authorities(await client.get(DEFINITIONS, scalers.definition))) == 1
    await let_some_through()

    over.set()
    await asyncio.gather(*asking)


async def test_an_api_server_that_was_told_of_another_authority_refuses_us_until_it_is_told_again(
    client: Client, scalers: Scalers, namespace: str, leader: Replica
) -> None:
    await leader.reconcile()
    await converting(client, scalers, namespace)
    stranger = first(LOCAL, Instant.now())
    await change(client, scalers, leader, {"webhook": {"clientConfig": {"caBundle": stranger.bundle}}})
    assert "certificate signed by unknown authority" in await refusal(client, scalers, namespace)
    await leader.reconcile()
    await converting(client, scalers, namespace)


@pytest.mark.parametrize(
    "conversion",
    [
        pytest.param({"strategy": "None", "webhook": None}, id="switched off"),
        pytest.param({"webhook": {"clientConfig": {"url": "https://127.0.0.1:1/convert"}}}, id="sent away"),
        pytest.param(
            {"webhook": {"clientConfig": {"url": None, "service": {"name": "x", "namespace": "y"}}}},
            id="to a service",
        ),
        pytest.param({"webhook": {"clientConfig": {"caBundle": None}}}, id="without an authority"),
    ],
)
async def test_a_registration_that_someone_has_changed_is_put_right(
    client: Client, scalers: Scalers, namespace: str, leader: Replica, conversion: Any
) -> None:
    await leader.reconcile()
    right = (await client.get(DEFINITIONS, scalers.definition)).spec
    await change(client, scalers, leader, conversion)
    await leader.reconcile()
    assert (await client.get(DEFINITIONS, scalers.definition)).spec == right


async def test_the_registration_is_by_service_inside_a_cluster(
    client: Client, scalers: Scalers, namespace: str, leader: Replica
) -> None:
    await leader.reconcile()
    registration = ConversionRegistration(client, leader.definitions, scalers.definition)
    ring = first(LOCAL, Instant.now())
    await registration.register(Service("hooks", namespace), ring.bundle)
    webhook = (await client.get(DEFINITIONS, scalers.definition)).spec.conversion.webhook
    assert webhook is not None
    assert webhook.client_config.url is None
    assert webhook.client_config.service is not None
    assert (webhook.client_config.service.name, webhook.client_config.service.path) == ("hooks", "/convert")
    assert webhook.client_config.ca_bundle == ring.bundle


async def test_a_secret_that_someone_has_broken_or_removed_is_made_again(
    client: Client, scalers: Scalers, namespace: str, leader: Replica
) -> None:
    await leader.reconcile()
    served = leader.server._pair
    broken = {"data": to_data(first(LOCAL, Instant.now())) | {"tls.key": b"nonsense", "other": b"stays not"}}
    await client.patch(SECRETS, NAME, namespace, broken, resource_version=None)
    await seen(leader.secrets, NAME, lambda new: "other" in new.data, namespace)
    assert leader.server._pair == served
    await leader.reconcile()
    healed = await client.get(SECRETS, NAME, namespace)
    assert set(healed.data) == {"ca.crt", "tls.crt", "tls.key"}

    gone = asyncio.Event()

    def look(_old: Secret | None, new: Secret | None) -> None:
        if new is None:
            gone.set()

    leader.secrets.on_change(look)
    await client.delete(SECRETS, NAME, namespace)
    async with asyncio.timeout(30):
        await gone.wait()
    await leader.reconcile()
    made_again = await client.get(SECRETS, NAME, namespace)
    assert made_again.metadata.uid != healed.metadata.uid
    definition = await client.get(DEFINITIONS, scalers.definition)
    assert made_again.data["ca.crt"] == b"".join(
        certificate.public_bytes(Encoding.PEM) for certificate in authorities(definition)
    )


async def test_a_kind_that_is_not_installed_yet_is_not_made_by_its_registration(
    client: Client, scalers: Scalers, leader: Replica
) -> None:
    registration = ConversionRegistration(client, leader.definitions, "nothings.kyklos.test")
    await registration.register(Service("hooks", "system"), b"")
    with pytest.raises(ApiError):
        await client.get(DEFINITIONS, "nothings.kyklos.test")


async def test_while_no_one_converts_v1alpha1_goes_on_and_v1beta1_says_why_not(
    client: Client, scalers: Scalers, namespace: str, leader: Replica
) -> None:
    await leader.reconcile()
    await converting(client, scalers, namespace)
    await client.patch(scalers.beta, "probe", namespace, {"spec": {"pause": True}}, resource_version=None)
    await leader.stop()
    with pytest.raises(ApiError, match=r"conversion webhook .* failed: .*connection refused"):
        await client.get(scalers.beta, "probe", namespace)
    status = {"status": {"effectiveReplicas": 2}}
    stored = await client.patch(
        scalers.alpha, "probe", namespace, status, resource_version=None, subresource="status"
    )
    assert effective_spec(stored).windows[0].replicas == "50%"
    assert [item.metadata.name for item in await client.list(scalers.alpha, namespace)] == ["probe"]


async def test_certificates_in_a_folder_are_served_announced_and_followed(
    tmp_path: Path, clock: ManualClock, leader: Replica
) -> None:
    told: list[bytes | None] = []

    async def announce(bundle: bytes | None) -> None:
        told.append(bundle)

    def write(data: dict[str, bytes]) -> None:
        for name, text in data.items():
            (tmp_path / name).write_bytes(text)

    mounted = MountedCertificates(tmp_path, clock)
    serving = asyncio.create_task(mounted.serve(leader.server))
    one, other = first(LOCAL, Instant.now()), first(LOCAL, Instant.now())
    await mounted.renew(announce)
    write(to_data(one))
    await clock.advance(30)
    await asyncio.wait_for(leader.server.listening.wait(), 30)
    assert leader.server._pair == one.current
    await mounted.renew(announce)
    (tmp_path / "tls.crt").write_bytes(other.current.certificate)  # and the key a moment later
    await clock.advance(30)
    assert leader.server._pair == one.current
    write(to_data(other))
    await clock.advance(30)
    assert leader.server._pair == other.current
    assert told == [None, one.bundle]
    serving.cancel()
    await asyncio.wait([serving])
