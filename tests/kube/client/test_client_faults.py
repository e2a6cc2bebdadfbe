"""What a client does when the way to the API server, or the API server itself, fails."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, strategies as st

from hibernator.api.core import CONFIG_MAPS, LEASES, NAMESPACES
from hibernator.kube.backoff import backoff
from hibernator.kube.client import Client
from hibernator.kube.credentials import Credentials, find
from hibernator.kube.errors import AlreadyExists, Conflict, NotFound, Throttled, Unavailable
from hibernator.kube.fairness import Lanes
from hibernator.kube.kubeconfig import Cluster, ResolvedContext, User
from hibernator.kube.metrics import API_REQUESTS, API_SECONDS, Metrics
from support.faultproxy import FaultProxy
from support.faults import Action, Answer, Cut, Delay, Drop, Freeze

_A = {"metadata": {"name": "a"}}


@pytest.fixture
async def hasty(proxy: FaultProxy) -> AsyncIterator[Client]:
    """A client that waits for an answer hardly longer than a healthy server needs."""
    async with Client(find(str(proxy.kubeconfig)), deadline=2.0) as made:
        yield made


@pytest.mark.parametrize("fault", [Answer(500), Answer(503), Cut(), Drop()])
async def test_a_read_is_tried_again(shaken: Client, proxy: FaultProxy, fault: Action) -> None:
    rule = proxy.next(method="GET", action=fault, times=2)
    assert (await shaken.get(NAMESPACES, "default")).metadata.name == "default"
    assert rule.hits == 2


async def test_a_read_is_given_up_after_a_few_tries(shaken: Client, proxy: FaultProxy) -> None:
    rule = proxy.next(method="GET", action=Answer(503), times=100)
    with pytest.raises(Unavailable):
        await shaken.get(NAMESPACES, "default")
    assert rule.hits == 4


async def test_a_read_that_waits_in_vain_ends_at_its_deadline(hasty: Client, proxy: FaultProxy) -> None:
    proxy.next(method="GET", action=Freeze(), times=100)
    with pytest.raises(Unavailable, match="did not answer in time") as caught:
        await hasty.get(NAMESPACES, "default")
    assert not caught.value.maybe_committed


async def test_a_delayed_answer_is_waited_for(shaken: Client, proxy: FaultProxy) -> None:
    delay = Delay()
    rule = proxy.next(method="GET", action=delay)
    waiting = asyncio.create_task(shaken.get(NAMESPACES, "default"))
    await rule.hit()
    assert not waiting.done()
    delay.over.set()
    assert (await waiting).metadata.name == "default"


async def test_a_write_whose_answer_is_lost_is_not_sent_again_and_may_have_happened(
    shaken: Client, proxy: FaultProxy, namespace: str
) -> None:
    proxy.next(method="POST", action=Drop())
    with pytest.raises(Unavailable) as caught:
        await shaken.create(CONFIG_MAPS, _A, namespace)
    assert caught.value.maybe_committed
    assert len(proxy.seen("POST")) == 1
    with pytest.raises(AlreadyExists):  # which is how the caller learns that it had happened
        await shaken.create(CONFIG_MAPS, _A, namespace)
    found = await shaken.list(CONFIG_MAPS, namespace, field_selector="metadata.name=a")
    assert len(found) == 1


async def test_a_write_that_never_arrived_looks_the_same_to_the_caller(
    shaken: Client, proxy: FaultProxy, namespace: str
) -> None:
    await shaken.list(CONFIG_MAPS, namespace)  # so that the connection is a kept-alive one
    proxy.next(method="POST", action=Cut())
    with pytest.raises(Unavailable) as caught:
        await shaken.create(CONFIG_MAPS, _A, namespace)
    assert caught.value.maybe_committed
    assert str(caught.value).startswith("the connection to the API server broke")
    assert (await shaken.create(CONFIG_MAPS, _A, namespace)).metadata.name == "a"


async def test_a_deletion_whose_answer_is_lost_is_not_sent_again(
    shaken: Client, proxy: FaultProxy, namespace: str
) -> None:
    await shaken.create(CONFIG_MAPS, _A, namespace)
    proxy.next(method="DELETE", action=Drop())
    with pytest.raises(Unavailable) as caught:
        await shaken.delete(CONFIG_MAPS, "a", namespace)
    assert caught.value.maybe_committed
    assert len(proxy.seen("DELETE")) == 1
    with pytest.raises(NotFound):
        await shaken.get(CONFIG_MAPS, "a", namespace)


async def test_a_patch_whose_answer_is_lost_and_that_is_tried_again_by_the_caller_conflicts(
    shaken: Client, proxy: FaultProxy, namespace: str
) -> None:
    made = await shaken.create(CONFIG_MAPS, _A, namespace)
    version = made.metadata.resource_version
    proxy.next(method="PATCH", action=Drop())
    for expected in (Unavailable, Conflict):
        with pytest.raises(expected):
            await shaken.patch(CONFIG_MAPS, "a", namespace, {"data": {"n": "1"}}, resource_version=version)


async def test_a_write_that_waits_in_vain_may_have_happened(
    hasty: Client, proxy: FaultProxy, namespace: str
) -> None:
    proxy.next(method="POST", action=Freeze())
    with pytest.raises(Unavailable, match="did not answer in time") as caught:
        await hasty.create(CONFIG_MAPS, _A, namespace)
    assert caught.value.maybe_committed


async def test_a_write_that_found_no_one_cannot_have_happened() -> None:
    nobody = ResolvedContext("x", Cluster(server="https://127.0.0.1:1"), User(), "default")
    async with Client(Credentials(nobody)) as client:
        with pytest.raises(Unavailable, match=r"127.0.0.1:1 cannot be reached: Connection refused") as caught:
            await client.create(CONFIG_MAPS, _A, "default")
    assert not caught.value.maybe_committed


async def test_a_conflict_is_the_callers_to_resolve(
    shaken: Client, proxy: FaultProxy, namespace: str
) -> None:
    await shaken.create(CONFIG_MAPS, _A, namespace)
    rule = proxy.next(method="PATCH", action=Answer(409, "Conflict"), times=100)
    with pytest.raises(Conflict):
        await shaken.patch(CONFIG_MAPS, "a", namespace, {"data": {"n": "1"}}, resource_version=None)
    assert rule.hits == 1


@pytest.mark.parametrize("status", [500, 503, 504])
async def test_a_write_that_fails_on_the_server_is_not_sent_again(
    shaken: Client, proxy: FaultProxy, namespace: str, status: int
) -> None:
    rule = proxy.next(method="POST", action=Answer(status), times=100)
    with pytest.raises(Unavailable) as caught:
        await shaken.create(CONFIG_MAPS, _A, namespace)
    assert caught.value.maybe_committed
    assert rule.hits == 1


async def test_a_throttled_write_says_when_to_come_back_and_its_kind_rests_until_then(
    proxy: FaultProxy, namespace: str
) -> None:
    lanes = Lanes()
    async with Client(find(str(proxy.kubeconfig)), lanes=lanes) as client:
        rule = proxy.next(method="POST", action=Answer(429, "TooManyRequests", retry_after=1), times=1)
        with pytest.raises(Throttled) as caught:
            await client.create(CONFIG_MAPS, _A, namespace)
        assert caught.value.retry_after == 1.0
        assert rule.hits == 1
        assert lanes.lane("configmaps").resting is not None
        assert lanes.lane("namespaces").resting is None
        assert (await client.create(CONFIG_MAPS, _A, namespace)).metadata.name == "a"  # after the rest
        assert lanes.lane("configmaps").resting is None


async def test_a_read_that_is_throttled_again_and_again_comes_back_less_and_less_often(
    shaken: Client, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, float, float | None]] = []

    def noted(failures: int, *, first: float, at_least: float | None) -> float:
        asked.append((failures, first, at_least))
        return 0.0

    monkeypatch.setattr("hibernator.kube.transport.backoff", noted)
    proxy.next(method="GET", action=Answer(429, "TooManyRequests", retry_after=1), times=3)
    assert (await shaken.get(NAMESPACES, "default")).metadata.name == "default"
    assert asked == [(failures, 0.5, 1.0) for failures in (1, 2, 3)]


@given(st.integers(0, 40), st.floats(0, 60))
def test_a_wait_doubles_up_to_a_limit_and_is_never_less_than_what_the_server_asked_for(
    failures: int, at_least: float
) -> None:
    wait = backoff(failures, first=0.5, longest=30.0, at_least=at_least)
    full = min(30.0, 0.5 * 2**failures)
    assert max(full / 2, at_least) <= wait <= max(full, at_least * 1.2)


async def test_a_throttled_read_comes_back_when_it_may(shaken: Client, proxy: FaultProxy) -> None:
    rule = proxy.next(method="GET", action=Answer(429, "TooManyRequests", retry_after=1))
    assert (await shaken.get(NAMESPACES, "default")).metadata.name == "default"
    assert rule.hits == 1


async def test_a_storm_of_one_kind_that_hangs_does_not_keep_another_from_the_server(
    shaken: Client, proxy: FaultProxy, namespace: str
) -> None:
    made = await shaken.create(LEASES, {"metadata": {"name": "leader"}}, namespace)
    storm = proxy.next(method="PATCH", path="/configmaps/", action=Freeze(), times=1000)
    patches = [
        asyncio.create_task(
            shaken.patch(CONFIG_MAPS, f"x{number}", namespace, {"data": {}}, resource_version=None)
        )
        for number in range(500)
    ]
    await storm.hit()
    renewed = await shaken.patch(
        LEASES,
        "leader",
        namespace,
        {"spec": {"holderIdentity": "me"}},
        resource_version=made.metadata.resource_version,
    )
    assert renewed.spec.holder_identity == "me"
    assert storm.hits <= 34  # the shared slots and the kind's own
    for patch in patches:
        patch.cancel()
    await asyncio.gather(*patches, return_exceptions=True)


async def test_requests_are_counted_by_how_they_ended(proxy: FaultProxy, namespace: str) -> None:
    metrics = Metrics()
    async with Client(find(str(proxy.kubeconfig)), metrics=metrics) as client:
        proxy.next(method="GET", action=Answer(500))
        await client.get(NAMESPACES, "default")
        proxy.next(method="POST", action=Drop())
        with pytest.raises(Unavailable):
            await client.create(CONFIG_MAPS, _A, namespace)
    for counted in (
        ("get", "namespaces", "500"),
        ("get", "namespaces", "200"),
        ("create", "configmaps", "none"),
    ):
        assert metrics.value(API_REQUESTS, *counted) == 1
    assert metrics.value(API_SECONDS, "get", "namespaces") == 2
