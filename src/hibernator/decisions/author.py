"""Who made a change: noted down by the webhook, which is told by the API server, as `<of what> <user>`.

A controller sees what was changed, not by whom. A note may be older than the object, because the webhook did
not answer or because a manifest carried it along. So it says what it is about, and counts for nothing else.
Who deletes something is no matter of a note, because that would go along with it: see `audit.asked`.
"""

from typing import Final

from hibernator.api.kind import DOMAIN
from hibernator.api.meta import ObjectMeta

CHANGED_BY: Final = f"{DOMAIN}/changed-by"  # of a generation
RETRIED_BY: Final = f"{DOMAIN}/retried-by"  # of what the annotation `retry` says


def note(of: int | str, user: str) -> str:
    return f"{of} {user}"


def author(metadata: ObjectMeta, of: int | str, key: str = CHANGED_BY) -> str:
    """Who made this generation, or asked for this; empty when nobody knows."""
    about = note(of, "")
    written = metadata.annotations.get(key, "")
    return written.removeprefix(about) if written.startswith(about) else ""
