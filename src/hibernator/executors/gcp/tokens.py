"""Access tokens for Google's APIs: the one of this moment, and that of the machine itself.

They hold for an hour. One is asked for when the last has nearly run out, or when Google refuses it.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import aiohttp
import msgspec

from hibernator.executors.protocol import Permanent, Retryable
from hibernator.kube import bounded

METADATA: Final = "http://metadata.google.internal"
_METADATA_PATH: Final = "/computeMetadata/v1/instance/service-accounts/default/token"
HOUR: Final = 3600
LIMITS: Final = aiohttp.ClientTimeout(total=20.0)
LARGEST: Final = 2**20  # bytes of an answer
FAILED: Final = (aiohttp.ClientError, OSError, TimeoutError)
_EARLY: Final = 120.0  # seconds before its end in which a token is not used any more
_OK: Final = 200
_SERVER_ERRORS: Final = 500


class NotLetInError(Permanent):
    """Google does not accept the key, or gives this process no identity."""


class _Answer(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float = float(HOUR)


class TokenSource(Protocol):
    async def fetch(self) -> tuple[str, float]:
        """A new token, and for how many seconds it holds."""


@dataclass(slots=True, eq=False)
class Tokens:
    """The token of this moment."""

    source: TokenSource
    _token: str = field(default="", repr=False)
    _until: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def get(self, *, refused: str = "") -> str:
        """A token that holds for a while, and is not the one that was refused."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if not self._token or now >= self._until or self._token == refused:
                self._token, seconds = await self.source.fetch()
                self._until = now + seconds - _EARLY
            return self._token


@dataclass(frozen=True, slots=True)
class MetadataTokens:
    """Asks the machine below who this process is: workload identity, or the node's own account."""

    session: aiohttp.ClientSession
    server: str = METADATA

    async def fetch(self) -> tuple[str, float]:
        headers = {"Metadata-Flavor": "Google"}
        return await _ask(self.session, "GET", f"{self.server}{_METADATA_PATH}", headers=headers)


async def _ask(session: aiohttp.ClientSession, method: str, url: str, **more: Any) -> tuple[str, float]:
    try:
        async with session.request(method, url, timeout=LIMITS, allow_redirects=False, **more) as answer:
            body = await bounded.read(answer, LARGEST)
    except FAILED as error:
        raise Retryable(f"Google gave no token: {str(error) or type(error).__name__}") from error
    if answer.status >= _SERVER_ERRORS:
        raise Retryable(f"Google gave no token: it answered {answer.status}.")
    try:
        if answer.status == _OK:
            found = msgspec.json.decode(body, type=_Answer)
            return found.access_token, found.expires_in
        said = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        said = {}
    raise NotLetInError(f"Google gave no token: {why(said) or answer.status}.")


def why(said: Mapping[str, Any]) -> str:
    """What an answer says of why there is no token."""
    return ": ".join(str(said[key])[:200] for key in ("error", "error_description") if key in said)
