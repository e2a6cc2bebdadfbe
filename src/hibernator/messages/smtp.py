"""The way to the mail server: over TLS, or not at all where that was asked for.

    smtp://user@mail.company.com:587?tls=starttls     (the default)
    smtp://user@mail.company.com:465?tls=tls          (or smtps://)
    smtp://localhost:25?tls=none

A mail that the server refuses by 5xx, or an address that it refuses, is not tried again. Everything else is:
a server that is away, that says 4xx, or that takes nothing from us at all, which administrators have to mend.
"""

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import getaddresses
from pathlib import Path
from typing import Final, Literal, cast, get_args
from urllib.parse import parse_qs, unquote, urlsplit

import aiosmtplib

from hibernator.messages.channel import AwayError, RefusedError

Tls = Literal["starttls", "tls", "none"]

_SECONDS: Final = 30.0  # for one answer
_GOODBYE: Final = 2.0
LONGEST: Final = (
    100.0  # for all of a mail: `records.CLAIM_SECONDS` is longer, or another replica would send it, too
)
_PORTS: Final[dict[Tls, int]] = {"starttls": 587, "tls": 465, "none": 25}
_EXAMPLE: Final = "smtp://user@mail.company.com:587?tls=starttls"
_UNREADABLE: Final = "the file with the password of the mail server cannot be read"
_FAILURE: Final = 500
_TOO_LARGE: Final = 552
_NAME: Final = "Hibernator"
_LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class SmtpServer:
    host: str
    port: int
    tls: Tls = "starttls"
    user: str = ""
    password_file: str = ""
    ca_file: str = ""  # the certificates to trust; without one, those of the system


def read_server(url: str, password_file: str = "", ca_file: str = "") -> SmtpServer:
    """Read the setting; a ValueError says what is wrong with it, and never repeats a password."""
    parts = urlsplit(url)
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise ValueError(f"write it as {_EXAMPLE}")
    if parts.password is not None:
        raise ValueError("it holds a password: put that into a file and name the file in smtpPasswordFile")
    query = parse_qs(parts.query, keep_blank_values=True)
    if set(query) - {"tls"}:
        raise ValueError(f"only tls=… may stand behind the question mark: write it as {_EXAMPLE}")
    tls = query.get("tls", ["tls" if parts.scheme == "smtps" else "starttls"])[0]
    if tls not in get_args(Tls):
        raise ValueError(f"tls is {tls!r}: write starttls, tls or none")
    user = unquote(parts.username or "")
    if bool(user) != bool(password_file):
        missing = "smtpPasswordFile is missing" if user else "it names no user, and smtpPasswordFile is set"
        raise ValueError(f"{missing}: a user and a password go together")
    if user and tls == "none":
        raise ValueError("tls is none, and a password would be sent in the clear: use starttls or tls")
    try:
        port = parts.port
    except ValueError as error:
        raise ValueError(f"its port is none: write it as {_EXAMPLE}") from error
    checked = cast("Tls", tls)
    return SmtpServer(parts.hostname, port or _PORTS[checked], checked, user, password_file, ca_file)


def read_sender(text: str) -> Address:
    """Read the setting: an address, alone or behind a name; a ValueError says what is wrong with it."""
    found = getaddresses([text])
    name, written = found[0] if len(found) == 1 else ("", "")
    try:
        sender = Address(name or _NAME, addr_spec=written)
    except (ValueError, IndexError, HeaderParseError):
        sender = Address()
    if not (sender.domain and sender.addr_spec.isascii()):
        raise ValueError("write one address of plain letters, for example hibernator@company.com")
    return sender


class Smtp:
    """Delivers each mail over a connection of its own; the server may be another one the next time."""

    def __init__(self, server: SmtpServer, longest: float = LONGEST) -> None:
        self._server = server
        self._longest = longest

    async def deliver(
        self, message: EmailMessage, sender: str, *recipients: str
    ) -> Mapping[str, RefusedError | AwayError]:
        """Hand it over once for all of them; of several, those who were refused while others were not."""
        try:
            content = message.as_bytes()
            "".join(recipients).encode("ascii")
        except ValueError as error:  # as with letters in an address that only few servers take
            raise RefusedError(f"{', '.join(recipients)!r} cannot be written to: {error}") from error
        try:
            async with asyncio.timeout(self._longest) as limit, self._connection() as connection:
                await self._log_in(connection)
                refused, _ = await connection.sendmail(sender, list(recipients), content)
                limit.reschedule(None)  # it was taken, whatever comes now
                await _take_leave(connection)
                return {one: _of_recipient(found.code, found.message) for one, found in refused.items()}
        except aiosmtplib.SMTPRecipientsRefused as error:
            first = error.recipients[0]
            raise _of_recipient(first.code, first.message) from error
        except aiosmtplib.SMTPDataError as error:
            raise _outcome(error.code, f"the server said {error.code} {error.message}") from error
        except aiosmtplib.SMTPResponseException as error:
            words = _fitted(f"{self._where} said {error.code} {error.message}")
            if isinstance(error, aiosmtplib.SMTPSenderRefused) and error.code == _TOO_LARGE:
                raise RefusedError(words) from error
            raise AwayError(words, everyone=True) from error  # it did not get as far as this mail
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            words = str(error) or type(error).__name__
            raise AwayError(_fitted(f"{self._where} cannot be used: {words}"), everyone=True) from error

    @property
    def _where(self) -> str:
        return f"the mail server {self._server.host}:{self._server.port}"

    def _connection(self) -> aiosmtplib.SMTP:
        server = self._server
        trust = ssl.create_default_context(cafile=server.ca_file or None)
        trust.minimum_version = ssl.TLSVersion.TLSv1_2
        return aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            timeout=_SECONDS,
            use_tls=server.tls == "tls",
            start_tls=server.tls == "starttls",  # True: a server that offers none is an error
            tls_context=None if server.tls == "none" else trust,
        )

    async def _log_in(self, connection: aiosmtplib.SMTP) -> None:
        """With the password as the file has it now: it may have been changed since the last mail."""
        server = self._server
        if not server.user:
            return
        try:
            password = (await asyncio.to_thread(Path(server.password_file).read_text, "utf-8")).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise AwayError(_UNREADABLE, everyone=True) from error
        try:
            await connection.login(server.user, password)
        except aiosmtplib.SMTPAuthenticationError as error:
            # Not the recipient's fault, and mended by others: it must not count as a refused mail.
            words = _fitted(f"{self._where} refuses the log-in: {error.code}")
            raise AwayError(words, everyone=True) from error


async def _take_leave(connection: aiosmtplib.SMTP) -> None:
    """Send QUIT, without waiting long for the answer: other mails are waiting."""
    with suppress(aiosmtplib.SMTPException, OSError):
        await connection.quit(timeout=_GOODBYE)
    connection.close()


def _of_recipient(code: int, said: str) -> RefusedError | AwayError:
    return _outcome(code, f"the address was refused: {code} {said}")


def _outcome(code: int, words: str) -> RefusedError | AwayError:
    return RefusedError(_fitted(words)) if code >= _FAILURE else AwayError(_fitted(words))


def _fitted(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
