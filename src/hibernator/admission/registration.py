"""Registers the conversion webhook in the CRDs, again whenever someone has changed it.

A merge patch and not an apply: where another manager has written the other way to reach us, an apply could
only add ours to it, and a registration with both is refused.

Where the API server finds the webhooks: behind a Service of its cluster, or at an address outside it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object

_SERVICE_PORT: Final = 443

Locate = Callable[[str], str]  # from the name of a webhook, such as /validate, to its path


def _by_name(webhook: str) -> str:
    return webhook


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    namespace: str
    locate: Locate = _by_name

    @property
    def names(self) -> frozenset[str]:
        """The names that a certificate needs; the API server calls the one that ends in `.svc`."""
        return frozenset(f"{self.name}.{self.namespace}{end}" for end in ("", ".svc", ".svc.cluster.local"))

    def at(self, locate: Locate) -> "Service":
        """The same, with the webhooks at these paths."""
        return replace(self, locate=locate)

    def client_config(self, webhook: str) -> dict[str, Any]:
        """The part of a registration that leads to a webhook; the other way to get there becomes null."""
        path = self.locate(webhook)
        service = {"name": self.name, "namespace": self.namespace, "path": path, "port": _SERVICE_PORT}
        return {"service": service, "url": None}


@dataclass(frozen=True, slots=True)
class Address:
    url: str
    locate: Locate = _by_name

    def __post_init__(self) -> None:
        """Refuse what the API server would refuse later, with a sentence for anyone who wrote it."""
        parts = urlsplit(self.url)
        if parts.scheme != "https" or not parts.hostname:
            raise ValueError(
                f"the webhook URL is {self.url!r}; write https:// and a host, such as https://10.0.0.5:9443"
            )
        if parts.query or parts.fragment or parts.username is not None:
            raise ValueError(f"the webhook URL is {self.url!r}; leave out user, query and fragment")

    @property
    def names(self) -> frozenset[str]:
        return frozenset([urlsplit(self.url).hostname or ""])

    def at(self, locate: Locate) -> "Address":
        return replace(self, locate=locate)

    def client_config(self, webhook: str) -> dict[str, Any]:
        return {"service": None, "url": self.url.rstrip("/") + self.locate(webhook)}


Endpoint = Service | Address


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

    Without a bundle the one that stands there is left to what cares for it, such as cert-manager.
    """
    present = definition.spec.conversion
    if bundle is None and present.webhook:
        bundle = present.webhook.client_config.ca_bundle
    client_config = {**endpoint.client_config(CONVERT), "caBundle": bundle}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client_config}
    wanted = {"strategy": "Webhook", "webhook": webhook}
    return None if present == msgspec.convert(wanted, _Conversion) else {"spec": {"conversion": wanted}}
