"""The mail of a letter: text, HTML, picture and headers, whatever people have written into a request."""

from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from whenever import Instant

from decisions.exception_seen import PLAN, said
from hibernator.api.approvaldelivery import Topic
from hibernator.messages.channel import Letter, RefusedError
from hibernator.messages.facts import Facts, facts_of_exception, facts_of_remediation
from hibernator.messages.mail import Mail, deliverable
from hibernator.messages.smtp import read_sender
from hibernator.messages.wording import plain
from messages.scenes import AT, BOB, pending, remediation, sent, stored

BASE = "https://hibernator.company.com"
LINK = f"{BASE}/approve/uid-on-site-event?token=abc&role=manager"


class Nowhere:
    async def deliver(self, message: EmailMessage, sender: str, recipient: str) -> None:
        raise NotImplementedError


MAIL = Mail(Nowhere(), sender=read_sender("hibernator@company.com"), base_url=BASE, now=lambda: AT)
FACTS = facts_of_exception(pending(reason="The release needs the night."), PLAN)


def letter(topic: Topic = "asked", facts: Facts = FACTS, **more: Any) -> Letter:
    given_: dict[str, Any] = {"recipient": BOB, "topic": topic, "facts": facts, "link": LINK, "asked": True}
    return Letter(**given_ | more)


def mail(about: Letter) -> EmailMessage:
    """As it is read at the other end."""
    message_id = MAIL.id_of(sent(about.recipient), about.topic)
    return message_from_bytes(MAIL.compose(about, message_id).as_bytes(), policy=policy.default)


def body(found: EmailMessage, kind: str) -> str:
    part = found.get_body((kind,))
    assert part is not None
    text: str = part.get_content()
    return text


