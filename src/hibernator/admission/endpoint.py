"""Where the API server finds the webhooks: behind a Service of its cluster, or at an address outside it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit

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
        """Refuse what the API server would refuse later, with a sentence for whoever wrote it."""
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
