"""An OpenID Connect provider on loopback that lies on demand: what a real one would never say."""

import asyncio
import hmac
import json
import ssl
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hibernator.kube.serving import Server

Key = RSAKey | ECKey


@dataclass
class CrookedProvider:
    issuer: str = ""
    keys: list[Key] = field(default_factory=lambda: [RSAKey.generate_key(2048, {"kid": "one"})])
    id_token: str = ""  # what the next code is worth
    described: dict[str, Any] = field(default_factory=dict)  # in place of what is true
    answers: dict[str, Response] = field(default_factory=dict)  # in place of an answer, by path
    asked: list[str] = field(default_factory=list)
    forms: list[dict[str, Any]] = field(default_factory=list)

    def signed(self, claims: dict[str, Any], key: Key | None = None, **header: Any) -> str:
        key = key or self.keys[0]
        alg = "ES256" if isinstance(key, ECKey) else "RS256"
        return jwt.encode({"alg": alg, "kid": key.kid} | header, claims, key, algorithms=[alg])

    def confused(self, claims: dict[str, Any]) -> str:
        """Signed with the public key as if it were a shared secret."""
        text = f"{_part({'alg': 'HS256', 'kid': 'one'})}.{_part(claims)}"
        signature = hmac.digest(self.keys[0].as_pem(private=False), text.encode(), "sha256")
        return f"{text}.{urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    def unsigned(self, claims: dict[str, Any]) -> str:
        return f"{_part({'alg': 'none', 'kid': 'one'})}.{_part(claims)}."

    def app(self) -> Starlette:
        paths = {"/.well-known/openid-configuration": self._describe, "/jwks": self._jwks}
        routes = [Route(path, self._noting(path, answer)) for path, answer in paths.items()]
        return Starlette(
            routes=[*routes, Route("/token", self._noting("/token", self._token), methods=["POST"])]
        )

    def _noting(self, path: str, answer: Any) -> Any:
        async def noted(request: Request) -> Response:
            self.asked.append(path)
            if path in self.answers:
                return self.answers[path]
            found: Response = await answer(request)
            return found

        return noted

    async def _describe(self, _request: Request) -> Response:
        true = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/auth",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
        }
        return JSONResponse(true | self.described)

    async def _jwks(self, _request: Request) -> Response:
        return JSONResponse(KeySet(list(self.keys)).as_dict())

    async def _token(self, request: Request) -> Response:
        async with request.form() as form:
            self.forms.append(dict(form))
        return JSONResponse({"id_token": self.id_token, "token_type": "Bearer"})


def _part(value: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@asynccontextmanager
async def crooked_provider(tls: ssl.SSLContext | None = None) -> AsyncIterator[CrookedProvider]:
    provider = CrookedProvider()
    server = Server(provider.app(), host="127.0.0.1", port=0, tls=tls)
    provider.issuer = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}"
    serving = asyncio.create_task(server.run())
    try:
        await server.listening.wait()
        yield provider
    finally:
        serving.cancel()
        await asyncio.wait([serving])
