"""What a CloudProvider leads to, whichever cloud it is, and what must hold before anything is opened.

The operator's own identity is lent to every user who may write a provider. So it is shown only to the cloud
itself, never to an address from the spec.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final
from urllib.parse import urlsplit

from hibernator.api.cloudprovider import CloudProviderSpec
from hibernator.executors.connections import Unusable

_HOST: Final = re.compile(
    r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE
)
_LONGEST_HOST: Final = 253


class Account(ABC):
    """An account or a project that is open. Each cloud has its own, in its folder."""

    cloud: ClassVar[str]

    @property
    @abstractmethod
    def described(self) -> str:
        """What it is, in a sentence about something else."""

    @abstractmethod
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Login:
    """What a provider says, with what its Secret holds."""

    name: str
    uid: str
    spec: CloudProviderSpec
    secret: Mapping[str, bytes] = field(repr=False, hash=False)
    cluster: str = ""  # the id of the one that the provider is in

    @property
    def without_block(self) -> Unusable:
        return Unusable(
            "WrongType", f"The CloudProvider {self.name} is of type {self.spec.type} but has no such block."
        )


def usable(endpoint: str | None) -> None:
    """Refuse what is no address, before a library does with an error of its own."""
    if endpoint is None:
        return
    try:
        address = urlsplit(endpoint)
        host, _port = address.hostname or "", address.port
        is_plain = not (address.query or address.fragment or "@" in address.netloc)
    except ValueError:
        host, is_plain = "", False
    if not (is_plain and len(host) <= _LONGEST_HOST and (":" in host or _HOST.fullmatch(host))):
        raise Unusable(
            "EndpointInvalid",
            f"endpointURL is {endpoint[:_LONGEST_HOST]!r}: write http:// or https://, a host, and perhaps a "
            "port and a path, such as https://ec2.internal:8443; without user, query and fragment.",
        )


def trusted(endpoint: str | None, hosts: tuple[str, ...]) -> None:
    address = urlsplit(endpoint) if endpoint else None
    if address and not (address.scheme == "https" and (address.hostname or "").endswith(hosts)):
        raise Unusable(
            "EndpointNotTrusted",
            f"endpointURL is {endpoint}, where the operator does not show its own identity. "
            f"Use keys from a Secret, remove endpointURL, or give an https address under {hosts[0][1:]}.",
        )
