"""What a person typed before they had to log in again: it waits in their own browser, sealed, for one page.

It never comes from an address: a link of a stranger could put words into a person's mouth.
"""

import zlib
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hibernator.kube.clock import Clock
from hibernator.web.sealing import Keyring

COOKIE: Final = "__Host-hibernator-typed"
_LASTS: Final = 900  # seconds; a log-in may take ten minutes
_ROOM: Final = 2_600  # bytes, packed: sealed, it has to fit into a cookie, which holds 4,096
_PURPOSE: Final = "typed"
_SAME_SITE: Final = "lax"  # it has to come along when the provider sends the browser back


class Note(msgspec.Struct, frozen=True):
    path: str  # of the page that it was typed into
    text: str
    at: int


class Typed:
    def __init__(self, keys: Keyring, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock

    def keep(self, response: Response, path: str, text: str) -> None:
        """Where it does not fit, its end is missing."""
        at = self._clock.now().timestamp()
        while len(packed := zlib.compress(msgspec.json.encode(Note(path, text, at)))) > _ROOM:
            text = text[: len(text) * 7 // 8]
        sealed = self._keys.seal(_PURPOSE, packed)
        response.set_cookie(
            COOKIE, sealed, max_age=_LASTS, path="/", secure=True, httponly=True, samesite=_SAME_SITE
        )

    def find(self, request: Request) -> str:
        """What was typed into the page that is asked for now."""
        sealed = request.cookies.get(COOKIE, "")
        plain = self._keys.open(_PURPOSE, sealed) if sealed else None
        try:
            note = msgspec.json.decode(zlib.decompress(plain), type=Note) if plain else None
        except (zlib.error, msgspec.DecodeError):  # of another version of ours
            return ""
        if note is None or note.path != request.url.path:
            return ""
        return note.text if self._clock.now().timestamp() - note.at < _LASTS else ""

    def forget(self, response: Response) -> None:
        response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite=_SAME_SITE)
