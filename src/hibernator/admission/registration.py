"""Tells the API server who converts our kinds, and tells it again when somebody changed that.

A merge patch and not an apply: where another manager has written the other way to reach us, an apply could
only add ours to it, and a registration with both is refused.
"""

from typing import Any, Final

import msgspec

from hibernator.admission.endpoint import Endpoint
from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object

CONVERT: Final = "/convert"


class _ServiceReference(Model):
    name: str = ""
    namespace: str = ""
    path: str = ""
    port: int = 0


class _ClientConfig(Model):
    url: str | None = None
    service: _ServiceReference | None = None
    ca_bundle: bytes | None = None


class _WebhookConversion(Model):
    client_config: _ClientConfig = _ClientConfig()
    conversion_review_versions: tuple[str, ...] = ()


class _Conversion(Model):
    strategy: str = ""
    webhook: _WebhookConversion | None = None


class _Spec(Model):
    conversion: _Conversion = _Conversion()


class CustomResourceDefinition(Object):
    """Only what is ours in it."""

    spec: _Spec = _Spec()


DEFINITIONS: Final = Kind(
    CustomResourceDefinition,
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)


def correction(
    definition: CustomResourceDefinition, endpoint: Endpoint, bundle: bytes | None
) -> dict[str, Any] | None:
    """The merge patch after which this kind is converted by us; None when it is already.

    Without a bundle the one that stands there is left to whoever cares for it, such as cert-manager.
    """
    present = definition.spec.conversion
    if bundle is None and present.webhook:
        bundle = present.webhook.client_config.ca_bundle
    client_config = {**endpoint.client_config(CONVERT), "caBundle": bundle}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client_config}
    wanted = {"strategy": "Webhook", "webhook": webhook}
    return None if present == msgspec.convert(wanted, _Conversion) else {"spec": {"conversion": wanted}}
