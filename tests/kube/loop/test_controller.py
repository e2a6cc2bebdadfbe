"""What makes a controller look."""

import asyncio
from collections.abc import Iterable

import pytest
from msgspec import structs

from hibernator.api.core import DEPLOYMENTS, ConfigMap
from hibernator.api.meta import OwnerReference
from hibernator.kube.cache import Cache
from hibernator.kube.controller import (
    For,
    Key,
    Owns,
    Result,
    Watches,
    WatchesSpec,
)
from hibernator.kube.metrics import RECONCILE_ERRORS
from support.looks import LOOK, Looks, Setup, meta, owner, versions


async def test_everything_is_looked_at_once_at_the_start(setup: Setup, maps: Cache[ConfigMap]) -> None:
    looks = Looks()
    controller = setup.controller(looks, For(maps))
    for name in "ab":
        maps.saw(ConfigMap(metadata=meta(name)))
    async with setup.running(controller):
        assert looks.keys == [Key("team", "a"), Key("team", "b")]


async def test_a_replica_that_stands_by_gathers_no_keys(setup: Setup, maps: Cache[ConfigMap]) -> None:
    controller = setup.controller(Looks(), For(maps))
    maps.saw(ConfigMap(metadata=meta("a")))
    assert controller.queue.idle


async def test_each_change_makes_it_look_also_the_last(setup: Setup, maps: Cache[ConfigMap]) -> None:
    looks = Looks()
    async with setup.running(setup.controller(looks, For(maps))):
        for _ in range(2):
            maps.saw(ConfigMap(metadata=meta("a")))
            await setup.clock.settle()
        maps.saw_deletion(("team", "a"), next(versions))
        await setup.clock.settle()
    assert looks.keys == [LOOK] * 3


async def test_a_hundred_changes_while_it_looks_cost_one_more_look(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    looks = Looks()

    async def slow(key: Key) -> Result:
        begun.set()
        await go_on.wait()
        return await looks(key)

    async with setup.running(setup.controller(slow, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await begun.wait()
        for _ in range(100):
            maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.settle()
        go_on.set()
        await setup.clock.settle()
    assert looks.keys == [LOOK] * 2


@pytest.mark.parametrize(
    ("reference", "wanted"),
    [
        (owner(), [Key("team", "app")]),
        (owner(controller=False), []),
        (owner("extensions/v1"), []),
        (owner("apps/v9"), [Key("team", "app")]),
        (None, []),
    ],
    ids=["its controller", "only an owner", "another group", "another version", "nobody"],
)
async def test_a_part_makes_its_controller_look(
    setup: Setup, maps: Cache[ConfigMap], reference: OwnerReference | None, wanted: list[Key]
) -> None:
    looks = Looks()
    async with setup.running(setup.controller(looks, Owns(maps, DEPLOYMENTS))):
        maps.saw(ConfigMap(metadata=meta("part", owner=reference)))
        await setup.clock.settle()
    assert looks.keys == wanted


async def test_whoever_an_object_mattered_to_before_hears_of_its_change_too(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    def named_inside(obj: ConfigMap) -> Iterable[Key]:
        return [Key("team", name) for name in obj.data.values()]

    looks = Looks()
    async with setup.running(setup.controller(looks, Watches(maps, named_inside))):
        maps.saw(ConfigMap(metadata=meta("list"), data={"1": "before"}))
        await setup.clock.settle()
        maps.saw(ConfigMap(metadata=meta("list"), data={"1": "after"}))
        await setup.clock.settle()
    assert looks.keys == [Key("team", "before"), Key("team", "before"), Key("team", "after")]


async def test_what_only_its_status_says_is_no_news_where_the_spec_is_watched(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    def itself(obj: ConfigMap) -> Iterable[Key]:
        return [Key("team", obj.data["text"])]

    def seen(generation: int, text: str, uid: str = "u") -> ConfigMap:
        metadata = structs.replace(meta("a"), generation=generation, uid=uid)
        return ConfigMap(metadata=metadata, data={"text": text})

    looks = Looks()
    async with setup.running(setup.controller(looks, WatchesSpec(maps, itself))):
        for found in (seen(1, "new"), seen(1, "status"), seen(2, "spec"), seen(2, "another", "v")):
            maps.saw(found)
            await setup.clock.settle()
    assert [key.name for key in looks.keys] == ["new", "status", "spec", "spec", "another"]


async def test_an_object_that_cannot_be_mapped_is_counted_and_does_not_stop_the_rest(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    def number_inside(obj: ConfigMap) -> Iterable[Key]:
        return [Key("team", str(int(obj.data["number"])))]

    looks = Looks()
    controller = setup.controller(looks, Watches(maps, number_inside))
    maps.saw(ConfigMap(metadata=meta("bad"), data={"number": "none"}))
    maps.saw(ConfigMap(metadata=meta("good"), data={"number": "1"}))
    async with setup.running(controller):
        maps.saw(ConfigMap(metadata=meta("good"), data={"number": "2"}))
        maps.saw(ConfigMap(metadata=meta("bad"), data={"number": "3"}))
        await setup.clock.settle()
    assert looks.keys == [Key("team", name) for name in ("1", "1", "2", "3")]
    assert setup.metrics.value(RECONCILE_ERRORS, "test", "ValueError") == 2


async def test_it_looks_again_when_it_asked_to(setup: Setup, maps: Cache[ConfigMap]) -> None:
    looks = Looks(Result(after=3600), Result(after=60))
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.advance(3599)
        assert len(looks.keys) == 1
        await setup.clock.advance(1)
        assert len(looks.keys) == 2
        await setup.clock.advance(86_400)
        assert len(looks.keys) == 3
