"""Where the API server finds the webhooks: behind a Service of its cluster, or at an address outside it."""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

_SERVICE_PORT: Final = 443


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    namespace: str

    @property
    def names(self) -> frozenset[str]:
        """The names that a certificate needs; the API server calls the one that ends in `.svc`."""
        return frozenset(f"{self.name}.{self.namespace}{end}" for end in ("", ".svc", ".svc.cluster.local"))

    def client_config(self, path: str) -> dict[str, Any]:
        """The part of a registration that leads to a webhook; the other way to get there becomes null."""
        service = {"name": self.name, "namespace": self.namespace, "path": path, "port": _SERVICE_PORT}
        return {"service": service, "url": None}


@dataclass(frozen=True, slots=True)
class Address:
    url: str

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

    def client_config(self, path: str) -> dict[str, Any]:
        return {"service": None, "url": self.url.rstrip("/") + path}


Endpoint = Service | Address
