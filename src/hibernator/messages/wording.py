"""What a letter says, in lines that every channel can show. Pure.

Requests hold what people wrote. It is made harmless here: one line stays one line, and nothing that cannot be
seen, or that turns the direction of writing, gets through.
"""

import hashlib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from hibernator.api.approvaldelivery import Topic
from hibernator.messages.channel import Letter
from hibernator.messages.conversation import End
from hibernator.messages.facts import UTC, Row, local

_TO_DECIDE: Final = frozenset({"asked", "reminder-half", "reminder-hour"})
_LONGEST_SUBJECT: Final = 150
_LONGEST_LINE: Final = 2000


@dataclass(frozen=True, slots=True)
class Wording:
    subject: str
    lead: str  # the first sentence
    next: str  # what is to be done, or happens now
    button: str  # what the link says; empty where there is nothing to decide
    reason: str
    rows: tuple[Row, ...]
    changes: tuple[str, ...]
    voices: tuple[str, ...]
    why_you: str

    @property
    def hash(self) -> str:
        """Of all that is said, for channels that edit."""
        return f"sha256:{hashlib.sha256(msgspec.json.encode(self)).hexdigest()}"


def wording(letter: Letter) -> Wording:
    facts = letter.facts
    start, to_do = _HEADS[letter.topic]
    if letter.end and letter.topic == "outcome":
        start, to_do = _ENDS[letter.end]
    is_over = letter.topic in {"outcome", "cancelled"}
    reason = said(letter) if letter.end in {"rejected", "expired"} and is_over else ""
    return Wording(
        subject=_fitted(f"{start}: {plain(facts.title)}", _LONGEST_SUBJECT),
        lead=plain(facts.ask),
        next=f"{to_do} {reason}".strip(),
        button="Look at it and decide" if letter.asked and letter.topic in _TO_DECIDE else "",
        reason=plain(facts.reason),
        rows=tuple(_rows(letter)),
        changes=tuple(plain(one) for one in facts.change_words()),
        voices=tuple(_voices(letter)),
        why_you=_why_you(letter),
    )


def plain(text: str) -> str:
    """Text of a person on one line, without what cannot be seen."""
    seen = text
    if not text.isprintable():  # most of all texts are
        seen = "".join(" " if char.isspace() else char for char in text if _is_visible(char))
    return _fitted(" ".join(seen.split()), _LONGEST_LINE)


def _is_visible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char)[0] != "C"


def _fitted(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _rows(letter: Letter) -> Iterator[Row]:
    facts = letter.facts
    yield from (Row(row.title, plain(row.text)) for row in facts.rows)
    if facts.hours:
        yield Row("Asleep", facts.hours_words)
    if facts.deadline and letter.topic not in {"outcome", "cancelled"}:
        yield Row("Decide by", local(facts.deadline, facts.zone))
        if facts.zone != UTC:
            yield Row("", local(facts.deadline, UTC))
        yield Row("", facts.without_decision)


def _voices(letter: Letter) -> Iterator[str]:
    for voice in letter.facts.voices:
        by = f", by {plain(voice.by)}" if voice.by and voice.by != voice.who else ""
        why = f": {plain(voice.reason)}" if voice.reason else ""
        yield f"{plain(voice.asked)}: {voice.word}{by}{why}"


def said(letter: Letter) -> str:
    """Who rejected it and why, or what the operator says goes on."""
    for voice in letter.facts.voices if letter.end == "rejected" else ():
        if voice.word == "rejected":
            return plain(f"{voice.by or voice.who} rejected it{f': {voice.reason}' if voice.reason else '.'}")
    return plain(letter.facts.message)


def _why_you(letter: Letter) -> str:
    if letter.is_post:
        return "Posted so that everybody can follow it. Those who are asked get a message of their own."
    if not letter.asked:
        return "You get this because you requested it, or decided about it."
    if letter.deputy_for:
        away = ", ".join(map(plain, letter.deputy_for))
        return f"You get this because you are asked as the deputy of {away}."
    if letter.roles:
        roles = ", ".join(map(plain, letter.roles))
        return f"You get this because you are asked as a member of {roles}."
    return "You get this because you are asked to approve or reject it."


_HEADS: Final[dict[Topic, tuple[str, str]]] = {
    "asked": ("Approval needed", "Please approve or reject this request."),
    "reminder-half": ("Reminder", "This request still waits for your decision. Half of its time is over."),
    "reminder-hour": (
        "Reminder",
        "This request still waits for your decision. It ends within an hour.",
    ),
    "confirmation": ("Your decision counts", "Your decision was recorded. You need not do anything more."),
    "outcome": ("Decided", "It was decided."),
    "cancelled": ("Cancelled", "The requester cancelled it. You need not do anything."),
}
_ENDS: Final[dict[End, tuple[str, str]]] = {
    "active": ("Approved", "It was approved and is active now."),
    "approved": ("Approved", "It was approved and goes ahead now."),
    "rejected": ("Rejected", "It was rejected; nothing changes."),
    "expired": ("Expired", "It was not approved in time; nothing changes."),
    "cancelled": ("Cancelled", "The requester cancelled it. You need not do anything."),
}
