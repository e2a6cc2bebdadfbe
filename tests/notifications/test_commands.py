"""`hibernator notification`, against the real API server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hibernator.api.hibernatenotification import NOTIFICATIONS
from hibernator.cli.cluster import Session
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.notification_send import networks_of, rendered, sent
from hibernator.cli.notification_words import columns, described
from support.cluster import ClusterInTest
from support.notifying import LOOPBACK, Scene, Sink, notifying


@pytest.fixture
async def scene(crds: ClusterInTest, namespace: str, tmp_path: Path, sink: Sink) -> AsyncIterator[Scene]:
    async with notifying(crds, namespace, tmp_path) as found:
        await found.plan()
        await found.notification({"url": f"{sink.url}/secret-path"})
        yield found


async def test_a_message_is_shown_and_a_test_is_sent(scene: Scene, sink: Sink) -> None:
    session = Session(scene.client, scene.namespace)
    shown = await rendered(session, "on-call", "", "Failure", None)
    assert "✗ A test message of" in shown
    assert "Why: This is a test: nothing happened." in shown
    assert await rendered(session, "on-call", "out", "Start", "{{ event }}!") == "Start!"
    with pytest.raises(CliError, match="the template is broken"):
        await rendered(session, "on-call", "out", "Start", "{{ ''.__class__ }}{% if")
    with pytest.raises(CliError, match="--event is 'Sleep': write one of Start") as usage:
        await rendered(session, "on-call", "", "Sleep", None)
    assert usage.value.code == Exit.USAGE
    with pytest.raises(CliError, match="--sink is 'other': on-call has out"):
        await sent(session, "on-call", "other", "Failure", LOOPBACK)
    assert sink.got == []
    assert "The sink out took the test message" in await sent(session, "on-call", "", "Failure", LOOPBACK)
    assert [one["data"]["type"] for one in sink.got] == ["hibernator.test"]
    with pytest.raises(CliError, match="did not take it") as failure:
        await sent(session, "on-call", "", "Failure")
    assert "secret-path" not in str(failure.value)
    assert networks_of(["127.0.0.0/8"]) == LOOPBACK
    with pytest.raises(CliError, match="Write it like"):
        networks_of(["localhost"])


async def test_how_far_a_sink_is_can_be_read(scene: Scene, sink: Sink) -> None:
    new = await scene.client.get(NOTIFICATIONS, "on-call", scene.namespace)
    assert [line.split(":")[0].strip() for line in described(new)][1:] == ["not reconciled yet"]
    await scene.look()
    sink.answers = [(422, {}, "no"), (502, {}, "")]
    await scene.happens(scene.slept(1), scene.slept(2))
    await scene.look()
    found = scene.notifier.cache.get(scene.namespace, "on-call")
    assert found
    text = "\n".join(described(found))
    assert "selects       shop" in text
    assert "sink out: 0 delivered, 1 given up" in text
    assert f"given up       Start of HibernatePlan {scene.namespace}/shop: 127.0.0.1 answered 422: no" in text
    assert "Ready is False (SinkFailing)" in text
    row = {column.title: column.value(found) for column in columns()}
    assert (row["State"], row["Sinks"], row["Ready"]) == ("Bound", "out", "False")
