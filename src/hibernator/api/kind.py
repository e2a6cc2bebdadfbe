"""What the client needs to know to talk about a kind of object: where it lives and how it decodes."""

from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from hibernator.api.meta import Object

T = TypeVar("T", bound=Object)

DOMAIN: Final = "hibernator.ardikabs.com"  # of our kinds, labels, annotations and finalizers


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of object, as `PLANS = Kind(HibernatePlan, DOMAIN, "v1alpha1", …)`."""

    type: type[T]
    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    partial: bool = False  # only the metadata of its objects is asked for

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The name that kubectl and RBAC use: `deployments.apps`, `configmaps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of a collection, of an object in it, or of a part of that object."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/" + "/".join(parts)


def partial(kind: Kind[Any]) -> Kind[Object]:
    """The same kind with nothing but metadata: enough to learn that a write was done."""
    return Kind(Object, kind.group, kind.version, kind.kind, kind.plural, kind.namespaced, partial=True)
