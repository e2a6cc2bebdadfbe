"""Who is logged in: the cookie is the session, so that every replica knows it and none remembers it.

A session lasts eight hours at most, and thirty minutes without a request. Its id is made at the log-in,
stands in each decision, and binds the forms of its pages.
"""

import secrets
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Final

import msgspec
from starlette.requests import HTTPConnection
from starlette.responses import Response
from whenever import Instant, TimeDelta

from hibernator.kube.clock import Clock
from hibernator.web.identity import Identity
from hibernator.web.sealing import Keyring

COOKIE: Final = "__Host-hibernator-session"
LONGEST: Final = TimeDelta(hours=8)
IDLE: Final = TimeDelta(minutes=30)
SKEW: Final = TimeDelta(minutes=1)  # between the clocks of replicas
_TOUCH: Final = TimeDelta(minutes=1)  # after which a request makes the cookie young again
_PART: Final = 3_800  # characters; browsers drop a cookie above 4,096 with its name and attributes
_PARTS: Final = 4
_PURPOSE: Final = "session"
_FORM: Final = "form"


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    identity: Identity
    created_at: Instant
    seen_at: Instant


class TooLongError(Exception):
    """A session that no browser would keep, because the person is in too many groups."""


class Sessions:
    def __init__(self, keys: Keyring, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock

    def begin(self, identity: Identity) -> Session:
        """A session with an id that no one has seen: one from before the log-in is worth nothing."""
        now = self._clock.now()
        return Session(secrets.token_hex(16), identity, now, now)

    def of(self, request: HTTPConnection) -> Session | None:
        """Whose request this is; None where no one is logged in, or not any more."""
        text = "".join(takewhile(bool, (request.cookies.get(name, "") for name in _names())))
        plain = self._keys.open(_PURPOSE, text) if text else None
        if plain is None:
            return None
        try:
            session = msgspec.json.decode(plain, type=Session, dec_hook=_read)
        except msgspec.DecodeError:  # of another version of ours
            return None
        return session if self._is_alive(session) else None

    def touched(self, session: Session) -> Session | None:
        """The session as seen now, if its cookie is old enough to be written again."""
        now = self._clock.now()
        return replace(session, seen_at=now) if now - session.seen_at >= _TOUCH else None

    def remember(self, response: Response, session: Session) -> None:
        plain = msgspec.json.encode(session, enc_hook=_written)
        text = self._keys.seal(_PURPOSE, plain)
        parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
        if len(parts) > _PARTS:
            raise TooLongError
        for name, part in zip(_names(), parts, strict=False):
            response.set_cookie(name, part, path="/", secure=True, httponly=True, samesite="lax")
        for name in _names()[len(parts) :][:1]:  # where reading stops, should an earlier one have been longer
            _drop(response, name)

    def forget(self, response: Response) -> None:
        for name in _names():
            _drop(response, name)

    def form_token(self, session: Session) -> str:
        """What a form of this session carries, and no other page can know."""
        return self._keys.mark(_FORM, session.id)

    def is_form_token(self, session: Session, token: str) -> bool:
        return self._keys.is_mark(_FORM, session.id, token)

    def is_fresh(self, session: Session, minutes: int) -> bool:
        """Whether the person proved who they are within so many minutes; 0 asks for nothing."""
        if not minutes:
            return True
        return self._clock.now() - session.identity.authenticated_at <= TimeDelta(minutes=minutes)

    def _is_alive(self, session: Session) -> bool:
        now = self._clock.now()
        if session.seen_at > now + SKEW:
            return False
        return now - session.created_at < LONGEST and now - session.seen_at < IDLE


def _names() -> tuple[str, ...]:
    return (COOKIE, *(f"{COOKIE}-{part}" for part in range(1, _PARTS)))


def _drop(response: Response, name: str) -> None:
    response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="lax")


def _written(value: Any) -> Any:
    if isinstance(value, Instant):
        return value.timestamp(unit="millisecond")
    raise NotImplementedError


def _read(type_: Any, value: Any) -> Any:
    if type_ is Instant:
        return Instant.from_timestamp(value, unit="millisecond")
    raise NotImplementedError
