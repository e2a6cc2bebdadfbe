"""The base of everything that users write and the API server stores.

Decoding enforces types and enumerations only. Patterns, bounds and cross-field rules go into the CRD (and
into `hibernator validate`), not into the decoder: an object that slipped past an older CRD must reach the
controller that can say in its status what is wrong with it, and must never break the list that it is in.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _ModelMeta(msgspec.StructMeta):
    """Makes every model frozen and keyword-only, which msgspec would have each class say again."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> type:
        return super().__new__(mcls, name, bases, namespace, **{"frozen": True, "kw_only": True} | options)


class Model(msgspec.Struct, metaclass=_ModelMeta, rename="camel", omit_defaults=True, gc=False):
    """A value in the API: immutable, camelCase on the wire, unknown fields dropped.

    Because defaults are left out when encoding, a status field whose zero means something ("0 replicas")
    defaults to None, never to that zero. Required fields come first, which is all that keeps mypy content.
    """


def says(description: str, **schema: Any) -> msgspec.Meta:
    """Describe a field, with whatever more the CRD's schema shall say about it.

    Keywords are JSON schema words (`pattern`, `minimum`, `maxItems`, `default`, …) and the Kubernetes
    extensions with underscores for dashes (`x_kubernetes_validations=[…]`).
    """
    return msgspec.Meta(
        description=description,
        extra_json_schema={
            key.replace("_", "-") if key.startswith("x_") else key: value for key, value in schema.items()
        },
    )


class OwnerReference(Model):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model):
    """The part of Kubernetes' object metadata that this product reads; the rest is not kept in memory."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Object(Model):
    """Anything with a name in the API server."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


class Condition(Model):
    """A standard condition. `lastTransitionTime` moves only when `status` does."""

    type: Annotated[str, says("What the condition is about, in CamelCase.")]
    status: Annotated[str, says("Whether it holds.", enum=["True", "False", "Unknown"])]
    reason: Annotated[str, says("Why, as one CamelCase word for programs.")]
    last_transition_time: Annotated[datetime, says("When the status last changed.")]
    message: Annotated[str, says("Why, in words, and what to do next.")] = ""
    observed_generation: Annotated[
        int | None, says("The generation of the spec that this was said about.")
    ] = None
