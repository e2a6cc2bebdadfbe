"""Events as people find them in the API server, through restarts and outages."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hibernator.api.core import CONFIG_MAPS, EVENTS, NAMESPACES, ConfigMap, Event
from hibernator.api.meta import ObjectMeta
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from hibernator.kube.events import Recorder
from hibernator.kube.metrics import EVENTS_DROPPED, EVENTS_WRITTEN, Metrics
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.faultproxy import FaultProxy
from support.faults import Answer, Drop

FIVE_MINUTES = 300.0


@asynccontextmanager
async def recording(client: Client, clock: ManualClock, metrics: Metrics) -> AsyncIterator[Recorder]:
    """A process that records, from its start to its end."""
    recorder = Recorder(client, clock, metrics, instance="test")
    run = asyncio.create_task(recorder.run())
    try:
        yield recorder
        await recorder.flush(30)
    finally:
        run.cancel()


@pytest.fixture
async def about(client: Client, namespace: str) -> ConfigMap:
    return await client.create(CONFIG_MAPS, {"metadata": {"name": "app"}}, namespace)


async def events(client: Client, obj: ConfigMap) -> list[Event]:
    selector = f"involvedObject.uid={obj.metadata.uid}"
    return await client.list(EVENTS, obj.metadata.namespace, field_selector=selector)


async def test_an_event_says_what_happened_to_what_and_when(
    client: Client, clock: ManualClock, metrics: Metrics, about: ConfigMap
) -> None:
    async with recording(client, clock, metrics) as recorder:
        recorder.note(CONFIG_MAPS, about, "Warning", "Scaled", "from 1 to 5")
    (event,) = await events(client, about)
    assert (event.type, event.reason, event.message) == ("Warning", "Scaled", "from 1 to 5")
    assert (event.count, event.reporting_component) == (1, "hibernator")
    assert event.first_timestamp == event.last_timestamp == clock.now().to_stdlib()
    reference = event.involved_object
    assert (reference.api_version, reference.kind, reference.name) == ("v1", "ConfigMap", "app")


async def test_events_wait_for_a_lull_and_then_need_no_one_to_ask_for_them(
    client: Client, clock: ManualClock, metrics: Metrics, about: ConfigMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{Recorder.__module__}._LULL", 3600.0)
    async with recording(client, clock, metrics) as recorder:
        recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "from 1 to 5")
        assert await events(client, about) == [], "more may come any moment"
    monkeypatch.setattr(f"{Recorder.__module__}._LULL", 0.01)
    async with recording(client, clock, metrics) as recorder, asyncio.timeout(30):
        recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "from 5 to 1")
        while len(await events(client, about)) < 2:  # noqa: ASYNC110 — an API server has no event
            await asyncio.sleep(0.01)


async def test_the_same_again_counts_up_what_is_there_also_after_a_restart(
    client: Client, clock: ManualClock, metrics: Metrics, about: ConfigMap
) -> None:
    began = clock.now()
    for _process in range(2):
        async with recording(client, clock, metrics) as recorder:
            for _ in range(2):
                recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "from 1 to 5")
                await recorder.flush(30)
                await clock.advance(60)
    (event,) = await events(client, about)
    assert event.count == 4
    assert event.first_timestamp == began.to_stdlib()
    assert event.last_timestamp == began.add(seconds=180).to_stdlib()
    assert metrics.value(EVENTS_WRITTEN) == 4


async def test_several_of_the_same_that_wait_are_written_once(
    client: Client, clock: ManualClock, metrics: Metrics, about: ConfigMap
) -> None:
    async with recording(client, clock, metrics) as recorder:
        for _ in range(5):
            recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "from 1 to 5")
    (event,) = await events(client, about)
    assert event.count == 5
    assert metrics.value(EVENTS_WRITTEN) == 1


async def test_another_message_is_another_event(
    client: Client, clock: ManualClock, metrics: Metrics, about: ConfigMap
) -> None:
    async with recording(client, clock, metrics) as recorder:
        recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "from 1 to 5")
        recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "from 5 to 1")
    assert {event.message for event in await events(client, about)} == {"from 1 to 5", "from 5 to 1"}


async def test_a_quiet_event_is_not_repeated_within_its_time_by_whichever_process(
    client: Client, clock: ManualClock, metrics: Metrics, about: ConfigMap
) -> None:
    for seconds, counted in ((0, 1), (299, 1), (0, 1), (1, 2), (299, 2)):
        await clock.advance(seconds)
        async with recording(client, clock, metrics) as recorder:
            for _ in range(2):
                recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "1 to 5", quiet=FIVE_MINUTES)
        (event,) = await events(client, about)
        assert event.count == counted


async def test_an_event_that_has_expired_begins_anew(
    client: Client, clock: ManualClock, metrics: Metrics, about: ConfigMap
) -> None:
    async with recording(client, clock, metrics) as recorder:
        recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "from 1 to 5")
        await recorder.flush(30)
        (event,) = await events(client, about)
        await client.delete(EVENTS, event.metadata.name, event.metadata.namespace)
        recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "from 1 to 5")
    (again,) = await events(client, about)
    assert (again.metadata.name, again.count) == (event.metadata.name, 1)


async def test_an_object_that_has_too_much_to_say_is_cut_short_and_the_others_are_not(
    client: Client, clock: ManualClock, metrics: Metrics, about: ConfigMap
) -> None:
    other = await client.create(CONFIG_MAPS, {"metadata": {"name": "other"}}, about.metadata.namespace)
    async with recording(client, clock, metrics) as recorder:
        for number in range(40):
            recorder.note(CONFIG_MAPS, about, "Normal", "Chatty", f"number {number}")
        recorder.note(CONFIG_MAPS, other, "Normal", "Quiet", "once")
        await recorder.flush(30)
        assert len(await events(client, about)) == 25
        assert metrics.value(EVENTS_DROPPED, "spam") == 15
        await clock.advance(FIVE_MINUTES)
        recorder.note(CONFIG_MAPS, about, "Normal", "Chatty", "later")
    assert len(await events(client, about)) == 26
    assert len(await events(client, other)) == 1


async def test_an_object_of_the_whole_cluster_has_its_events_in_the_default_namespace(
    client: Client, clock: ManualClock, metrics: Metrics, namespace: str
) -> None:
    whole = await client.get(NAMESPACES, namespace)
    async with recording(client, clock, metrics) as recorder:
        recorder.note(NAMESPACES, whole, "Normal", "Seen", "it is there")
    (event,) = await client.list(EVENTS, "default", field_selector=f"involvedObject.uid={whole.metadata.uid}")
    assert event.message == "it is there"


async def test_a_message_and_a_name_of_any_length_are_written(
    client: Client, clock: ManualClock, metrics: Metrics, namespace: str
) -> None:
    long = await client.create(CONFIG_MAPS, {"metadata": {"name": "x" * 253}}, namespace)
    async with recording(client, clock, metrics) as recorder:
        recorder.note(CONFIG_MAPS, long, "Normal", "Long", "word " * 1_000)
    (event,) = await events(client, long)
    assert len(event.message) == 1_024
    assert event.message.endswith("…")


async def test_events_wait_for_an_api_server_that_is_away_and_are_not_counted_twice(
    cluster: ClusterInTest, proxy: FaultProxy, client: Client, clock: ManualClock, about: ConfigMap
) -> None:
    metrics = Metrics()
    proxy.next(method="POST", path="/events", action=Answer(503), times=2)
    async with Client(find(str(proxy.kubeconfig))) as shaken, recording(shaken, clock, metrics) as recorder:
        recorder.note(CONFIG_MAPS, about, "Normal", "First", "of two")
        recorder.note(CONFIG_MAPS, about, "Normal", "Second", "of two")
    assert {event.reason: event.count for event in await events(client, about)} == {"First": 1, "Second": 1}
    assert metrics.value(EVENTS_WRITTEN) == 2


async def test_an_event_whose_answer_was_lost_is_still_one_event(
    proxy: FaultProxy, client: Client, clock: ManualClock, metrics: Metrics, about: ConfigMap
) -> None:
    proxy.next(method="POST", path="/events", action=Drop())
    async with Client(find(str(proxy.kubeconfig))) as shaken, recording(shaken, clock, metrics) as recorder:
        recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "1 to 5", quiet=FIVE_MINUTES)
    (event,) = await events(client, about)
    assert event.count == 1


async def test_an_event_that_is_refused_does_not_hold_up_the_next(
    client: Client, clock: ManualClock, metrics: Metrics, about: ConfigMap
) -> None:
    nowhere = ConfigMap(metadata=ObjectMeta(name="app", namespace="there-is-no-such-namespace", uid="u"))
    async with recording(client, clock, metrics) as recorder:
        recorder.note(CONFIG_MAPS, nowhere, "Normal", "Lost", "nobody will see it")
        recorder.note(CONFIG_MAPS, about, "Normal", "Scaled", "from 1 to 5")
    assert len(await events(client, about)) == 1
    assert metrics.value(EVENTS_DROPPED, "refused") == 1


async def test_while_nothing_can_be_written_the_newest_ten_thousand_are_kept(
    client: Client, clock: ManualClock, metrics: Metrics
) -> None:
    recorder = Recorder(client, clock, metrics, instance="test")
    for number in range(10_200):
        obj = ConfigMap(metadata=ObjectMeta(name=f"app-{number}", namespace="team", uid=str(number)))
        recorder.note(CONFIG_MAPS, obj, "Normal", "Scaled", "from 1 to 5")
    assert metrics.value(EVENTS_DROPPED, "full") == 200
    assert next(iter(recorder._waiting.values())).about.name == "app-200"
