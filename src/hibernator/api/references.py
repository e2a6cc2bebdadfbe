"""How objects point at each other."""

from typing import Annotated, Literal

from hibernator.api.meta import Model, says

# The rules for names are Kubernetes' own: of objects, and of what becomes a label or a part of a name.
OBJECT_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
SHORT_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

Namespace = Annotated[
    str | None, says("Its namespace, when it is not this object's own.", pattern=SHORT_NAME, maxLength=63)
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
