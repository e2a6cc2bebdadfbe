"""Who made a change: noted down by the webhook, which is told by the API server, as `<of what> <user>`.

A controller sees what was changed, not by whom. A note may be older than the object, because the webhook did
not answer or because a manifest carried it along. So it says what it is about, and counts for nothing else.
Whoever deletes something is noted down before that, and a deletion may still be refused: such a note says
when it was.
"""

from typing import Final

from whenever import Instant

from hibernator.api.meta import ObjectMeta
from hibernator.decisions.hibernateplan_restore import DOMAIN

CHANGED_BY: Final = f"{DOMAIN}/changed-by"  # of a generation
RETRIED_BY: Final = f"{DOMAIN}/retried-by"  # of what the annotation `retry` says
DELETED_BY: Final = f"{DOMAIN}/deleted-by"  # of a moment, in real time

# Between the note and the end of an object lie milliseconds, and how far two clocks are apart.
_HOLDS: Final = 120.0  # seconds


def note(of: int | str | Instant, user: str) -> str:
    return f"{of} {user}"


def author(metadata: ObjectMeta, of: int | str, key: str = CHANGED_BY) -> str:
    """Who made this generation, or asked for this; empty when nobody knows."""
    about = note(of, "")
    written = metadata.annotations.get(key, "")
    return written.removeprefix(about) if written.startswith(about) else ""


def deleter(metadata: ObjectMeta, at: Instant) -> str:
    """Who deleted it at that moment; empty when nobody knows."""
    moment, _, user = metadata.annotations.get(DELETED_BY, "").partition(" ")
    try:
        noted = Instant.parse_iso(moment)
    except ValueError:
        return ""
    return user if abs((at - noted).total("seconds")) <= _HOLDS else ""
