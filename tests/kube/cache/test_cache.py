"""A cache follows the real API server."""

import asyncio
import json
from collections.abc import Mapping

from hibernator.api.core import CONFIG_MAPS, NAMESPACES
from hibernator.api.hibernateplan import PLANS
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.metrics import CACHE_OBJECTS, CACHE_UNDECODABLE, RELISTS, Metrics
from hibernator.kube.reflector import ReflectorTuning
from support.caches import SELECTOR, World, following, running
from support.cluster import ClusterInTest
from support.faultproxy import FaultProxy
from support.faults import Delay
from support.plan_scenes import noop, plan


class Numbered(Object):
    """A ConfigMap as somebody would type it who expects numbers in it, which there never are."""

    data: Mapping[str, int] = {}


NUMBERED = Kind(Numbered, "", "v1", "ConfigMap", "configmaps")


async def test_what_was_there_is_seen_when_synced_and_what_happens_later_is_followed(
    shaken: Client, world: World
) -> None:
    before = await world.make("a")
    async with following(shaken, world.namespace) as listener:
        cache = listener.cache
        assert not cache.synced.is_set()
        await cache.wait_synced()
        assert cache.get(world.namespace, "a") == before
        made = await world.make("b", "new")
        changed = await world.change("a", "new")
        await listener.until_like(changed, made)
        assert {obj.metadata.name for obj in cache.find("value", "new")} == {"a", "b"}
        await world.delete("a")
        await listener.until_like(made)
        assert cache.find("value", "new") == (made,)


async def test_objects_without_a_namespace_are_followed_too(shaken: Client, namespace: str) -> None:
    metrics = Metrics()
    cache = Cache(shaken, NAMESPACES, field_selector=f"metadata.name={namespace}", metrics=metrics)
    async with running(cache):
        await cache.wait_synced()
        assert cache.get("", namespace) is not None
    assert metrics.value(CACHE_OBJECTS, "namespaces") == 1
    assert metrics.value(RELISTS, "namespaces") == 1


async def test_a_change_of_our_own_is_seen_before_the_watch_tells_of_it(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    async with following(shaken, world.namespace, selector="") as listener:
        cache = listener.cache
        await cache.wait_synced()
        await proxy.watching()
        proxy.freeze_watches()
        made = await world.make("a")
        cache.wrote(made)
        assert cache.get(world.namespace, "a") == made
        mine = await world.change("a", "1")
        cache.wrote(mine)
        assert cache.get(world.namespace, "a") == mine
        theirs = await world.change("a", "2")
        last = await world.make("last")
        proxy.clear()
        await listener.until(lambda: cache.get(world.namespace, "last") == last)
        assert cache.get(world.namespace, "a") == theirs
        assert listener.transitions[f"+ a {made.metadata.uid}"] == 1


async def test_a_broken_object_hides_nothing_and_is_reported_until_it_is_mended(
    shaken: Client, world: World
) -> None:
    def body(name: str, **data: str) -> dict[str, object]:
        return {"metadata": {"name": name, "labels": {"app": "x"}}, "data": data}

    await world.client.create(CONFIG_MAPS, body("broken", v="no number"), world.namespace)
    await world.client.create(CONFIG_MAPS, body("fine"), world.namespace)
    metrics = Metrics()
    cache = Cache(shaken, NUMBERED, world.namespace, label_selector=SELECTOR, metrics=metrics)
    changed = asyncio.Event()
    cache.on_change(lambda _old, _new: changed.set())
    async with running(cache), asyncio.timeout(30):
        await cache.wait_synced()
        assert [obj.metadata.name for obj in cache.values()] == ["fine"]
        assert metrics.value(CACHE_UNDECODABLE, "configmaps") == 1
        assert "Expected `int`, got `str`" in cache.undecodable[(world.namespace, "broken")].why
        changed.clear()
        await world.client.create(CONFIG_MAPS, body("worse", v="nor this"), world.namespace)
        await world.client.patch(
            CONFIG_MAPS, "broken", world.namespace, {"data": None}, resource_version=None
        )
        await changed.wait()
        assert {obj.metadata.name for obj in cache.values()} == {"fine", "broken"}
        assert [key[1] for key in cache.undecodable] == ["worse"]
        changed.clear()
        await world.delete("worse")
        await world.delete("fine")
        await changed.wait()
        assert cache.undecodable == {}


async def test_a_cache_says_how_long_the_server_has_been_silent(shaken: Client, world: World) -> None:
    async with following(shaken, world.namespace) as listener:
        cache = listener.cache
        await cache.wait_synced()
        cache._reflector.contact -= 1000
        assert cache.silent_for() >= 1000
        made = await world.make("a")
        await listener.until_like(made)
        assert cache.silent_for() < 1000


async def test_the_cache_is_synced_only_after_the_last_page(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    made = [await world.make(f"x{number}") for number in range(3)]
    delay = Delay()
    rule = proxy.next(path="continue=", action=delay)
    async with following(shaken, world.namespace, ReflectorTuning(page=2)) as listener:
        await rule.hit()
        assert not listener.cache.synced.is_set()
        assert len(listener.cache) == 0
        delay.over.set()
        await listener.cache.wait_synced()
        await listener.until_like(*made)
    assert len(proxy.seen("GET", "limit=2")) == 2


async def test_an_object_that_is_nested_too_deeply_hides_no_other(
    crds: ClusterInTest, namespace: str, world: World
) -> None:
    def create(name: str, levels: int) -> None:
        text = json.dumps(plan({**noop("nothing"), "parameters": {"x": "HERE"}}, name=name))
        body = text.replace('"HERE"', '{"a":' * levels + "1" + "}" * levels)
        crds.kubectl("create", "-n", namespace, "--validate=ignore", "-f", "-", input=body)

    create("before", 5_000)
    create("fine", 1)
    cache = Cache(world.client, PLANS, namespace)
    heard: asyncio.Queue[str] = asyncio.Queue()
    cache.on_change(lambda _old, new: heard.put_nowait(new.metadata.name if new else ""))
    async with running(cache), asyncio.timeout(30):
        await cache.wait_synced()
        assert await heard.get() == "fine"
        await asyncio.to_thread(create, "during", 5_000)
        await asyncio.to_thread(create, "later", 1)
        assert await heard.get() == "later"
        assert {name for _, name in cache.undecodable} == {"before", "during"}
