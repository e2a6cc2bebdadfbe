"""The OpenID Connect provider as it answers: its description, its keys, and what a code is worth.

Description and keys are remembered for a while and kept when the provider is away. A signature by an unknown
key is a reason to ask for the keys again, but not for each token that is made up.
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
from joserfc.util import to_str, urlsafe_b64decode

from hibernator.kube.clock import Clock
from hibernator.web.checks import is_loopback
from hibernator.web.refusals import LoginRefusedError, ProviderAwayError

# Only what a provider signs with its own key: with `none` or a shared secret, anybody could.
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519", "EdDSA"),
)
_REFRESH: Final = 3600.0  # seconds
_BETWEEN_KEYS: Final = 30.0
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
                now -= _REFRESH - _BETWEEN_KEYS
            self._description, self._described = known, now
            return known

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One asks, and those who wait meanwhile share a failure: each would wait for it anew, in a row."""
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
        """What a token says, once its signature is the provider's."""
        try:
            return jwt.decode(id_token, await self._keys_for(_kid(id_token)), list(ALGORITHMS)).claims
        except (JoseError, msgspec.MsgspecError, ValueError, TypeError, KeyError) as error:
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

    async def _keys_for(self, kid: str | None) -> KeySet:
        """The provider's keys: asked for when they are old, or when a token names another one."""
        uri = (await self.description()).jwks_uri
        async with self._turn():
            known, now = self._keys, self._clock.monotonic()
            strange = known is not None and kid is not None and all(key.kid != kid for key in known)
            if known is not None and now - self._keyed < (_BETWEEN_KEYS if strange else _REFRESH):
                return known
            self._keyed = now
            try:
                found = _key_set(await self._document(uri, dict[str, Any]))
            except ProviderAwayError as error:
                if known is None:
                    raise
                _log.warning("provider keys not reloaded; using the last", why=str(error))
                return known
            self._keys = found
            return found

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


def _kid(token: str) -> str | None:
    header = msgspec.json.decode(urlsafe_b64decode(token.partition(".")[0].encode()))
    kid = header.get("kid") if isinstance(header, dict) else None
    return to_str(kid) if isinstance(kid, str) else None


def _decoded(body: bytes, type_: type[T], where: str) -> T:
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.DecodeError as error:
        raise ProviderAwayError(f"{where} answered with something else than expected") from error
