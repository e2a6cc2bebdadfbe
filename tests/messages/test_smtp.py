"""The way to a real mail server: over TLS or not at all, and what its answers mean."""

import asyncio
from email.message import EmailMessage
from pathlib import Path

import pytest

from hibernator.messages.channel import AwayError, RefusedError
from hibernator.messages.records import CLAIM_SECONDS
from hibernator.messages.smtp import LONGEST, Smtp, SmtpServer, read_sender, read_server
from support.mailserver import mail_server

FROM, BOB = "hibernator@company.com", "bob@company.com"


def mail() -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = FROM, BOB, "Hello"
    made.set_content("x")
    return made


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://me@mail.example:2525?tls=starttls", SmtpServer("mail.example", 2525, "starttls", "me", "f")),
        ("smtp://a%40b.c@mail.example", SmtpServer("mail.example", 587, "starttls", "a@b.c", "f")),
        ("smtps://me@mail.example", SmtpServer("mail.example", 465, "tls", "me", "f")),
        ("smtp://me@mail.example:26?tls=tls", SmtpServer("mail.example", 26, "tls", "me", "f")),
    ],
)
def test_the_server_is_named_by_one_url(url: str, server: SmtpServer) -> None:
    assert read_server(url, "f") == server
    assert read_server("smtp://localhost?tls=none") == SmtpServer("localhost", 25, "none")


