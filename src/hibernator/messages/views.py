"""Which messages should be there, worked out from the request alone: like a page, not like a list of chores.

On Pending everybody who is asked gets one; a reminder at half time and one an hour before the deadline to
those who have not decided; a confirmation after one's own decision; the outcome to everybody who was asked
and to the requester. Who is not asked gets none. What was asked stays, so that channels that edit show there
what became of it. What is sent already is recorded (ApprovalDelivery), and the difference is sent. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from whenever import Instant

from hibernator.api.approvaldelivery import ApprovalDelivery, Topic
from hibernator.decisions.person import mailbox
from hibernator.messages.conversation import Asked, Conversation, End

_LAST_HOUR: Final = 3600.0
_SHORTEST: Final = 2 * _LAST_HOUR  # of a request that has two reminders: half time comes before the last hour
# A person who never got a message about a request is sent its end only while that is news.
_NEWS: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Message:
    """One that should be there."""

    recipient: str
    topic: Topic
    roles: tuple[str, ...] = ()
    deputy_for: tuple[str, ...] = ()  # in whose place they are asked
    asked: bool = False  # whether its recipient is asked, and so has a link of their own
    line: str = ""  # a step of the story, for a post in a channel
    is_post: bool = False  # whether it is a post in a channel
    is_open: bool = True  # whether they can still decide; what was asked stays, for channels that edit


@dataclass(frozen=True, slots=True)
class View:
    messages: tuple[Message, ...]
    next_look: Instant | None  # when time alone changes it


def view(about: Conversation, held: Mapping[str, ApprovalDelivery], now: Instant) -> View:
    """The messages of a request; `held` is what there is already, by mailbox."""
    if about.metadata.deletion_timestamp:
        return View((), None)
    moments = [at for at in _moments(about) if at > now] if about.is_open else []
    return View(tuple(_messages(about, held, now)), min(moments, default=None))


def post(
    about: Conversation, room: str, held: Mapping[str, ApprovalDelivery], now: Instant
) -> Iterator[Message]:
    """What a channel shows that many read: one post, which stays true, and the story below it."""
    known = held.get(mailbox(room))
    if about.metadata.deletion_timestamp or not (about.is_open or known or _is_news(about, known, now)):
        return
    yield Message(room, "asked", is_post=True, is_open=about.is_open)
    yield from (Message(room, step.topic, line=step.line, is_post=True) for step in about.story)
    if about.end:
        yield Message(room, _last(about.end), is_post=True)


def _messages(about: Conversation, held: Mapping[str, ApprovalDelivery], now: Instant) -> Iterator[Message]:
    asked = {mailbox(one.address): one for one in about.asked}
    decided = set(map(mailbox, about.deciders))
    # Those who decided see it first: of a thousand messages, a channel may take fifty a minute.
    for box, one in sorted(asked.items(), key=lambda item: item[0] not in decided):
        yield from _questions(about, one, held.get(box), now)
    for address in about.deciders:
        known = asked.get(mailbox(address))
        yield Message(address, "confirmation", known.roles if known else (), asked=known is not None)
    if about.end:
        for message in _ends(about, _last(about.end), held):
            if _is_news(about, held.get(mailbox(message.recipient)), now):
                yield message


def _questions(
    about: Conversation, one: Asked, held: ApprovalDelivery | None, now: Instant
) -> Iterator[Message]:
    is_open = about.is_open and one.is_asked(now) and not one.done
    if not is_open and held is None and (about.is_open or one.until):
        return  # another member of the role was quicker, or the time of a deputy has not come
    yield Message(one.address, "asked", one.roles, one.deputy_for, asked=True, is_open=is_open)
    if is_open:
        yield from _reminders(about, one, held, now)


def _last(end: End) -> Topic:
    return "cancelled" if end == "cancelled" else "outcome"


def _ends(about: Conversation, topic: Topic, held: Mapping[str, ApprovalDelivery]) -> Iterator[Message]:
    for one in about.asked:
        if one.until is None or mailbox(one.address) in held:  # of the deputies, those who were asked
            yield Message(one.address, topic, one.roles, one.deputy_for, asked=True)
    others = dict.fromkeys((about.requester, *about.deciders))
    boxes = {mailbox(one.address) for one in about.asked}
    yield from (Message(one, topic) for one in others if one and mailbox(one) not in boxes)


def _is_news(about: Conversation, held: ApprovalDelivery | None, now: Instant) -> bool:
    if held is not None:
        return True
    return about.ended_at is not None and (now - about.ended_at).total("seconds") < _NEWS


def _reminders(
    about: Conversation, one: Asked, held: ApprovalDelivery | None, now: Instant
) -> Iterator[Message]:
    """Only of what was sent before that moment: no one is asked and reminded in one breath."""
    records = [m for m in held.status.messages if m.topic == "asked"] if held else []
    sent = min((at for m in records if (at := m.first_sent_at or m.sent_at)), default=None)
    if one.done or sent is None or mailbox(one.address) in set(map(mailbox, about.deciders)):
        return
    due = [(topic, at) for topic, at in _due(about, one) if Instant(sent) < at <= now]
    if due:
        # The last says all of the first.
        yield Message(one.address, due[-1][0], one.roles, one.deputy_for, asked=True)


def _due(about: Conversation, one: Asked) -> Iterator[tuple[Topic, Instant]]:
    if about.deadline is None or one.since == Instant.MIN:
        return
    whole = (about.deadline - one.since).total("seconds")
    yield "reminder-half", one.since.add(seconds=whole / 2)
    if whole > _SHORTEST:
        yield "reminder-hour", about.deadline.subtract(seconds=_LAST_HOUR)


def _moments(about: Conversation) -> Iterator[Instant]:
    yield from (at for one in about.asked for _, at in _due(about, one))
    yield from (at for one in about.asked if one.until for at in (one.since, one.until))
