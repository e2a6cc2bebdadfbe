"""What a way to people has to offer, so that one controller serves them all: mail today, a chat tomorrow.

A channel is given a letter and an id, and returns the id under which it is there. What is recorded is that
id, a hash of what was said, and when. A channel that can edit what it has sent is given the letter again when
the hash changes.
"""

import hashlib
from dataclasses import dataclass
from typing import Protocol

from whenever import Instant

from hibernator.api.approvaldelivery import ApprovalDelivery, Topic
from hibernator.decisions.person import mailbox
from hibernator.messages.conversation import End
from hibernator.messages.facts import Facts


class RefusedError(Exception):
    """It will not be taken: to try again would change nothing."""


class AwayError(Exception):
    """It was not taken this time; it is tried again later."""

    def __init__(
        self, words: str, *, everyone: bool = False, after: float | None = None, reason: str = ""
    ) -> None:
        super().__init__(words)
        self.everyone = everyone  # whether no message would be taken now, for any person
        self.after = after  # the seconds to wait, where the other side said so
        self.reason = reason  # of the condition, where it is for an administrator to mend


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One message to one person: what it is about, and the link that is theirs."""

    recipient: str
    topic: Topic
    facts: Facts
    link: str  # of the one who is asked; for others, where everybody can look
    roles: tuple[str, ...] = ()
    deputy_for: tuple[str, ...] = ()  # in whose place they are asked
    asked: bool = False
    end: End | None = None
    is_open: bool = True  # whether its recipient can still decide
    line: str = ""  # a step of the story, where it is one
    is_post: bool = False  # whether it is for everybody in a channel, and not for one person
    first: str = ""  # the id of what this channel asked the recipient, once it has; later ones answer it


def mark_of(uid: str, topic: str, recipient: str) -> str:
    """What a message is found again by at a provider: the same each time, and without the address."""
    person = hashlib.sha256(mailbox(recipient).encode()).hexdigest()[:16]
    return f"{uid}.{topic}.{person}"


class Channel(Protocol):
    @property
    def name(self) -> str:
        """What is recorded as the channel."""

    @property
    def room(self) -> str:
        """The one place that everybody reads; empty where each person has a conversation of their own."""

    @property
    def edits(self) -> bool:
        """Whether what was sent can be changed in place."""

    @property
    def at_once(self) -> int:
        """To how many people of one request messages are under way at a time."""

    def id_of(self, delivery: ApprovalDelivery, topic: Topic) -> str:
        """The id that a message has or will have; the same after every crash."""

    def hash_of(self, letter: Letter) -> str:
        """The hash of all that it would say; the same for all who are shown the same."""

    def renews_at(self, message_id: str) -> Instant | None:
        """When an open question gets too old to be changed and is sent again; None where that never is."""

    def turn(self, recipient: str, about: str = "", *, is_edit: bool = False) -> float:
        """Seconds until the channel takes another message for this person; nothing is recorded until then.

        With 0 the turn is taken: who asks next, for another request to the same person, waits behind it.
        `about` is the uid of the request: where the channel takes nothing at all, one message finds out when
        it does again, and the others wait for that.
        """

    def over(self, recipient: str) -> None:
        """The turn is over, whatever became of the message."""

    async def send(self, letter: Letter, message_id: str, *, again: bool = False) -> str:
        """Hand it over, and return the id to record; raises RefusedError or AwayError.

        `again` says that it may have been handed over before without a record of it. Where the channel
        edits, a message that is there is changed, and one that is only kept (`is_kept`) is never sent again.
        """

    async def close(self, delivery: ApprovalDelivery, message_id: str) -> None:
        """Show that the request was deleted, where it was asked; raises as `send` does.

        Only where the channel edits. What is not there any more needs no closing.
        """


def is_kept(letter: Letter) -> bool:
    """Whether it only says what became of what was asked: it is changed where it is, and never sent."""
    return letter.topic == "asked" and not letter.is_open
