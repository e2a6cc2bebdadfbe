"""Questions to the API server whose whole answers matter: documents to compare, and the time that it has."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import msgspec
from whenever import Instant

from hibernator.kube.credentials import Credentials
from hibernator.kube.transport import error_text

_PATIENCE: Final = aiohttp.ClientTimeout(total=20, sock_connect=10)


class UnreachableError(Exception):
    """No API server answered."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any  # decoded, or the text where that is no JSON
    date: Instant | None  # the server's clock, to the second
    lasted: float  # seconds

    @property
    def ok(self) -> bool:
        return self.status < HTTPStatus.BAD_REQUEST

    @property
    def missing(self) -> bool:
        return self.status == HTTPStatus.NOT_FOUND

    @property
    def forbidden(self) -> bool:
        return self.status == HTTPStatus.FORBIDDEN

    @property
    def message(self) -> str:
        said = self.body.get("message", "") if isinstance(self.body, dict) else self.body
        return str(said).strip() or f"HTTP status {self.status}"


class Asker:
    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self.server = credentials.server

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=_PATIENCE)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def get(self, path: str) -> Answer:
        return await self._ask("GET", path)

    async def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Only for reviews and dry runs: a doctor changes nothing."""
        return await self._ask("POST", path, msgspec.json.encode(body))

    async def _ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        access = await self.credentials.access()
        headers = access.headers.copy()
        headers["Accept"] = headers["Content-Type"] = "application/json"
        begun = Instant.now()
        try:
            async with self._session.request(
                method,
                f"{access.server}{path}",
                data=body,
                headers=headers,
                ssl=access.tls,
                server_hostname=access.server_name,
                proxy=access.proxy,
                allow_redirects=False,
            ) as response:
                text = await response.read()
                date = response.headers.get("Date")
        except (aiohttp.ClientError, ssl.SSLError, OSError, TimeoutError) as error:
            raise UnreachableError(error_text(error)) from error
        lasted = (Instant.now() - begun).total("seconds")
        return Answer(
            response.status, _decoded(text), Instant(parsedate_to_datetime(date)) if date else None, lasted
        )


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text.decode(errors="replace")
