"""Pages from templates. What people wrote is escaped, always, and turns round no words of ours."""

import hashlib
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from whenever import Instant

from hibernator.web.paths import API
from hibernator.web.refusals import RefusedError
from hibernator.web.sessions import Sessions

_FOLDER: Final = Path(__file__).parent / "templates"
STATIC_PATH: Final = "/static"
STATIC: Final = Path(__file__).parent / "static"


# Characters that say in which direction to read on: in a reason they would turn round the words after it.
_TURNING: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))

ROOMS: Final = (
    ("overview", "/", "Overview"),
    ("plans", "/plans", "Plans"),
    ("scalers", "/scalers", "Scalers"),
    ("exceptions", "/exceptions", "Exceptions"),
    ("remediations", "/remediations", "Remediations"),
    ("audit", "/audit", "Audit"),
)


def straight(value: Any) -> Any:
    """A value as a page shows it; what we drew ourselves, as it is."""
    return value.translate(_TURNING) if type(value) is str and not value.isascii() else value


def iso(at: Instant | datetime) -> str:
    """A moment as browsers read it."""
    return (at if isinstance(at, Instant) else Instant(at)).format_iso()


def clock(at: Instant) -> str:
    """The time of day, without the day."""
    return f"{at.to_tz('UTC').to_stdlib():%H:%M}"


@cache
def static(name: str) -> str:
    """The address of a file that browsers keep: another one whenever the file is another."""
    version = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:16]
    return f"{STATIC_PATH}/{name}?{version}"


class Pages:
    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._templates = Environment(
            loader=FileSystemLoader(_FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=straight,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals.update(static=static, iso=iso, clock=clock, rooms=ROOMS)

    def show(self, request: Request, name: str, *, status: int = 200, **facts: Any) -> Response:
        """A page of `templates`, with who is logged in, and with the token of their forms."""
        session = getattr(request.state, "session", None)
        token = self._sessions.form_token(session) if session else ""
        person = session.identity if session else None
        facts = {"here": "", "topics": "", "waiting_count": 0, **facts}
        text = self._templates.get_template(name).render(person=person, form_token=token, **facts)
        return HTMLResponse(text, status)

    def refused(self, request: Request, refusal: RefusedError) -> Response:
        """A page that says why, or for a script the same as JSON."""
        if request.scope["path"].startswith(API):
            said = {"error": refusal.page.words, "fix": refusal.page.fix}
            response = Response(msgspec.json.encode(said), refusal.status, media_type="application/json")
        else:
            response = self.show(request, "message.html", status=refusal.status, page=refusal.page)
        if refusal.wait:
            response.headers["Retry-After"] = str(refusal.wait)
        return response