class Links(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_mail_says_what_is_asked_and_where_to_decide() -> None:
    found = mail(letter())
    assert found["Subject"] == "Approval needed: More sleep for /event-support"
    assert (found["To"], found["Auto-Submitted"]) == (BOB, "auto-generated")
    assert found["From"] == "Hibernator <hibernator@company.com>"
    text, html = body(found, "plain"), body(found, "html")
    for said_ in ("alice asks to let the plan event-support sleep longer.", "The release needs the night."):
        assert said_ in text
        assert said_ in html
    assert LINK in text
    assert ("a", LINK) in [(tag, attrs.get("href")) for tag, attrs in Links(html).tags]
    assert "Decide by:    Sat 28 Feb 2026, 10:00 (UTC)" in text
    assert "Without approval by then, nothing changes." in text
    assert "Asleep:       226 h → 271 h in this period" in text
    assert "Bob@Company.com: pending" in text
    assert "Who is asked" in html


@pytest.mark.parametrize(
    "address", ["bob@elsewhere.example", "bob@company.com.evil.example", "bob@sub.company.com"]
)
def test_no_mail_goes_to_who_could_not_log_in(address: str) -> None:
    """Or anyone who may ask for an exception could write to anyone, as the company."""
    near = Mail(
        Nowhere(),
        sender=read_sender("hibernator@company.com"),
        base_url=BASE,
        now=lambda: AT,
        domains=frozenset({"company.com", "bücher.example"}),
    )
    with pytest.raises(RefusedError, match="allowedEmailDomains"):
        near.compose(letter(recipient=address), "<1@company.com>")
    for theirs in ("Bob@Company.COM", "bob@xn--bcher-kva.example", "bob@BÜCHER.example"):
        assert near.compose(letter(recipient=theirs), "<1@company.com>")["To"]


def test_the_picture_is_in_the_mail_and_nothing_is_fetched() -> None:
    found = mail(letter())
    pictures = [part for part in found.walk() if part.get_content_type() == "image/png"]
    assert len(pictures) == 1
    assert pictures[0].get_content().startswith(b"\x89PNG")
    cid = str(pictures[0]["Content-ID"]).strip("<>")
    sources = [attrs["src"] for tag, attrs in Links(body(found, "html")).tags if tag == "img"]
    assert sources == [f"cid:{cid}"]
    assert [part.get_content_type() for part in found.walk()] == [
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
    ]


def test_all_mails_about_a_request_are_one_thread() -> None:
    first, later, end = (mail(letter(topic)) for topic in ("asked", "reminder-half", "outcome"))
    assert first["Message-ID"] == mail(letter())["Message-ID"]
    assert len({found["Message-ID"] for found in (first, later, end)}) == 3
    root = first["References"]
    for found in (later, end):
        assert found["References"] == f"{root} {first['Message-ID']}"
        assert found["In-Reply-To"] == first["Message-ID"]
    asker = mail(letter("outcome", recipient="alice@company.com", asked=False))
    assert asker["References"] == root
    assert asker["Message-ID"] != end["Message-ID"]


def test_an_end_says_how_and_why_and_has_no_button() -> None:
    rejected = stored(said(pending(), "reject", "bob", reason="Not this week."))
    found = mail(letter("outcome", facts_of_exception(rejected, PLAN), end="rejected"))
    assert found["Subject"] == "Rejected: More sleep for /event-support"
    assert "It was rejected; nothing changes. bob rejected it: Not this week." in body(found, "plain")
    assert "decide" not in body(found, "html").partition("</table>")[0]
    assert mail(letter("outcome", end="active"))["Subject"].startswith("Approved: ")


def test_a_remediation_has_the_same_mail_without_a_picture() -> None:
    found = mail(letter(facts=facts_of_remediation(remediation(), None)))
    assert found["Subject"] == "Approval needed: Run restart in shop"
    assert "Without approval by then, it does not run." in body(found, "plain")
    assert not [part for part in found.walk() if part.get_content_maintype() == "image"]


HOSTILE = st.text(
    alphabet=st.sampled_from(list("\r\n\t\x00\x1b\u2028\u202e\u200b<>&\"'=:;,@()[]\\{}% aBß漢🙂")),
    max_size=120,
)
INJECTIONS = st.sampled_from(
    [
        "x\r\nBcc: mallory@evil.example",
        "x\nSubject: other",
        "x\r\n\r\n<html>",
        "</title><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "{{ 7*7 }}{% raw %}",
        "javascript:alert(1)",
        "\u202etxt.exe",
    ]
)


@settings(max_examples=50)
@given(HOSTILE | INJECTIONS, HOSTILE | INJECTIONS, HOSTILE | INJECTIONS)
def test_nothing_that_people_write_becomes_a_header_a_tag_or_a_line_of_ours(
    title: str, reason: str, who: str
) -> None:
    voices = tuple(replace(voice, who=who, reason=reason) for voice in FACTS.voices)
    hostile = replace(FACTS, title=title, reason=reason, ask=f"{who} asks.", voices=voices, comparison=None)
    quiet = replace(FACTS, title="x", reason="x", ask="x", voices=voices, comparison=None)
    found, calm = mail(letter(facts=hostile)), mail(letter(facts=quiet))
    assert found.keys() == calm.keys()
    assert str(found["To"]) == BOB
    html = body(found, "html")
    allowed = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "div",
        "p",
        "a",
        "table",
        "tr",
        "td",
        "ul",
        "li",
    }
    tags = Links(html).tags
    assert {tag for tag, _ in tags} <= allowed
    assert {attrs["href"] for tag, attrs in tags if tag == "a"} == {LINK}
    assert not any(name.startswith("on") for _, attrs in tags for name in attrs)
    assert body(found, "plain").count(LINK) == 1
    assert "\u202e" not in html


@given(HOSTILE | INJECTIONS)
def test_a_line_stays_a_line(text: str) -> None:
    assert len(plain(text).splitlines()) <= 1
    assert plain(text).isprintable()
    assert plain(plain(text)) == plain(text)


@pytest.mark.parametrize(
    "address", ["bob@@x", "bob@company.com, mallory@evil.example", "a b@c", "@x", "bob@"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(RefusedError, match="no address"):
        mail(letter(recipient=address))


def test_an_address_in_a_domain_of_other_letters_is_written_as_servers_have_it() -> None:
    assert mail(letter(recipient="bob@müller.example"))["To"] == "bob@xn--mller-kva.example"
    assert deliverable("Bob@Company.com") == "Bob@Company.com"
    with pytest.raises(RefusedError, match="no address"):
        mail(letter(recipient="jürgen@company.com"))


def test_the_date_is_now() -> None:
    assert Instant(mail(letter())["Date"].datetime) == AT