@pytest.mark.parametrize(
    ("url", "file", "why"),
    [
        ("mail.example:25", "", "write it as smtp://"),
        ("smtp://me:hunter2@mail.example", "f", "holds a password"),
        ("smtp://me@mail.example?tls=maybe", "f", "starttls, tls or none"),
        ("smtp://me@mail.example?ssl=1", "f", "only tls="),
        ("smtp://me@mail.example", "", "smtpPasswordFile is missing"),
        ("smtp://mail.example", "f", "go together"),
        ("smtp://me@mail.example?tls=none", "f", "in the clear"),
        ("smtp://me@mail.example:99999", "f", "port"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_with_the_reason(url: str, file: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        read_server(url, file)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "address"),
    [
        ("hibernator@company.com", "Hibernator", "hibernator@company.com"),
        ("Night Watch <night@company.com>", "Night Watch", "night@company.com"),
        ('"Watch, Night" <night@company.com>', "Watch, Night", "night@company.com"),
        ("Schlafmütze <night@company.com>", "Schlafmütze", "night@company.com"),
    ],
)
def test_the_sender_is_an_address_with_or_without_a_name(text: str, name: str, address: str) -> None:
    found = read_sender(text)
    assert (found.display_name, found.addr_spec) == (name, address)


@pytest.mark.parametrize(
    "text",
    [
        "hibernator",
        "a@",
        "@company.com",
        "a@b.c, d@e.f",
        "a@b.c\r\nBcc: d@e.f",
        "a@b@c",
        "",
        " ",
        "a@bücher.de",
    ],
)
def test_a_sender_that_no_mail_can_come_from_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="address"):
        read_sender(text)


async def test_mail_goes_over_starttls_with_a_log_in(tmp_path: Path) -> None:
    async with mail_server(tmp_path) as server:
        await Smtp(server.server()).deliver(mail(), FROM, BOB)
        assert server.envelopes == [(FROM, BOB)]
        with pytest.raises(AwayError, match="refuses the log-in") as caught:
            await Smtp(server.server(password="wrong")).deliver(mail(), FROM, BOB)
        assert caught.value.everyone
        assert "wrong" not in str(caught.value)
        untrusted = SmtpServer("127.0.0.1", server.port, "starttls")
        with pytest.raises(AwayError, match="cannot be used"):
            await Smtp(untrusted).deliver(mail(), FROM, BOB)


async def test_a_server_without_tls_is_given_nothing(tmp_path: Path) -> None:
    async with mail_server(tmp_path, tls="none") as server:
        with pytest.raises(AwayError, match="cannot be used"):
            await Smtp(SmtpServer("127.0.0.1", server.port, "starttls")).deliver(mail(), FROM, BOB)
        assert server.mails == []
        await Smtp(SmtpServer("127.0.0.1", server.port, "none")).deliver(mail(), FROM, BOB)
        assert len(server.mails) == 1


async def test_tls_from_the_first_byte(tmp_path: Path) -> None:
    async with mail_server(tmp_path, tls="tls") as server:
        ca = server.server().ca_file
        await Smtp(SmtpServer("127.0.0.1", server.port, "tls", ca_file=ca)).deliver(mail(), FROM, BOB)
        assert len(server.mails) == 1


async def test_what_answers_mean(tmp_path: Path) -> None:
    async with mail_server(tmp_path) as server:
        smtp = Smtp(server.server())
        server.recipients[BOB] = "550 5.1.1 no such user"
        with pytest.raises(RefusedError, match="the address was refused: 550"):
            await smtp.deliver(mail(), FROM, BOB)
        server.recipients[BOB] = "450 4.2.1 greylisted"
        with pytest.raises(AwayError, match="greylisted") as one:
            await smtp.deliver(mail(), FROM, BOB)
        assert not one.value.everyone
        server.recipients.clear()
        server.data = ["451 try later", "554 spam"]
        with pytest.raises(AwayError, match="451 try later"):
            await smtp.deliver(mail(), FROM, BOB)
        with pytest.raises(RefusedError, match="554 spam"):
            await smtp.deliver(mail(), FROM, BOB)
        server.mail_from = "550 5.7.1 not a sender of ours"
        with pytest.raises(AwayError, match="not a sender of ours") as sender:
            await smtp.deliver(mail(), FROM, BOB)
        assert sender.value.everyone  # administrators mend it, and no mail is lost
        server.mail_from = "552 5.3.4 too large"
        with pytest.raises(RefusedError, match="too large"):
            await smtp.deliver(mail(), FROM, BOB)
    with pytest.raises(AwayError, match="cannot be used") as away:
        await smtp.deliver(mail(), FROM, BOB)
    assert away.value.everyone
    with pytest.raises(RefusedError, match="cannot be written to"):
        await smtp.deliver(mail(), FROM, "böb@company.com")


async def test_a_server_that_answers_ever_so_slowly_is_given_up_before_another_replica_tries() -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        await reader.read()  # until the other side gives up
        writer.close()

    async with await asyncio.start_server(slow, "127.0.0.1", 0) as listening:
        server = SmtpServer("127.0.0.1", listening.sockets[0].getsockname()[1])
        with pytest.raises(AwayError, match="cannot be used: TimeoutError") as away:
            await Smtp(server, longest=0.2).deliver(mail(), FROM, BOB)
    assert away.value.everyone
    assert LONGEST < CLAIM_SECONDS


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["554 no mail service here"], "554 no mail service here"),
        (["421 too many connections"], "421 too many connections"),
        (["220 ready", "502 what", "502 what"], "502 what"),
        (["220 ready", "250-mail.test\r\n250 STARTTLS", "454 no TLS today"], "454 no TLS today"),
        (["220 ready", "250-mail.test\r\n250 STARTTLS", "501 no TLS for you"], "501 no TLS for you"),
    ],
)
async def test_a_server_that_takes_nothing_from_us_is_tried_again(lines: list[str], said: str) -> None:
    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for line in lines:
            writer.write(f"{line}\r\n".encode())
            if not await reader.readline():
                break
        writer.close()

    async with await asyncio.start_server(rude, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(AwayError, match=said) as away:
            await Smtp(SmtpServer("127.0.0.1", port)).deliver(mail(), FROM, BOB)
    assert away.value.everyone


async def test_a_mail_that_was_taken_is_taken_also_where_the_server_never_says_goodbye(
    tmp_path: Path,
) -> None:
    said: list[str] = []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        in_data = False
        while received := await reader.readline():
            line = received.decode().strip()
            said.append(line)
            in_data = (in_data or line == "DATA") and line != "."
            if line == "QUIT":
                await reader.read()
            elif line == "DATA":
                writer.write(b"354 go on\r\n")
            elif not in_data:
                writer.write(b"250 OK\r\n")
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        async with asyncio.timeout(10):
            await Smtp(SmtpServer("127.0.0.1", port, "none")).deliver(mail(), FROM, BOB)
    assert said[-1] == "QUIT"
