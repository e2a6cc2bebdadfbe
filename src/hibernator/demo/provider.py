"""The log-in of the demo: an OpenID Connect provider that lets a visitor be any person of the scene.

It is no part of the web process. It asks for no password, so that it is served on loopback only, for one
client, and for as long as the demo runs. What protects a client is as at a real provider: the address to come
back to is compared as a whole, a code works once, for a minute, with the secret of PKCE, and the ID token is
signed.
"""

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from hibernator.kube.clock import steady
from hibernator.web.pages import STATIC, STATIC_PATH, static

_ALGORITHM: Final = "ES256"
_CODE_LASTS: Final = 60.0  # seconds
_TOKEN_LASTS: Final = 300
_CHALLENGE: Final = 43  # characters of a SHA-256 hash in base64
_LARGEST: Final = 16 * 1024  # bytes of a form
_NO_STORE: Final = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class Party:
    """The only client: a public one, known by where people come back to."""

    id: str
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class _Grant:
    """What a code stands for."""

    email: str
    nonce: str
    challenge: str
    until: float


class DemoProvider:
    def __init__(self, issuer: str, party: Party, people: Mapping[str, str], now: Callable[[], int]) -> None:
        """`people` are e-mail addresses by name; `now` is in seconds, as tokens have it."""
        self._issuer = issuer
        self._party = party
        self._people = people
        self._now = now
        self._key = ECKey.generate_key("P-256", {"use": "sig", "alg": _ALGORITHM}, auto_kid=True)
        self._grants: dict[str, _Grant] = {}

    def app(self) -> ASGIApp:
        routes = [
            Route("/.well-known/openid-configuration", self._describe),
            Route("/jwks", self._keys),
            Route("/authorize", self._authorize, methods=["GET", "POST"]),
            Route("/token", self._token, methods=["POST"]),
            Mount(STATIC_PATH, StaticFiles(directory=STATIC)),
        ]
        # A page elsewhere whose name is made to lead to this machine gets no answer.
        only_here = Middleware(TrustedHostMiddleware, allowed_hosts=[urlsplit(self._issuer).hostname or ""])
        app = Starlette(routes=routes, middleware=[only_here], max_body_size=_LARGEST)
        app.router.redirect_slashes = False
        return app

    async def _describe(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self._issuer,
                "authorization_endpoint": f"{self._issuer}/authorize",
                "token_endpoint": f"{self._issuer}/token",
                "jwks_uri": f"{self._issuer}/jwks",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": [_ALGORITHM],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": True,
            }
        )

    async def _keys(self, _: Request) -> Response:
        return JSONResponse({"keys": [self._key.as_dict(private=False)]})

    async def _authorize(self, request: Request) -> Response:
        """Show the people of the scene; the form comes back to the same address with the one chosen."""
        asked = request.query_params
        if (asked.get("client_id"), asked.get("redirect_uri")) != (self._party.id, self._party.redirect_uri):
            return self._page(
                "<h1>Unknown client</h1><p>This log-in is for the pages of the demo only.</p>", 400
            )
        if error := _mistake(asked):
            return self._back(asked, error=error)
        if request.method == "GET":
            return self._choice()
        async with request.form(max_files=0, max_fields=1) as form:
            email = self._people.get(str(form.get("login", "")))
        if email is None:
            return self._back(asked, error="access_denied")
        return self._back(asked, code=self._code(email, asked))

    def _code(self, email: str, asked: Mapping[str, str]) -> str:
        now, code = steady(), secrets.token_urlsafe(32)
        alive = {known: grant for known, grant in self._grants.items() if grant.until > now}
        grant = _Grant(email, asked["nonce"], asked["code_challenge"], now + _CODE_LASTS)
        self._grants = alive | {code: grant}
        return code

    def _back(self, asked: Mapping[str, str], **answer: str) -> Response:
        answer |= {"state": asked.get("state", ""), "iss": self._issuer}
        return RedirectResponse(f"{self._party.redirect_uri}?{urlencode(answer)}", 303, headers=_NO_STORE)

    async def _token(self, request: Request) -> Response:
        async with request.form(max_files=0, max_fields=10) as form:
            sent = {name: value for name, value in form.items() if isinstance(value, str)}
        if sent.get("grant_type") != "authorization_code":
            return _refused("unsupported_grant_type")
        if sent.get("client_id") != self._party.id:
            return _refused("invalid_client")
        grant = self._grants.pop(sent.get("code", ""), None)
        known = grant is not None and grant.until > steady()
        if grant is None or not known or sent.get("redirect_uri") != self._party.redirect_uri:
            return _refused("invalid_grant")
        if not hmac.compare_digest(grant.challenge.encode(), challenge(sent.get("code_verifier", ""))):
            return _refused("invalid_grant")
        answer = {
            "access_token": secrets.token_urlsafe(32),  # not used: there is no userinfo
            "token_type": "Bearer",
            "expires_in": _TOKEN_LASTS,
            "id_token": self._id_token(grant),
        }
        return JSONResponse(answer, headers=_NO_STORE)

    def _id_token(self, grant: _Grant) -> str:
        now = self._now()
        claims: dict[str, Any] = {
            "iss": self._issuer,
            "sub": grant.email,
            "aud": self._party.id,
            "iat": now,
            "auth_time": now,
            "exp": now + _TOKEN_LASTS,
            "nonce": grant.nonce,
            "email": grant.email,
            "email_verified": True,
            "name": grant.email.partition("@")[0].title(),
        }
        return jwt.encode({"alg": _ALGORITHM, "kid": self._key.kid}, claims, self._key)

    def _choice(self) -> Response:
        buttons = "".join(
            f'<li><button name="login" value="{escape(name)}">{escape(name.title())}</button> '
            f"{escape(email)}</li>"
            for name, email in self._people.items()
        )
        words = "<p>Choose who you are in the demo. There are no passwords here.</p>"
        return self._page(
            f'<h1>Log in</h1>{words}<form method="post"><ul class="choices">{buttons}</ul></form>'
        )

    def _page(self, inside: str, status: int = 200) -> Response:
        home = urlsplit(self._party.redirect_uri)
        policy = (
            "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
            f"form-action 'self' {home.scheme}://{home.netloc}"
        )
        text = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark"><title>Log in: Hibernator demo</title>'
            f'<link rel="icon" href="{static("icon.svg")}" type="image/svg+xml">'
            f'<link rel="stylesheet" href="{static("style.css")}"></head>'
            f'<body><main><section class="card">{inside}</section></main></body></html>'
        )
        safety = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}
        return HTMLResponse(text, status, headers={**_NO_STORE, **safety})


def challenge(verifier: str) -> bytes:
    """The hash by which PKCE knows a secret again."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")


def _mistake(asked: Mapping[str, str]) -> str:
    """What is wrong with how someone is sent here, as OAuth names it."""
    if asked.get("response_type") != "code":
        return "unsupported_response_type"
    if "openid" not in asked.get("scope", "").split():
        return "invalid_scope"
    hashed = (
        asked.get("code_challenge_method") == "S256" and len(asked.get("code_challenge", "")) == _CHALLENGE
    )
    if not hashed or not asked.get("nonce") or not asked.get("state"):
        return "invalid_request"
    return "login_required" if asked.get("prompt") == "none" else ""


def _refused(error: str) -> Response:
    return JSONResponse({"error": error}, 400, headers=_NO_STORE)
