"""ConfigMaps in short for tests of the store: making them, listing them, and telling what became of them."""

from collections.abc import Iterable

from hibernator.api.core import ConfigMap
from hibernator.api.meta import ObjectMeta
from hibernator.kube.store import Store
from hibernator.kube.wire import Broken, Page


def config_map(name: str, version: int, uid: str = "1", owner: str = "") -> ConfigMap:
    meta = ObjectMeta(name=name, namespace="team", uid=uid, resource_version=str(version))
    return ConfigMap(metadata=meta, data={"owner": owner} if owner else {})


def page(*items: ConfigMap, broken: tuple[Broken, ...] = ()) -> list[Page[ConfigMap]]:
    return [Page(list(items), "", "", broken)]


def told(store: Store[ConfigMap]) -> list[tuple[str, str]]:
    """Write down what handlers hear, as `("a1@5", "a1@7")`: name, UID and version, before and after."""
    heard: list[tuple[str, str]] = []
    store.on_change(lambda old, new: heard.append((short(old), short(new))))
    return heard


def rewound(store: Store[ConfigMap]) -> list[str]:
    """Write down each time that the store finds out that the API server was set back."""
    heard: list[str] = []
    store.on_rewind(lambda: heard.append("rewind"))
    return heard


def short(obj: ConfigMap | None) -> str:
    if obj is None:
        return ""
    return f"{obj.metadata.name}{obj.metadata.uid}@{obj.metadata.resource_version}"


def contents(store: Store[ConfigMap]) -> set[str]:
    return {short(obj) for obj in store.values()}


def by_owner(obj: ConfigMap) -> Iterable[str]:
    return obj.data.get("owner", "").split()
