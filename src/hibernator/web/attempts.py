"""A log-in that has begun and not ended: what the browser keeps until the provider sends it back.

Each has a cookie of its own, so that two tabs do not disturb each other, and any replica can finish what
another began. The provider's answer is worth something only in the browser that asked.
"""

import hashlib
import secrets
from typing import Final, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from whenever import Instant

from hibernator.kube.clock import Clock
from hibernator.web.sealing import Keyring

COOKIE: Final = "__Host-hibernator-login-"
_LASTS: Final = 600  # seconds; who takes longer begins again
_MOST: Final = 4  # at once, or a page elsewhere could fill the browser's cookies with attempts
_PURPOSE: Final = "log-in"

Way = Literal["oidc", "saml"]


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    way: Way
    state: str  # what comes back with the browser: `state`, or RelayState
    nonce: str  # what comes back signed: `nonce`, or as InResponseTo
    verifier: str = ""  # of PKCE
    next: str = "/"  # where to go afterwards, a path of ours
    max_age: int | None = None  # the most seconds since the person proved who they are
    started_at: int = 0


class Attempts:
    def __init__(self, keys: Keyring, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock

    def begin(self, way: Way, next_: str, max_age: int | None = None) -> Attempt:
        return Attempt(
            way=way,
            state=secrets.token_urlsafe(32),
            nonce=f"_{secrets.token_hex(32)}",  # an XML id must not begin with a digit
            verifier=secrets.token_urlsafe(48),
            next=next_,
            max_age=max_age,
            started_at=self._now(),
        )

    def remember(self, request: Request, response: Response, attempt: Attempt) -> None:
        """Let the browser keep it, in place of the oldest where there are too many."""
        others = sorted(self._all(request), key=lambda other: other.started_at)
        for other in others[: max(0, len(others) - _MOST + 1)]:
            self.forget(response, other)
        sealed = self._keys.seal(_PURPOSE, msgspec.json.encode(attempt))
        # SAML's answer is a form that the provider's page sends, which brings no Lax cookie along.
        response.set_cookie(
            _name(attempt.state),
            sealed,
            max_age=_LASTS,
            path="/",
            secure=True,
            httponly=True,
            samesite="none" if attempt.way == "saml" else "lax",
        )

    def find(self, request: Request, way: Way, state: str) -> Attempt | None:
        """The attempt of this browser that a provider answers; None where there is none, or it is too old."""
        found = self._open(request.cookies.get(_name(state), ""))
        if not found or found.way != way or not secrets.compare_digest(found.state, state):
            return None
        return found

    def forget(self, response: Response, attempt: Attempt) -> None:
        same_site: Literal["none", "lax"] = "none" if attempt.way == "saml" else "lax"
        name = _name(attempt.state)
        response.delete_cookie(name, path="/", secure=True, httponly=True, samesite=same_site)

    def _all(self, request: Request) -> list[Attempt]:
        texts = (text for name, text in request.cookies.items() if name.startswith(COOKIE))
        return [attempt for text in texts if (attempt := self._open(text))]

    def _open(self, text: str) -> Attempt | None:
        plain = self._keys.open(_PURPOSE, text) if text else None
        try:
            attempt = msgspec.json.decode(plain, type=Attempt) if plain else None
        except msgspec.DecodeError:
            return None
        return attempt if attempt and self._now() - attempt.started_at < _LASTS else None

    def _now(self) -> int:
        return _seconds(self._clock.now())


def _seconds(moment: Instant) -> int:
    return moment.timestamp()


def _name(state: str) -> str:
    return COOKIE + hashlib.sha256(state.encode("utf-8", "replace")).hexdigest()[:16]
