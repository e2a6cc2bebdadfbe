"""The base of everything that users write and the API server stores.

Decoding enforces types and enumerations only. Patterns, bounds and cross-field rules go into the CRD (and
into `hibernator validate`), not into the decoder: an object that slipped past an older CRD must reach the
controller that can say in its status what is wrong with it, and must never break the list that it is in.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, dataclass_transform

import msgspec

Rule = Mapping[str, str]  # one entry of x-kubernetes-validations


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

    RULES: ClassVar[tuple[Rule, ...]] = ()  # what the API server shall check about the value as a whole


def says(description: str, **schema: Any) -> msgspec.Meta:
    """Describe a field, with whatever more the CRD's schema shall say about it.

    Keywords are JSON schema words (`pattern`, `minimum`, `maxItems`, `default`, …) and the Kubernetes
    extensions with underscores for dashes (`x_kubernetes_list_type="map"`). `required=True` makes a field
    required that the decoder, in its leniency, can do without.
    """
    return msgspec.Meta(
        description=description,
        extra_json_schema={
            key.replace("_", "-") if key.startswith("x_") else key: value for key, value in schema.items()
        },
    )


def rule(cel: str, message: str, *, naming: str = "", field: str = "", reason: str = "") -> Rule:
    """Write a CEL rule for `RULES`, with the sentence that a user reads when it does not hold.

    `naming` is a CEL expression for a better sentence, one that names what is wrong. `field` is the path
    below the value that the refusal points at, such as `.leadTime`.
    """
    words = {
        "rule": cel,
        "message": message,
        "messageExpression": naming,
        "fieldPath": field,
        "reason": reason,
    }
    return {key: word for key, word in words.items() if word}


def unchanged(path: str) -> str:
    """Write the CEL that a field is as it was.

    Spelled out, because `.?` hides the sizes of things from the API server's estimate of what a rule costs.
    """
    new, old = f"self.{path}", f"oldSelf.{path}"
    return f"(has({new}) == has({old}) && (!has({new}) || {new} == {old}))"


def kept(path: str) -> str:
    """Write the CEL that a list below `status` has lost nothing and that nothing in it was changed."""
    old, new = f"oldSelf.status.{path}", f"self.status.{path}"
    return (
        f"(!has(oldSelf.status) || !has({old})"
        f" || (has(self.status) && has({new}) && {old}.all(entry, entry in {new})))"
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

    type: Annotated[
        str,
        says(
            "What the condition is about, in CamelCase.",
            pattern=r"^([A-Za-z0-9][A-Za-z0-9.-]*/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$",
            maxLength=316,
        ),
    ]
    status: Annotated[str, says("Whether it is true.", enum=["True", "False", "Unknown"])]
    reason: Annotated[
        str,
        says(
            "Why, as one CamelCase word for programs.",
            pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            minLength=1,
            maxLength=1024,
        ),
    ]
    last_transition_time: Annotated[datetime, says("When the status last changed.")]
    message: Annotated[str, says("Why, in words, and what to do next.", maxLength=32768)] = ""
    observed_generation: Annotated[
        int | None, says("The generation of the spec that this was said about.", minimum=0)
    ] = None


Conditions = Annotated[
    tuple[Condition, ...],
    says(
        "What is true now, one entry for each type.",
        maxItems=16,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["type"],
    ),
]

ObservedGeneration = Annotated[
    int | None,
    says("The generation of the spec that this status is for; older than the object's: stale."),
]


# The rules for names are Kubernetes' own: of objects, and of what becomes a label or a part of a name.
OBJECT_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
SHORT_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
NAMESPACE_OR_ALL = r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$"

Namespace = Annotated[
    str | None, says("Its namespace, when it is not this object's own.", pattern=SHORT_NAME, maxLength=63)
]


AllowedNamespaces = Annotated[
    tuple[
        Annotated[
            str,
            says("A namespace, or `*` for all of them.", pattern=NAMESPACE_OR_ALL, maxLength=63),
        ],
        ...,
    ],
    says(
        "The other namespaces whose plans and K8SClusters may use it. Without any, only those of its own "
        "namespace may.",
        maxItems=100,
        x_kubernetes_list_type="set",
    ),
]


class LocalReference(Model):
    """Another object of the same namespace; the field says of which kind."""

    name: Annotated[str, says("Its name.", pattern=OBJECT_NAME, maxLength=253)]


class ProviderReference(Model):
    name: Annotated[str, says("The name of the CloudProvider.", pattern=OBJECT_NAME, maxLength=253)]
    namespace: Namespace = None


class ConnectorReference(Model):
    kind: Annotated[Literal["CloudProvider", "K8SCluster"], says("What kind of connector it is.")]
    name: Annotated[str, says("The name of the connector.", pattern=OBJECT_NAME, maxLength=253)]
    namespace: Namespace = None


class SecretReference(Model):
    """A Secret beside the object: credentials are never fetched across namespaces."""

    name: Annotated[
        str, says("The name of a Secret in this object's namespace.", pattern=OBJECT_NAME, maxLength=253)
    ]


MOST_UNRECORDED = (
    500  # some 75 kB; only an object that changes that often while the database is away gets there
)


class Transition(Model):
    number: Annotated[int, says("Counts the transitions of this object; it names this one for ever.")]
    type: Annotated[str, says("What happened, as the audit trail calls it.", maxLength=64)]
    at: Annotated[datetime, says("When.")]
    message: Annotated[str, says("What happened, in words.", maxLength=4096)] = ""
    data: Annotated[Mapping[str, int | str], says("What belongs to it, by name.")] = msgspec.field(
        default_factory=dict
    )
    identity: Annotated[
        tuple[Annotated[str, says("A part of it.", maxLength=512)], ...] | None,
        says(
            "What sets it apart from others of its type in the audit trail; without it, number and time do.",
            maxItems=4,
            x_kubernetes_list_type="atomic",
        ),
    ] = None


Journal = Annotated[
    tuple[Transition, ...],
    says(
        "What happened last, and all that the audit trail does not have yet.",
        maxItems=MOST_UNRECORDED,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["number"],
    ),
]


class ReadyStatus(Model):
    """The status of a kind of which there is one thing to say: whether it is ready."""

    observed_generation: ObservedGeneration = None
    conditions: Conditions = ()
    journal: Journal = ()


MOST_STRAYS = 20


class Stray(Model):
    """Something that sleeps although the plan that put it to sleep is gone, as its mark says."""

    type: Annotated[str, says("The type of target that it is an item of, such as `ec2`.", maxLength=63)]
    item: Annotated[str, says("Which one it is, as restore data names it.", maxLength=512)]
    plan: Annotated[str, says("The plan, as `namespace/name`.", maxLength=317)]
    target: Annotated[str, says("The target of that plan.", maxLength=63)]
    cycle: Annotated[int, says("The cycle in which it fell asleep.", minimum=0)] = 0


class ConnectorStatus(ReadyStatus):
    """The status of what targets are reached by."""

    strays: Annotated[
        tuple[Stray, ...],
        says(
            "What plans of this cluster that are gone have left asleep there: the first of them, by name.",
            maxItems=MOST_STRAYS,
            x_kubernetes_list_type="atomic",
        ),
    ] = ()
