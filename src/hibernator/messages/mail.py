"""A letter as a mail: text, HTML and the picture, with an id that stays and a thread for each request.

What people wrote is in all of it. Headers are made by the standard library, which refuses line breaks; the
HTML is escaped by Jinja; lines of text are single lines (`wording.plain`).
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Final, Protocol
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from whenever import Instant

from hibernator.api.approvaldelivery import ApprovalDelivery, Topic
from hibernator.messages.channel import Letter, RefusedError, mark_of
from hibernator.messages.wording import Wording, wording
from hibernator.pictures import pairs
from hibernator.pictures.png import paint

_POLICY: Final = SMTP.clone(max_line_length=200)  # an id on a line of its own is legal, and lost by some
_SHOWN: Final = frozenset({"asked", "reminder-half", "reminder-hour", "outcome"})  # mails with the picture


class Transport(Protocol):
    async def deliver(self, message: EmailMessage, sender: str, recipient: str) -> object:
        """Hand a mail to a server; raises RefusedError or AwayError."""


class Mail:
    """The channel."""

    name: Final = "mail"
    room: Final = ""
    edits: Final = False
    at_once: Final = 1  # some servers take no second connection

    def __init__(
        self,
        transport: Transport,
        *,
        sender: Address,
        base_url: str,
        now: Callable[[], Instant],
        domains: Iterable[str] = (),
    ) -> None:
        """`domains` are those whose people may log in; without any, all."""
        self._transport = transport
        self._domains = frozenset(map(_domain, domains))
        self._sender = sender
        self._host = urlsplit(base_url).hostname or "hibernator.invalid"
        self._now = now
        # The name of the file ends in .html, and everything is escaped whatever it is called.
        loader = PackageLoader("hibernator.messages")
        self._templates = Environment(autoescape=True, loader=loader, undefined=StrictUndefined)

    def id_of(self, delivery: ApprovalDelivery, topic: Topic) -> str:
        spec = delivery.spec
        return self._id(spec.request.uid, topic, spec.recipient)

    def hash_of(self, letter: Letter) -> str:
        return wording(letter).hash

    def renews_at(self, message_id: str) -> None:
        """Never: the link in it is renewed when it is used (`renewal`)."""

    def turn(self, recipient: str, about: str = "", *, is_edit: bool = False) -> float:  # noqa: ARG002  the server says when it has enough
        return 0.0

    def over(self, recipient: str) -> None:
        """Mails do not wait for each other."""

    async def send(self, letter: Letter, message_id: str, *, again: bool = False) -> str:  # noqa: ARG002
        """A mail that was sent before has the same id the second time, which shows it once."""
        message = await asyncio.to_thread(self.compose, letter, message_id)
        await self._transport.deliver(message, self._sender.addr_spec, deliverable(letter.recipient))
        return message_id

    async def close(self, delivery: ApprovalDelivery, message_id: str) -> None:
        """A mail stays as it is; its link says that the request is gone."""

    def compose(self, letter: Letter, message_id: str) -> EmailMessage:
        """The whole mail. It paints a picture, so it is for a thread."""
        words = wording(letter)
        message = EmailMessage(policy=_POLICY)
        try:
            message["To"] = Address(addr_spec=deliverable(letter.recipient))
            domain = _domain(letter.recipient.rpartition("@")[2])
        except (ValueError, IndexError, HeaderParseError) as error:
            raise RefusedError(f"{letter.recipient!r} is no address that mail can be sent to") from error
        if self._domains and domain not in self._domains:
            raise RefusedError(f"people of {domain} may not log in (allowedEmailDomains): no mail goes there")
        message["From"] = self._sender
        message["Subject"] = words.subject
        message["Date"] = format_datetime(self._now().to_stdlib())
        message["Message-ID"] = message_id
        for header, value in self._thread(letter, message_id):
            message[header] = value
        message["Auto-Submitted"] = "auto-generated"
        message["X-Auto-Response-Suppress"] = "All"
        message.set_content("\n".join(_text(words, letter.link)) + "\n")
        self._add_html(message, letter, words)
        return message

    def _thread(self, letter: Letter, message_id: str) -> Iterator[tuple[str, str]]:
        """All mails about a request are replies to one that was never sent, and to the first that was."""
        uid = letter.facts.uid
        root, first = f"<{uid}@{self._host}>", self._id(uid, "asked", letter.recipient)
        is_first = letter.topic == "asked" or not letter.asked
        yield "References", root if is_first else f"{root} {first}"
        if message_id != first:
            yield "In-Reply-To", root if is_first else first

    def _add_html(self, message: EmailMessage, letter: Letter, words: Wording) -> None:
        comparison = letter.facts.comparison
        cid = ""
        legend: tuple[str, ...] = ()
        if comparison and comparison.changes and letter.topic in _SHOWN:
            cid = f"timeline.{letter.facts.uid}@{self._host}"
            legend = tuple(f"{_COLOURS[name]}: {meaning}" for name, meaning in pairs.legend(comparison))
        html = self._templates.get_template("mail.html").render(
            words=words, link=letter.link, picture=cid, legend=legend
        )
        message.add_alternative(html, subtype="html")
        if comparison and cid:
            painted = paint(comparison)
            *_, page = message.iter_parts()
            page.add_related(
                painted, "image", "png", cid=f"<{cid}>", filename="timeline.png", disposition="inline"
            )

    def _id(self, uid: str, topic: str, recipient: str) -> str:
        return f"<{mark_of(uid, topic, recipient)}@{self._host}>"


def deliverable(address: str) -> str:
    """The address with its domain as mail servers have it: in ASCII."""
    person, at, domain = address.rpartition("@")
    return f"{person}{at}{domain.encode('idna').decode()}"


def _domain(written: str) -> str:
    return written.encode("idna").decode().lower()


_COLOURS: Final = {
    "asleep": "dark blue",
    "awake": "yellow",
    "asleep-holiday": "teal",
    "awake-holiday": "light teal",
    "asleep-exception": "purple",
    "awake-exception": "light purple",
}


def _text(words: Wording, link: str) -> Iterator[str]:
    yield words.lead
    yield words.next
    if words.reason:
        yield f"\nWhy:\n> {words.reason}"
    yield f"\n{words.button or 'See'}:\n{link}\n"
    for row in words.rows:
        yield f"{row.title + ':' if row.title else '':<13} {row.text}"
    if words.changes:
        yield "\nWhat changes:"
        yield from (f"- {change}" for change in words.changes)
    if words.voices:
        yield "\nWho is asked:"
        yield from (f"- {voice}" for voice in words.voices)
    yield f"\n-- \n{words.why_you} You log in with your company's single sign-on; who you are"
    yield "comes from there and not from the link. Replies to this mail are not read."
