"""A sink that is slow or away keeps no other one waiting, of its own object or of another."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from hibernator.kube.controller import Controller
from hibernator.notifications.controller import notification_controller
from hibernator.notifications.outbound import Outbound
from hibernator.notifications.sinks import SinkClients
from support.notifying import LOOPBACK, Scene, Sink, cycles, http_sink

_LONG = 3600.0  # seconds that a sink is waited for: far longer than any test


@asynccontextmanager
async def working(scene: Scene) -> AsyncIterator[Controller]:
    """The controller with its workers, and sinks that are waited for without end."""
    async with Outbound(LOOPBACK, seconds=_LONG) as out:
        scene.notifier.means = replace(scene.means, clients=SinkClients(out))
        controller = notification_controller(scene.notifier, scene.metrics)
        work = asyncio.create_task(controller.run())
        try:
            yield controller
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


async def until(sink: Sink, *, got: int = 0, asked: int = 0) -> None:
    changed = asyncio.Event()
    sink.taken = changed.set
    async with asyncio.timeout(60):
        while len(sink.got) < got or sink.asked < asked:
            await changed.wait()
            changed.clear()


def two_sinks(*names: str) -> list[dict[str, object]]:
    return [{"name": name, "type": "webhook", "secretRef": {"name": name}} for name in names]


async def begun(scene: Scene, name: str, sinks: int) -> None:
    """All of its sinks have their place in the trail."""
    changed = asyncio.Event()
    scene.notifier.cache.on_change(lambda _old, _new: changed.set())
    async with asyncio.timeout(60):
        while True:
            found = scene.notifier.cache.get(scene.namespace, name)
            if found and len(found.status.sink_statuses) == sinks and found.status.conditions:
                return
            await changed.wait()
            changed.clear()


async def test_a_sink_that_never_answers_delays_no_sibling(scene: Scene, sink: Sink) -> None:
    async with http_sink() as slow, working(scene) as controller:
        slow.hangs = True
        scene.secret("slow", {"url": slow.url})
        await scene.notification({"url": sink.url}, sinks=two_sinks("slow", "on-call"))
        await begun(scene, "on-call", 2)
        for number in range(1, 6):
            await scene.happens(scene.slept(number))
            controller.look_at_all()
            await until(sink, got=number)
        assert [cycles(one) for one in sink.got] == [[1], [2], [3], [4], [5]]
        assert slow.asked == 1  # the first message, still
        assert slow.got == []


async def test_many_sinks_at_one_host_that_never_answer_delay_no_other_there(
    scene: Scene, sink: Sink
) -> None:
    """A gateway that all teams post to: what one of their addresses leads to may hang."""
    async with http_sink() as gateway, working(scene) as controller:
        gateway.hangs = True
        scene.secret("slow", {"url": f"{gateway.url}/slow"})
        for number in range(8):
            await scene.notification({"url": gateway.url}, name=f"slow-{number}")
            await begun(scene, f"slow-{number}", 1)
        await scene.happens(scene.slept(1))
        controller.look_at_all()
        await until(gateway, asked=8)
        gateway.hangs = False
        await scene.notification({"url": gateway.url}, name="on-call")
        await begun(scene, "on-call", 1)
        await scene.happens(scene.slept(2))
        controller.look_at_all()
        await until(gateway, got=1)
        assert cycles(gateway.got[0]) == [2]
