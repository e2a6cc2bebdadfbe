"""The OpenID Connect provider as it answers: its description, its keys, and what a code is worth.

Description and keys are remembered for a while and kept when the provider is away. A signature by an unknown
key is a reason to ask for the keys again at once, but not for each token that is made up.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec
import structlog
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import Key, KeySet

from hibernator.kube.clock import Clock
from hibernator.web.checks import is_loopback
from hibernator.web.refusals import LoginRefusedError, ProviderAwayError

# Only what a provider signs with its own key: with `none` or a shared secret, anybody could.
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519", "EdDSA"),
)
_REFRESH: Final = 3600.0  # seconds
_SOON: Final = 30.0  # until the next try, where the provider was away
_BETWEEN_KEYS: Final = 5.0  # seconds between two questions about keys that are not known
_PATIENCE: Final = aiohttp.ClientTimeout(total=10)
_MOST: Final = 1 << 20  # bytes of an answer
_OK: Final = 200
_CALLERS_FAULT: Final = range(400, 500)

_log: Final = structlog.get_logger(__name__)

T = TypeVar("T")


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of `.well-known/openid-configuration` that we use."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    id_token: str
    access_token: str = ""


class _Problem(msgspec.Struct, frozen=True, kw_only=True):
    error: str = ""


class Provider:
    def __init__(
        self, issuer: str, session: aiohttp.ClientSession, clock: Clock, tls: ssl.SSLContext | None = None
    ) -> None:
        self.issuer = issuer
        self._session = session
        self._clock = clock
        self._tls: ssl.SSLContext | bool = tls or True
        self._fetching = asyncio.Lock()
        self._failure: tuple[float, str] | None = None  # when and why asking failed last
        self._description: Description | None = None
        self._described = 0.0
        self._keys: KeySet | None = None
        self._keyed = 0.0
        self._doubted: float | None = None  # when the keys were last asked for because of a token

    async def description(self) -> Description:
        async with self._turn():
            known, now = self._description, self._clock.monotonic()
            if known and now - self._described < _REFRESH:
                return known
            try:
                known = await self._describe()
            except ProviderAwayError as error:
                if not known:
                    raise
                _log.warning("provider metadata not reloaded; using the last", why=str(error))
                now -= _REFRESH - _SOON
            self._description, self._described = known, now
            return known

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One asks, and those who wait meanwhile share a failure: each would wait for it again, in a row."""
        arrived = self._clock.monotonic()
        async with self._fetching:
            if self._failure and self._failure[0] > arrived:
                raise ProviderAwayError(self._failure[1])
            try:
                yield
            except ProviderAwayError as error:
                self._failure = self._clock.monotonic(), str(error)
                raise

    async def claims(self, id_token: str) -> Mapping[str, Any]:
        """What a token says, once its signature is the provider's, also right after it changed its keys."""
        known = await self._known_keys()
        try:
            return _signed(id_token, known)
        except _NOT_SIGNED as error:
            try:
                return _signed(id_token, await self._keys_after(known))
            except _NOT_SIGNED:
                words = "The provider's answer is not signed by the provider."
                raise LoginRefusedError("signature", words, "Log in again.") from error

    async def exchange(
        self, code: str, verifier: str, redirect: str, client_id: str, client_secret: str
    ) -> Tokens:
        """What a code is worth. A code works once: LoginRefusedError where the provider takes it no more."""
        described = await self.description()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect}
        form |= {"code_verifier": verifier, "client_id": client_id}
        headers: dict[str, str] = {}
        if client_secret and "client_secret_basic" in described.token_endpoint_auth_methods_supported:
            login = quote(client_id, safe=""), quote(client_secret, safe="")
            headers["Authorization"] = aiohttp.encode_basic_auth(*login)
            del form["client_id"]
        elif client_secret:
            form["client_secret"] = client_secret
        status, body = await self._ask("POST", described.token_endpoint, headers=headers, data=form)
        if status != _OK:
            problem = _decoded(body, _Problem, "the token endpoint") if status in _CALLERS_FAULT else None
            _log.warning(
                "provider refused a code", status=status, error=problem.error[:40] if problem else ""
            )
            if problem and problem.error == "invalid_grant":
                words = "This log-in was used already, or took too long."
                raise LoginRefusedError("code", words, "Log in again.")
            raise ProviderAwayError(f"the token endpoint answered {status}")
        return _decoded(body, Tokens, "the token endpoint")

    async def userinfo(self, access_token: str) -> Mapping[str, Any]:
        """What the provider says of a person besides the ID token; nothing where it has no such place."""
        endpoint = (await self.description()).userinfo_endpoint
        if not endpoint or not access_token:
            return {}
        headers = {"Authorization": f"Bearer {access_token}"}
        status, body = await self._ask("GET", endpoint, headers=headers)
        if status != _OK:
            raise ProviderAwayError(f"the userinfo endpoint answered {status}")
        return _decoded(body, dict[str, Any], "the userinfo endpoint")

    async def _describe(self) -> Description:
        address = self.issuer.rstrip("/") + "/.well-known/openid-configuration"
        found = await self._document(address, Description)
        if found.issuer != self.issuer:
            raise ProviderAwayError(
                f"it calls itself {found.issuer!r} and not {self.issuer!r}; write oidcIssuer exactly so"
            )
        for endpoint in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri):
            self._check_address(endpoint)
        if found.userinfo_endpoint:
            self._check_address(found.userinfo_endpoint)
        return found

    def _check_address(self, endpoint: str) -> None:
        """Nothing of a log-in goes over the network in the clear."""
        url = urlsplit(endpoint)
        plain = url.scheme == "http" and is_loopback(url.hostname) and self.issuer.startswith("http://")
        if url.scheme != "https" and not plain:
            raise ProviderAwayError(f"its address {endpoint!r} does not begin with https://")

    async def _known_keys(self) -> KeySet:
        """The provider's keys, asked for again when they are old."""
        uri = (await self.description()).jwks_uri
        async with self._turn():
            if self._keys is not None and self._clock.monotonic() - self._keyed < _REFRESH:
                return self._keys
            return await self._ask_keys(uri)

    async def _keys_after(self, known: KeySet) -> KeySet:
        """The keys that came after those by which a token is not signed; the same where it is too soon."""
        uri = (await self.description()).jwks_uri
        async with self._turn():
            now = self._clock.monotonic()
            if self._keys is not known:
                return self._keys or known
            if self._doubted is not None and now - self._doubted < _BETWEEN_KEYS:
                return known
            self._doubted = now
            return await self._ask_keys(uri)

    async def _ask_keys(self, uri: str) -> KeySet:
        known, self._keyed = self._keys, self._clock.monotonic()
        try:
            self._keys = _key_set(await self._document(uri, dict[str, Any]))
        except ProviderAwayError as error:
            if known is None:
                raise
            _log.warning("provider keys not reloaded; using the last", why=str(error))
            return known
        return self._keys

    async def _document(self, address: str, type_: type[T]) -> T:
        status, body = await self._ask("GET", address)
        if status != _OK:
            raise ProviderAwayError(f"{address} answered {status}")
        return _decoded(body, type_, address)

    async def _ask(self, method: str, address: str, **more: Any) -> tuple[int, bytes]:
        headers = {"Accept": "application/json"} | more.pop("headers", {})
        try:
            async with self._session.request(
                method,
                address,
                headers=headers,
                ssl=self._tls,
                timeout=_PATIENCE,
                allow_redirects=False,
                **more,
            ) as answer:
                body = await answer.content.read(_MOST + 1)
                while len(body) <= _MOST and (chunk := await answer.content.read(_MOST)):
                    body += chunk
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise ProviderAwayError(f"{address} does not answer: {type(error).__name__}") from error
        if len(body) > _MOST:
            raise ProviderAwayError(f"{address} answered with more than {_MOST} bytes")
        return answer.status, body


def _key_set(document: Mapping[str, Any]) -> KeySet:
    """The keys that can be used: one of a kind that is unknown here hides no other (RFC 7517, section 5)."""
    listed = document.get("keys")
    found = [key for one in (listed if isinstance(listed, list) else []) for key in _usable(one)]
    if not found:
        raise ProviderAwayError("its keys cannot be used")
    return KeySet(found)


def _usable(one: Any) -> Sequence[Key]:
    try:
        return KeySet.import_key_set({"keys": [one]}).keys
    except (JoseError, ValueError, KeyError, TypeError):
        return ()


_NOT_SIGNED: Final = (JoseError, ValueError, TypeError, KeyError, RecursionError)


def _signed(token: str, keys: KeySet) -> Mapping[str, Any]:
    return jwt.decode(token, keys, list(ALGORITHMS)).claims


def _decoded(body: bytes, type_: type[T], where: str) -> T:
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.DecodeError as error:
        raise ProviderAwayError(f"{where} answered with something else than expected") from error
