"""One cache for each kind, however many controllers look into it: one watch, and every object once."""

from typing import Any, TypeVar

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.metrics import Metrics

T = TypeVar("T", bound=Object)
_Which = tuple[type[Object], str, str, str, str]


class Caches:
    """Gives the same cache to all who ask for the same objects; `namespace` is the only one looked at."""

    def __init__(self, client: Client, metrics: Metrics, namespace: str = "") -> None:
        self._client = client
        self._metrics = metrics
        self.namespace = namespace
        self._caches: dict[_Which, Cache[Any]] = {}

    def of(
        self,
        kind: Kind[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Cache[T]:
        """The objects of a kind: all, those of another namespace, or those that a selector chooses."""
        where = "" if not kind.namespaced else self.namespace if namespace is None else namespace
        which = (kind.type, kind.resource, where, label_selector, field_selector)
        if which not in self._caches:
            # Those of a selection would tell their sizes under the name of the kind.
            metrics = None if label_selector or field_selector else self._metrics
            self._caches[which] = Cache(
                self._client,
                kind,
                where,
                label_selector=label_selector,
                field_selector=field_selector,
                metrics=metrics,
            )
        return self._caches[which]
