"""The way of a process to what the operator serves (`kube/reading.py`): over HTTPS.

The process shows the token of its own account, and trusts the certificates that the operator publishes in a
ConfigMap, or those of a file.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp

from hibernator.api.core import CONFIG_MAPS
from hibernator.kube.client import Client
from hibernator.kube.credentials import Credentials
from hibernator.kube.errors import ApiError
from hibernator.kube.reading import ReadApiError

AUTHORITY: Final = "hibernator-trail-ca"  # the ConfigMap with the certificates to trust, and its key
AUTHORITY_KEY: Final = "ca.crt"

_DEADLINE: Final = 15.0  # seconds; the operator itself gives up after ten
_LARGEST: Final = 32 * 1024 * 1024  # bytes of an answer: a page of the largest events has less

Authority = Callable[[], Awaitable[bytes]]


def from_config_map(client: Client, namespace: str) -> Authority:
    """What the operator publishes; it can change while we run."""

    async def read() -> bytes:
        try:
            found = await client.get(CONFIG_MAPS, AUTHORITY, namespace)
        except ApiError as error:
            raise ReadApiError(
                f"The ConfigMap {AUTHORITY} in {namespace} cannot be read: {error.message}. The operator "
                "writes it when its setting trailListen is there."
            ) from error
        return found.data.get(AUTHORITY_KEY, "").encode()

    return read


def from_file(file: Path) -> Authority:
    async def read() -> bytes:
        try:
            return await asyncio.to_thread(file.read_bytes)
        except OSError as error:
            raise ReadApiError(f"trailCaFile is {str(file)!r}: {error.strerror}.") from error

    return read


class Remote:
    """An operator to ask; AwayError says why there is no answer."""

    def __init__(
        self, url: str, session: aiohttp.ClientSession, credentials: Credentials, authority: Authority
    ) -> None:
        self.url: Final = url.rstrip("/")
        self._session = session
        self._credentials = credentials
        self._authority = authority
        self._tls: ssl.SSLContext | None = None

    async def get(self, path: str, parameters: Mapping[str, str]) -> bytes:
        try:
            async with asyncio.timeout(_DEADLINE):
                try:
                    return await self._ask(path, parameters)
                except aiohttp.ClientConnectorCertificateError:
                    self._tls = None  # the operator may have another authority by now
                    return await self._ask(path, parameters)
        except TimeoutError as error:
            raise ReadApiError(f"The operator at {self.url} does not answer in time.") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ReadApiError(f"The operator at {self.url} cannot be reached: {error}.") from error

    async def _ask(self, path: str, parameters: Mapping[str, str]) -> bytes:
        authorization = (await self._credentials.access()).headers.get("Authorization", "")
        if not authorization.startswith("Bearer "):
            raise ReadApiError("This process has no token of the cluster to show to the operator.")
        async with self._session.get(
            f"{self.url}{path}",
            params=parameters,
            headers={"Authorization": authorization},
            ssl=await self._trust(),
            allow_redirects=False,
        ) as answer:
            body = await _bounded(answer.content)
            if answer.status != HTTPStatus.OK:
                raise ReadApiError(_why(self.url, answer.status, body))
            return body

    async def _trust(self) -> ssl.SSLContext:
        if self._tls is None:
            authority = await self._authority()
            try:
                tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                tls.load_verify_locations(cadata=authority.decode())
            except (ssl.SSLError, ValueError) as error:
                raise ReadApiError(
                    f"The certificates to trust for {self.url} cannot be used: {error}."
                ) from error
            self._tls = tls
        return self._tls


async def _bounded(content: aiohttp.StreamReader) -> bytes:
    found = bytearray()
    async for chunk in content.iter_any():
        found += chunk
        if len(found) > _LARGEST:
            raise ReadApiError(f"An answer of the operator has more than {_LARGEST} bytes.")
    return bytes(found)


def _why(url: str, status: int, body: bytes) -> str:
    words = body[:500].decode(errors="replace").strip()
    return f"The operator at {url} answers {status}: {words or 'nothing else'}"
