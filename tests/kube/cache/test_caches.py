"""Who asks for the same objects gets the same cache."""

from hibernator.api.core import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, HOLIDAY_MAPS
from hibernator.kube.cache import Caches
from hibernator.kube.metrics import RUNTIME, Metrics
from support.caches import World


async def test_all_who_ask_for_the_same_objects_share_one_watch(world: World) -> None:
    caches = Caches(world.client, Metrics(RUNTIME), "team")
    assert caches.of(CONFIG_MAPS) is caches.of(CONFIG_MAPS, "team")
    assert caches.of(CUSTOM_RESOURCE_DEFINITIONS) is caches.of(CUSTOM_RESOURCE_DEFINITIONS)


async def test_another_namespace_selection_or_shape_of_the_same_kind_is_another_cache(world: World) -> None:
    caches = Caches(world.client, Metrics(RUNTIME))
    asked = [
        caches.of(CONFIG_MAPS),
        caches.of(CONFIG_MAPS, "team"),
        caches.of(CONFIG_MAPS, field_selector="metadata.name=roles"),
        caches.of(CONFIG_MAPS, label_selector="app=web"),
        caches.of(HOLIDAY_MAPS),
    ]
    assert len(set(asked)) == len(asked)
