"""Access tokens of a service account's key, and of a federated identity, by Google's own library.

What is signed and exchanged for them is google-auth's business; its requests go through our own session,
which follows no redirect and reads no endless answer. The library is loaded for such credentials only.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, Final

import aiohttp
import msgspec
from google.auth import exceptions, identity_pool
from google.auth.credentials import Credentials
from google.auth.transport import Request, Response
from google.oauth2 import service_account
from whenever import Instant

from hibernator.executors.gcp.tokens import FAILED, HOUR, LARGEST, LIMITS, NotLetInError, why
from hibernator.executors.protocol import Retryable
from hibernator.kube import bounded

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
_TOKENS: Final = "https://oauth2.googleapis.com/token"
# google-auth says that it is typed, and annotates little.
_UNTYPED_KEY: Final[Callable[..., Credentials]] = service_account.Credentials.from_service_account_info
_UNTYPED_POOL: Final[Callable[..., Credentials]] = identity_pool.Credentials.from_info
_OAUTH_ERRORS: Final = frozenset(  # RFC 6749, section 5.2, and Google's own
    {
        "access_denied",
        "invalid_client",
        "invalid_grant",
        "invalid_request",
        "invalid_scope",
        "unauthorized_client",
        "unsupported_grant_type",
    }
)


@dataclass(frozen=True, slots=True)
class Key:
    """A service account's key, and where it asks for tokens."""

    token_uri: str
    credentials: Credentials = field(repr=False)


@dataclass(frozen=True, slots=True)
class GoogleTokens:
    """The tokens of credentials that google-auth knows how to refresh."""

    credentials: Credentials = field(repr=False)
    session: aiohttp.ClientSession

    async def fetch(self) -> tuple[str, float]:
        async with asyncio.TaskGroup() as requests:
            carrier = _Carrier(self.session, asyncio.get_running_loop(), requests)
            try:
                refused = await asyncio.to_thread(self._refresh, carrier)
            finally:
                carrier.is_closed = True
        if refused:
            raise refused
        ends = self.credentials.expiry
        seconds = (Instant(ends.replace(tzinfo=UTC)) - Instant.now()).total("seconds") if ends else HOUR
        return str(self.credentials.token), float(seconds)

    def _refresh(self, carrier: Request) -> Retryable | NotLetInError | None:
        """Why there is no new token, if so."""
        try:
            self.credentials.refresh(carrier)  # type: ignore[no-untyped-call]
        except exceptions.TransportError as error:
            return Retryable(f"Google gave no token: {error}")
        except (exceptions.GoogleAuthError, ValueError, TypeError) as error:
            said = f"Google gave no token: {self._said(error)}"
            is_passing = isinstance(error, exceptions.GoogleAuthError) and error.retryable
            return (Retryable if is_passing else NotLetInError)(said[:500])
        return None

    def _said(self, error: Exception) -> str:
        """What went wrong. A key names its address, which may be any server's: only OAuth is repeated."""
        if not isinstance(self.credentials, service_account.Credentials):
            return str(error.args[0]) if error.args else type(error).__name__
        found = error.args[1] if len(error.args) > 1 else None
        if isinstance(found, Mapping) and str(found.get("error")) in _OAUTH_ERRORS:
            return why(found)
        return "what answers is not Google, or refuses the key. Look at its token_uri."


def read_key(text: bytes) -> Key:
    """A service account's key file; NotLetInError when it is none. Says nothing of what is in it."""
    try:
        info = {"token_uri": _TOKENS} | msgspec.json.decode(text, type=dict[str, Any])
        credentials = _UNTYPED_KEY(info, scopes=[SCOPE])
        return Key(str(info["token_uri"]), credentials)
    except (msgspec.DecodeError, UnicodeDecodeError, exceptions.MalformedError) as error:
        raise NotLetInError("It is not the JSON file of a service account's key.") from error
    except (ValueError, TypeError, AttributeError):
        raise NotLetInError("Its private_key cannot be read.") from None


def read_federation(text: bytes) -> Credentials:
    """A credential configuration of workload identity federation; NotLetInError when it is none."""
    try:
        info = msgspec.json.decode(text, type=dict[str, Any])
        if info.get("type") != "external_account":
            raise NotLetInError(f"Its type is {info.get('type')!r}, not 'external_account'.")
        return _UNTYPED_POOL(info, scopes=[SCOPE])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotLetInError("It is not JSON.") from error
    except (exceptions.GoogleAuthError, ValueError, TypeError, AttributeError) as error:
        raise NotLetInError(f"It cannot be used: {str(error)[:300]}") from error


class _Carried(Response):
    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self._found = (status, headers, data)

    @property
    def status(self) -> int:
        return self._found[0]

    @property
    def headers(self) -> Mapping[str, str]:
        return self._found[1]

    @property
    def data(self) -> bytes:
        return self._found[2]


@dataclass(slots=True)
class _Carrier(Request):
    """Carries google-auth's requests, which come from a thread, to the session of the event loop.

    A thread cannot be cancelled; its requests can: they are tasks of the one who waits for the token.
    """

    session: aiohttp.ClientSession
    loop: asyncio.AbstractEventLoop
    requests: asyncio.TaskGroup
    is_closed: bool = False

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ARG002  as google-auth calls it; ours is shorter
        **_more: Any,
    ) -> Response:
        answered: Future[Response] = Future()
        self.loop.call_soon_threadsafe(self._begin, answered, url, method, body, headers)
        try:
            return answered.result(2 * float(LIMITS.total or 0))
        except (*FAILED, CancelledError) as error:
            said = str(error) or type(error).__name__
            raise exceptions.TransportError(said) from error  # type: ignore[no-untyped-call]

    def _begin(self, answered: Future[Response], *asked: Any) -> None:
        if self.is_closed:
            answered.cancel()
        else:
            self.requests.create_task(self._send(answered, *asked))

    async def _send(
        self,
        answered: Future[Response],
        url: str,
        method: str,
        body: bytes | None,
        headers: Mapping[str, str] | None,
    ) -> None:
        try:
            async with self.session.request(
                method, url, data=body, headers=headers, timeout=LIMITS, allow_redirects=False
            ) as answer:
                data = await bounded.read(answer, LARGEST)
                answered.set_result(_Carried(answer.status, answer.headers, data))
        except FAILED as error:
            answered.set_exception(error)
        finally:
            answered.cancel()  # which does nothing to one that has its answer
