"""Access tokens for Google's APIs: from a service account's key, or from the metadata server of the machine.

They hold for an hour. One is asked for when the last has nearly run out, or when Google refuses it.
"""

import asyncio
import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import aiohttp
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from whenever import Instant

from hibernator.executors.protocol import Permanent, Retryable
from hibernator.kube import bounded

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
METADATA: Final = "http://metadata.google.internal"
_METADATA_PATH: Final = "/computeMetadata/v1/instance/service-accounts/default/token"
_GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_HOUR: Final = 3600
_EARLY: Final = 120.0  # seconds before its end in which a token is not used any more
_LIMITS: Final = aiohttp.ClientTimeout(total=20.0)
_LARGEST: Final = 2**20  # bytes of an answer
_OK: Final = 200
_SERVER_ERRORS: Final = 500


class NotLetInError(Permanent):
    """Google does not accept the key, or gives this process no identity."""


class ServiceAccountKey(msgspec.Struct, frozen=True):
    """The file that Google gives out for a service account, as far as it is needed."""

    client_email: str
    private_key: str
    private_key_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105 — an address

    def __repr__(self) -> str:
        return f"ServiceAccountKey(client_email={self.client_email!r})"


class _Answer(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float = float(_HOUR)


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
class KeyTokens:
    """Signs for itself that it is the service account, and gets a token for that."""

    key: ServiceAccountKey
    session: aiohttp.ClientSession
    now: Callable[[], Instant]

    async def fetch(self) -> tuple[str, float]:
        form = {"grant_type": _GRANT, "assertion": self._assertion()}
        return await _ask(self.session, "POST", self.key.token_uri, data=form)

    def _assertion(self) -> str:
        issued = self.now().timestamp()
        header = {"alg": "RS256", "typ": "JWT", "kid": self.key.private_key_id}
        claims = {
            "iss": self.key.client_email,
            "scope": SCOPE,
            "aud": self.key.token_uri,
            "iat": issued,
            "exp": issued + _HOUR,
        }
        signed = f"{_packed(header)}.{_packed(claims)}"
        signature = _private_key(self.key).sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_url_safe(signature)}"


@dataclass(frozen=True, slots=True)
class MetadataTokens:
    """Asks the machine below who this process is: workload identity, or the node's own account."""

    session: aiohttp.ClientSession
    server: str = METADATA

    async def fetch(self) -> tuple[str, float]:
        headers = {"Metadata-Flavor": "Google"}
        return await _ask(self.session, "GET", f"{self.server}{_METADATA_PATH}", headers=headers)


def read_key(text: bytes) -> ServiceAccountKey:
    """A key file; NotLetInError when it is none. Says nothing of what is in it."""
    try:
        key = msgspec.json.decode(text, type=ServiceAccountKey)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotLetInError("It is not the JSON file of a service account's key.") from error
    _private_key(key)
    return key


def _private_key(key: ServiceAccountKey) -> rsa.RSAPrivateKey:
    try:
        found = serialization.load_pem_private_key(key.private_key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise NotLetInError("Its private_key cannot be read.") from None
    if not isinstance(found, rsa.RSAPrivateKey):
        raise NotLetInError("Its private_key is not an RSA key.")
    return found


async def _ask(session: aiohttp.ClientSession, method: str, url: str, **more: Any) -> tuple[str, float]:
    try:
        async with session.request(method, url, timeout=_LIMITS, allow_redirects=False, **more) as answer:
            body = await bounded.read(answer, _LARGEST)
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
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
    raise NotLetInError(f"Google gave no token: {_why(said) or answer.status}.")


def _why(said: Mapping[str, Any]) -> str:
    return ": ".join(str(said[key])[:200] for key in ("error", "error_description") if key in said)


def _packed(document: Mapping[str, Any]) -> str:
    return _url_safe(msgspec.json.encode(document))


def _url_safe(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
