"""What the token of a link proves: for whom the link was made, never who opens it."""

from typing import Final

from hibernator.messages.links import Checked
from hibernator.web.paths import HOME
from hibernator.web.refusals import Page, RefusedError


def check_owner(checked: Checked, email: str, path: str) -> None:
    """Raise RefusedError for a link that was made for another person, or for another request."""
    if checked.delivery and not checked.is_of(email):
        raise RefusedError("other_link", _OTHERS)
    if checked.validity in {"unknown", "stale"}:
        raise RefusedError("unknown_link", _unknown(path))


def _unknown(path: str) -> Page:
    return Page(
        "This link is no longer known",
        "It is cut off, or a newer one took its place. Nothing was changed.",
        "Open the request without it: your log-in says who you are.",
        again=path,
        label="Open the request",
    )


_OTHERS: Final = Page(
    "This link is for another person",
    "It was made for another address than the one that you are logged in with. Nothing was changed.",
    "If you are asked too, use the link of your own mail, or look at what waits for you.",
    again=HOME,
    label="What waits for you",
)
SENT: Final = Page(
    "A new link is on its way",
    "Look into your mail in a minute.",
    "You can also decide here right away: the list of what waits for you needs no link.",
    again=HOME,
    label="What waits for you",
)
NOT_SENT: Final = Page(
    "No new link was sent",
    "One was sent a few minutes ago, or no mail is set up here.",
    "You can decide right away: the list of what waits for you needs no link.",
    again=HOME,
    label="What waits for you",
)
