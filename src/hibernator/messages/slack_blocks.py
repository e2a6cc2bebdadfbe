"""A letter as Block Kit: what Slack shows in a conversation, within Slack's limits. Pure.

What people wrote is in all of it. It is escaped, and `verbatim` keeps Slack from making links or mentions of
it, so that no reason can call a whole channel.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from whenever import Instant

from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.messages.channel import Letter
from hibernator.messages.facts import ApproverLine, Facts, local
from hibernator.messages.wording import plain, said, wording
from hibernator.pictures.ink import UNICODE
from hibernator.pictures.terminal import render_lanes

Mode = Literal["buttons", "links", "notify"]
Block = dict[str, Any]

_CHANNEL: Final = "slack"
APPROVE: Final = "hibernator_approve"
REJECT: Final = "hibernator_reject"
VIEW: Final = "hibernator_view"
REASON: Final = "hibernator_reason"
LONGEST_REASON: Final = 1024  # characters, as the API takes them

_LONGEST_TEXT: Final = 3000  # of a section
_LONGEST_HEADER: Final = 150
# Slack takes some 11,000 characters in all sections of a message together. So each part has a share.
_LONGEST_FIELD: Final = 300
_LONGEST_REASON: Final = 1500
_LONGEST_PART: Final = 900  # of what else one person wrote
_LONGEST_VOICE: Final = 300
_LONGEST_CHANGES: Final = 1000
_LONGEST_DRAWING: Final = 1200
_LONGEST_VOICES: Final = 2000
_PICTURE_WIDTH: Final = 54
_MOST_DAYS: Final = 4
# A backtick cannot be escaped, and a text in three of them would go on through the lines of others.
_WORDS: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "'"}
_MARKS: Final = {"pending": "□", "approved": "✓", "rejected": "✗"}


@dataclass(frozen=True, slots=True)
class Sheet:
    """One message: its blocks, and the text of the notification."""

    text: str
    blocks: tuple[Block, ...]

    @property
    def has_picture(self) -> bool:
        return any(block["type"] == "image" for block in self.blocks)

    @property
    def hash(self) -> str:
        return f"sha256:{hashlib.sha256(msgspec.json.encode(self)).hexdigest()}"


class ButtonValue(msgspec.Struct, frozen=True):
    """What a button stands for: exactly what its message showed. Nothing in it is secret."""

    uid: str
    spec_hash: str


def read_value(value: object) -> ButtonValue | None:
    """What a button was made for; None where it is no button of ours."""
    try:
        return msgspec.json.decode(value if isinstance(value, str) else "", type=ButtonValue)
    except msgspec.DecodeError:
        return None


def sheet(letter: Letter, mode: Mode, picture: str = "") -> Sheet:
    """What Slack should show for a letter; `picture` is the id of the file that shows the timeline."""
    if mode == "buttons" and letter.facts.channels and _CHANNEL not in letter.facts.channels:
        mode = "links"  # a policy lets no approval count that comes through Slack
    if letter.line:
        line = escaped(letter.line)
        return Sheet(line, (_section(line),))
    if letter.topic != "asked":
        return _reply(letter, mode)
    title = _title(letter)
    text = f"{title}: {_escaped(plain(letter.facts.title), _LONGEST_PART)}"
    return Sheet(text, tuple(_question(letter, mode, title, picture)))


def gone(kind: str, namespace: str, name: str) -> Sheet:
    """What stays of the question about a request that was deleted."""
    title = f"🗑️ {'Exception' if kind == EXCEPTIONS.kind else 'Remediation'} deleted"
    text = f"{escaped(f'{namespace}/{name}')} was deleted. There is nothing left to decide."
    return Sheet(
        f"{title}: {escaped(name)}",
        ({"type": "header", "text": _plain_text(title, _LONGEST_HEADER)}, _section(text)),
    )


def asked_anew(letter: Letter) -> Sheet:
    """What stays of a question that got too old and was asked once more."""
    title = "📋 Asked again"
    words = f"{escaped(letter.facts.title)}: this message was older than 30 days. The request is asked below."
    text = f"{title}: {escaped(letter.facts.title)}"
    return Sheet(text, ({"type": "header", "text": _plain_text(title, _LONGEST_HEADER)}, _section(words)))


def modal(facts: Facts, state: str) -> Block:
    """The dialog in which a person says why they reject; `state` comes back with it."""
    return {
        "type": "modal",
        "callback_id": REJECT,
        "private_metadata": state,
        "title": _plain_text("Reject", 24),
        "submit": _plain_text("Reject", 24),
        "close": _plain_text("Back", 24),
        "blocks": [
            _section(f"*{_escaped(plain(facts.title), _LONGEST_PART)}*"),
            {
                "type": "input",
                "block_id": REASON,
                "label": _plain_text("Why do you reject it?", 150),
                "hint": _plain_text("The requester and everybody who is asked are shown the reason.", 150),
                "element": {
                    "type": "plain_text_input",
                    "action_id": REASON,
                    "multiline": True,
                    "min_length": 1,
                    "max_length": LONGEST_REASON,
                },
            },
        ],
    }


def date(at: Instant, zone: str) -> str:
    """A moment on the clock of who reads it; where Slack cannot show that, on the clock of the zone."""
    seconds = int(at.timestamp())
    return f"<!date^{seconds}^{{date_short_pretty}} {{time}}|{_escaped(local(at, zone), 100)}>"


def escaped(text: str) -> str:
    """Text of a person for a message in mrkdwn."""
    return _escaped(plain(text), _LONGEST_PART)


def _question(letter: Letter, mode: Mode, title: str, picture: str) -> Iterator[Block]:
    facts = letter.facts
    yield {"type": "header", "text": _plain_text(title, _LONGEST_HEADER)}
    if not letter.is_open and (words := said(letter)):
        yield _section(escaped(words))
    yield {"type": "section", "fields": [_field(title, text) for title, text in _fields(facts)]}
    if facts.starts and facts.ends:
        yield _section(
            f"*Period*\n{date(facts.starts, facts.zone)} to {date(facts.ends, facts.zone)}\n"
            f"On the plan's clock: {_escaped(local(facts.starts, facts.zone), 100)} to "
            f"{_escaped(local(facts.ends, facts.zone), 100)}"
        )
    if facts.reason:
        yield _section(f"*Reason*\n&gt; {_escaped(plain(facts.reason), _LONGEST_REASON)}")
    yield from _impact(facts, picture)
    if facts.voices:
        yield _section("*Required Approvals*\n" + _lines(map(_voice, facts.voices), _LONGEST_VOICES))
    if letter.is_open and facts.deadline:
        yield _section(f"*Decide by*\n{date(facts.deadline, facts.zone)}\n{facts.without_decision}")
    if letter.is_post and mode != "notify":
        yield {"type": "context", "elements": [_look(letter)]}
    elif buttons := _buttons(letter, mode):
        yield {"type": "actions", "block_id": "hibernator_decide", "elements": buttons}
    yield {"type": "context", "elements": [_mrkdwn(_escaped(wording(letter).why_you, 500), 600)]}


def _fields(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.kind == EXCEPTIONS.kind:
        yield "Plan", next((row.text for row in facts.rows if row.title == "Plan"), "")
        yield "Exception", facts.name
        yield "Requested by", facts.requester
        yield "Type", facts.type
        return
    yield from ((row.title, row.text) for row in facts.rows)


def _field(title: str, text: str) -> Block:
    return _mrkdwn(f"*{title}*\n{_escaped(plain(text), _LONGEST_FIELD)}", _LONGEST_FIELD + 50)


def _impact(facts: Facts, picture: str) -> Iterator[Block]:
    impact: list[str] = []
    if facts.hours:
        impact.append(f"Asleep {facts.hours_words}")
    impact += [f"{row.title}: {escaped(row.text)}" for row in facts.rows if row.title == "Workloads"]
    impact += [f"• {escaped(one)}" for one in facts.change_words()]
    if impact:
        yield _section("*Impact*\n" + _lines(impact, _LONGEST_CHANGES))
    if picture:
        words = plain(f"The plan before and after: {'; '.join(facts.change_words())}")
        yield {"type": "image", "slack_file": {"id": picture}, "alt_text": words}
    elif facts.comparison and facts.changes:
        before_, after_ = facts.comparison.before, facts.comparison.after
        since = facts.starts or Instant.MIN
        lanes = render_lanes(before_, after_, _PICTURE_WIDTH, UNICODE, since=since, most=_MOST_DAYS)
        drawn = "\n".join(line.plain for line in lanes)
        lines = _escaped(drawn, _LONGEST_DRAWING)
        yield _section(f"```{lines}```")


def _voice(voice: ApproverLine) -> str:
    asked, by_, why_ = (_escaped(plain(one), _LONGEST_VOICE) for one in (voice.asked, voice.by, voice.reason))
    by = f", by {by_}" if voice.by and voice.by != voice.who else ""
    why = f": {why_}" if voice.reason else ""
    word = "" if voice.word == "pending" else f" {voice.word}{by}{why}"
    return f"{_MARKS[voice.word]} {asked}{word}"


def _buttons(letter: Letter, mode: Mode) -> list[Block]:
    look = {
        "type": "button",
        "action_id": VIEW,
        "text": _plain_text("VIEW IN DASHBOARD", 75),
        "url": letter.link,
    }
    if mode == "notify":
        return []
    if not letter.is_open:
        return [look]
    if mode == "links":
        return [look | {"text": _plain_text("LOG IN AND DECIDE", 75), "style": "primary"}]
    value = msgspec.json.encode(ButtonValue(letter.facts.uid, letter.facts.spec_hash)).decode()
    confirm = {
        "title": _plain_text("Approve it?", 100),
        "text": _plain_text(plain(letter.facts.title), 300),
        "confirm": _plain_text("Approve", 30),
        "deny": _plain_text("Back", 30),
    }
    return [
        _button(APPROVE, "APPROVE", value, style="primary", confirm=confirm),
        _button(REJECT, "REJECT", value, style="danger"),
        look,
    ]


def _button(action: str, text: str, value: str, **more: Any) -> Block:
    return {
        "type": "button",
        "action_id": action,
        "text": _plain_text(text, 75),
        "value": value,
        **more,
    }


def _reply(letter: Letter, mode: Mode) -> Sheet:
    """What stands below the question: short, and the same however much the question changes."""
    words = wording(letter)
    is_over = letter.end and letter.topic in {"outcome", "cancelled"}
    subject = _escaped(f"{_title(letter)}: {plain(letter.facts.title)}" if is_over else words.subject, 300)
    lead = "" if letter.asked else f"\n{escaped(words.lead)}"
    blocks = [_section(f"*{subject}*{lead}\n{_escaped(words.next, 1500)}")]
    if mode != "notify":
        blocks.append({"type": "context", "elements": [_look(letter)]})
    return Sheet(subject, tuple(blocks))


def _look(letter: Letter) -> Block:
    return _mrkdwn(f"<{letter.link}|View in dashboard>", 2000)


def _title(letter: Letter) -> str:
    of_exception = letter.facts.kind == EXCEPTIONS.kind
    if letter.end:
        what = "Exception" if of_exception else "Remediation"
        return _ENDS[letter.end].format(what)
    if letter.facts.is_open:
        return _PENDING[of_exception]
    what = "Exception" if of_exception else "Remediation"
    return f"{what}: {letter.facts.state}"


def _lines(lines: Iterable[str], room: int) -> str:
    """As many whole lines as there is room for."""
    found: list[str] = []
    given = [*lines]
    for line in given:
        room -= len(line) + 1
        if room < 0:
            return "\n".join([*found, f"and {len(given) - len(found)} more"])
        found.append(line)
    return "\n".join(found)


def _section(text: str) -> Block:
    return {"type": "section", "text": _mrkdwn(text, _LONGEST_TEXT)}


def _mrkdwn(text: str, room: int) -> Block:
    assert len(text) <= room, text  # noqa: S101  every part of it was fitted before
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _plain_text(text: str, room: int) -> Block:
    fitted = text if len(text) <= room else f"{text[: room - 1]}…"
    return {"type": "plain_text", "text": fitted, "emoji": True}


def _escaped(text: str, room: int) -> str:
    """Escaped, and cut between characters, so that no half of an escape is left."""
    found: list[str] = []
    left = room - 1
    for char in text:
        word = _WORDS.get(char, char)
        left -= len(word)
        if left < 0:
            return "".join([*found, "…"])
        found.append(word)
    return "".join(found)


_PENDING: Final = {
    True: "📋 New Schedule Exception Pending Approval",
    False: "📋 New Remediation Pending Approval",
}
_ENDS: Final = {
    "active": "✅ {} approved and active",
    "approved": "✅ {} approved",
    "rejected": "❌ {} rejected",
    "expired": "⌛ {} expired, not approved in time",
    "cancelled": "🚫 {} cancelled",
}
