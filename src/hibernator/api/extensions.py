"""CustomResourceDefinitions as discovery: which kinds the cluster knows, and which of them can be scaled.

Following them costs one quiet watch; asking the discovery endpoints again and again would not be quiet.
"""

from typing import Any

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object


class Names(Model):
    kind: str
    plural: str


class Subresources(Model):
    scale: dict[str, Any] | None = None


class ServedVersion(Model):
    name: str
    served: bool = True
    subresources: Subresources = Subresources()


class CustomResourceDefinitionSpec(Model):
    group: str
    names: Names
    scope: str = "Namespaced"
    versions: tuple[ServedVersion, ...] = ()


class CustomResourceDefinition(Object, kw_only=True):
    spec: CustomResourceDefinitionSpec


CUSTOM_RESOURCE_DEFINITIONS = Kind(
    CustomResourceDefinition,
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
