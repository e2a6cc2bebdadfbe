"""Where a log-in may lead back to: a path of ours, whatever is written into a link."""

import re
from typing import Final
from urllib.parse import quote

# One slash, then no other slash or backslash, which browsers take for the name of a host; nothing that they
# drop (tabs and line ends), and nothing that is no address (spaces, control characters, other scripts).
_OURS: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")
_LONGEST: Final = 1_024

HOME: Final = "/"
LOGIN: Final = "/login"
API: Final = "/api/"


def own_path(text: str) -> str:
    """The path, if it is one of ours; else the first page."""
    return text if len(text) <= _LONGEST and _OURS.fullmatch(text) else HOME


def login(next_: str = HOME, *, fresh: bool = False) -> str:
    """The address of the log-in that leads back to a path of ours."""
    more = "&fresh=1" if fresh else ""
    return f"{LOGIN}?next={quote(own_path(next_), safe='/')}{more}"
