"""The way out to addresses that users wrote: TLS, no redirects, and nothing inside of the cluster.

Where a name leads is checked at the moment of the connection, on the very address that is connected to, so
that a name which changes in between gets no one further. Networks that the administrator allows are excepted;
plain http is accepted there and nowhere else.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit

import aiohttp
from aiohappyeyeballs import AddrInfoType
from aiohttp.abc import AbstractResolver, ResolveResult

from hibernator.kube import bounded
from hibernator.kube.backoff import asked_to_wait
from hibernator.messages.channel import AwayError, RefusedError

Networks = Sequence[IPv4Network | IPv6Network]
T = TypeVar("T")

SECONDS: Final = 15.0
_LOOK_UPS: Final = 32  # at a time: a name server that does not answer keeps one for half a minute
_IS_NUMBER: Final = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
_NAT64: Final = ip_network("64:ff9b::/96")
_UNICAST: Final = ip_network(
    "2000::/3"
)  # all of IPv6 that the Internet has; the rest is for inside, or for no one
# Not private by their registration, and yet inside: the platforms of Azure and Oracle, documentation.
_INSIDE: Final = tuple(map(ip_network, ("168.63.129.16/32", "192.0.0.0/24", "3fff::/20")))
_MOST_ANSWER: Final = 64 * 1024
_MOST_RECEIVED: Final = 4 * _MOST_ANSWER  # with headers, certificates and what frames them
_AT_ONCE: Final = 16 * 1024  # of it, between two turns of others
_SHORTEST_REQUEST: Final = 100
_LONGEST_SECRET: Final = 8192  # characters
_TAKEN: Final = range(200, 300)
REDIRECT: Final = range(300, 400)
_TOO_MANY: Final = 429
_UNAVAILABLE: Final = 503
# What is wrong with the message itself. Everything else may work later, when an administrator has looked.
_ABOUT_THE_MESSAGE: Final = frozenset({400, 413, 415, 422})


class ForbiddenAddressError(OSError):
    """The address is one that sinks must not reach."""


class EndlessError(ConnectionError):
    """More came back than any answer has."""


class BoundedSocket(socket.socket):
    """A socket that ends a connection over which far too much comes back for one request.

    A server may send `100 Continue` for ever, which the HTTP client reads and skips without a limit of its
    own. A few such servers would keep the event loop, and all pages with it, busy for seconds.
    """

    _room = _MOST_RECEIVED

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        return self._counted(found := super().recv(min(bufsize, _AT_ONCE), flags), len(found))

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0, /) -> int:
        return self._counted(
            size := super().recv_into(buffer, min(nbytes or len(buffer), _AT_ONCE), flags), size
        )

    def send(self, data: Any, flags: int = 0, /) -> int:
        return self._asked(super().send(data, flags))

    def sendmsg(self, *given: Any) -> int:
        return self._asked(super().sendmsg(*given))

    def _counted(self, found: T, size: int) -> T:
        self._room -= size
        if self._room < 0:
            raise EndlessError
        return found

    def _asked(self, size: int) -> int:
        """A new request makes new room; what TLS says of itself in between is shorter than any."""
        if size >= _SHORTEST_REQUEST:
            self._room = _MOST_RECEIVED
        return size


@dataclass(frozen=True, slots=True)
class Answer:
    host: str
    status: int
    body: bytes
    after: float | None = None  # the seconds that it asks to wait


def is_allowed(address: str, networks: Networks) -> bool:
    """Whether a sink may be at an address: in the open Internet, or where the administrator says."""
    return is_inside(address, networks) or _is_in_the_internet(_meant(address))


def _is_in_the_internet(found: IPv4Address | IPv6Address) -> bool:
    if isinstance(found, IPv6Address) and found not in _UNICAST:
        return False
    return found.is_global and not found.is_multicast and not _is_in(found, _INSIDE)


def _meant(address: str) -> IPv4Address | IPv6Address:
    """The address; of an IPv4 address that is wrapped into one of IPv6, what is inside."""
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv4Address):
        return found
    if found in _NAT64:
        return IPv4Address(int(found) & 0xFFFF_FFFF)
    return found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else found)


def is_inside(address: str, networks: Networks) -> bool:
    return _is_in(_meant(address), networks)


def _is_in(found: IPv4Address | IPv6Address, networks: Networks) -> bool:
    return any(found.version == network.version and found in network for network in networks)


class Names(AbstractResolver):
    """Looks names up in threads of its own, so that a name server that never answers keeps no one waiting."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_LOOK_UPS, "names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        look_up = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        return [
            ResolveResult(
                hostname=host, host=str(where[0]), port=port, family=kind, proto=protocol, flags=_IS_NUMBER
            )
            for kind, _, protocol, _, where in found
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Outbound:
    """`async with Outbound(networks) as out: await out.post(url, …)`."""

    def __init__(
        self, networks: Networks = (), trust: ssl.SSLContext | None = None, seconds: float = SECONDS
    ) -> None:
        self._networks = networks
        self._seconds = seconds
        self._trust = trust
        self._names = Names()
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    async def __aenter__(self) -> Self:
        for scheme in ("https", "http"):
            connector = aiohttp.TCPConnector(
                ssl=self._trust or True,
                socket_factory=partial(self._socket, scheme),
                resolver=self._names,
                ttl_dns_cache=10,
                limit=0,  # there are no more than there are workers, and one that hangs is in no other's way
            )
            self._sessions[scheme] = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=self._seconds),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "hibernator"},
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in self._sessions.values():
            await session.close()
        await self._names.close()

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """The answer of a sink that took it; raises RefusedError or AwayError, neither with the address."""
        return taken(await self.ask(url, body, headers))

    async def ask(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Whatever a sink answers; raises AwayError where it does not."""
        scheme, host = self._check(url)
        try:
            async with self._sessions[scheme].post(
                url, data=body, headers=headers, allow_redirects=False
            ) as response:
                said = await bounded.read(response, _MOST_ANSWER)
                return Answer(host, response.status, said, asked_wait(response.headers))
        except ForbiddenAddressError as error:
            raise AwayError(str(error)) from None
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, ForbiddenAddressError):
                raise AwayError(str(error.os_error)) from None
            raise AwayError(f"{host} cannot be reached: {_why(error)}") from None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise AwayError(f"{host} does not answer: {_why(error)}") from None

    def _check(self, url: str) -> tuple[str, str]:
        """The scheme and the host; raises where the address is none to send to."""
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname or "", parts.port
        except ValueError:
            raise AwayError("the address in the Secret is no URL") from None
        if not host or parts.scheme not in {"https", "http"}:
            raise AwayError("the address in the Secret must begin with https://")
        if parts.scheme == "http" and not self._networks:
            raise AwayError("the address in the Secret begins with http://: write https://")
        return parts.scheme, host

    def _socket(self, scheme: str, where: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = where
        host = str(address[0])
        if not is_allowed(host, self._networks):
            raise ForbiddenAddressError(
                f"the address {host} is inside of the cluster or its network, where sinks must not be: "
                "an administrator can allow networks with notificationNetworks"
            )
        if scheme == "http" and not is_inside(host, self._networks):
            raise ForbiddenAddressError("plain http is accepted only in notificationNetworks: write https://")
        return BoundedSocket(family, kind, protocol)


def json_headers(more: Mapping[str, str] | None = None) -> dict[str, str]:
    return {"Content-Type": "application/json", **(more or {})}


def taken(answer: Answer) -> Answer:
    status = answer.status
    if status in _TAKEN:
        return answer
    words = f"{answer.host} answered {status}"
    if status in REDIRECT:
        raise AwayError(f"{words}, a redirect, and none is followed: write the address that it leads to")
    if status in {_TOO_MANY, _UNAVAILABLE}:
        raise AwayError(words, after=answer.after)
    # `config.hide` shortens it further: half a secret at the end of it would not be found.
    said = answer.body.decode(errors="replace")[:_LONGEST_SECRET].strip()
    if status in _ABOUT_THE_MESSAGE:
        raise RefusedError(f"{words}: {said}" if said else words)
    raise AwayError(f"{words}: {said}" if said else words)


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds of Retry-After; where it is a moment, by the clock of the sink, which says it in Date."""
    after = headers.get("Retry-After", "")
    if (seconds := asked_to_wait(after)) is not None:
        return seconds
    try:
        until, now = parsedate_to_datetime(after), parsedate_to_datetime(headers.get("Date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):  # no moment, or one of them without a zone
        return None


def _why(error: BaseException) -> str:
    if isinstance(error.__cause__, EndlessError) or isinstance(error, EndlessError):
        return "its answer has no end"
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError):
        return "its certificate is not trusted"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known"
    if isinstance(error, TimeoutError | asyncio.TimeoutError):
        return f"no answer within {SECONDS:g} seconds"
    inner: Any = getattr(error, "os_error", None) or error
    return str(getattr(inner, "strerror", "") or type(inner).__name__)
