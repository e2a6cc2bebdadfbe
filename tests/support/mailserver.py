"""A real mail server on loopback: STARTTLS and AUTH before anything else, and as rude as a test wants it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from hibernator.controlplane import certs
from hibernator.controlplane.layout import Layout
from hibernator.messages.smtp import SmtpServer, Tls

USER, PASSWORD = "hibernator", "correct horse"


@dataclass
class MailServer:
    """What arrived, and what the server says to whom."""

    port: int
    folder: Path
    mails: list[EmailMessage] = field(default_factory=list)
    envelopes: list[tuple[str, str]] = field(default_factory=list)  # sender and recipient
    recipients: dict[str, str] = field(default_factory=dict)  # what is said to an address instead of 250
    mail_from: str = ""  # what is said to the sender instead of 250
    data: list[str] = field(default_factory=list)  # what is said to the next mails instead of 250
    taken: Callable[[], object] = lambda: None  # called after a mail was taken, before the server says so
    tls: Tls = "starttls"

    def server(self, password: str = PASSWORD) -> SmtpServer:
        file = self.folder / "password"
        file.write_text(f"{password}\n", encoding="utf-8")
        ca = str(Layout(self.folder).cert(certs.CA))
        return SmtpServer("127.0.0.1", self.port, self.tls, USER, str(file), ca)

    def to(self, recipient: str) -> list[EmailMessage]:
        return [mail for mail in self.mails if str(mail["To"]) == recipient]

    def subjects(self, recipient: str) -> list[str]:
        return [str(mail["Subject"]) for mail in self.to(recipient)]

    # What aiosmtpd calls.
    async def handle_MAIL(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        envelope.mail_from = address
        return self.mail_from or "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.recipients:
            return self.recipients[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.data:
            return self.data.pop(0)
        content = envelope.content
        assert isinstance(content, bytes)
        self.mails.append(message_from_bytes(content, policy=policy.default))
        self.envelopes.append((str(envelope.mail_from), envelope.rcpt_tos[0]))
        self.taken()
        return "250 taken"


def _authenticate(
    _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: Any
) -> AuthResult:
    is_right = isinstance(data, LoginPassword) and (data.login, data.password) == (
        USER.encode(),
        PASSWORD.encode(),
    )
    return AuthResult(success=is_right, handled=False)


@asynccontextmanager
async def mail_server(folder: Path, *, tls: Tls = "starttls") -> AsyncIterator[MailServer]:
    layout = Layout(folder)
    if not layout.cert(certs.SERVER).exists():
        certs.write_all(layout)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(layout.cert(certs.SERVER), layout.key(certs.SERVER))
    made = MailServer(0, folder, tls=tls)

    def protocol() -> SMTP:
        return SMTP(
            made,
            hostname="mail.test",
            tls_context=context if tls == "starttls" else None,
            require_starttls=tls == "starttls",
            auth_required=tls == "starttls",
            authenticator=_authenticate,
            auth_require_tls=tls == "starttls",
            loop=asyncio.get_running_loop(),
        )

    listening = await asyncio.get_running_loop().create_server(
        protocol, "127.0.0.1", 0, ssl=context if tls == "tls" else None
    )
    made.port = listening.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        listening.close()
