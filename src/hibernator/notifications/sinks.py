"""The sinks: each takes a parcel and its text, and says whether it was taken.

RefusedError means that this message will never be taken; AwayError that it may be later. Neither holds a
secret: what a server answered passes through `config.hide` before anybody sees it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any, Final
from urllib.parse import quote

import msgspec
from multidict import CIMultiDict
from whenever import Instant

from hibernator.messages.channel import AwayError, RefusedError
from hibernator.messages.slack_api import AWAY_ERRORS, TOKEN_ERRORS
from hibernator.messages.smtp import Smtp
from hibernator.notifications.apprise import Apprises
from hibernator.notifications.cloudevent import CONTENT_TYPE, cloud_event, signature
from hibernator.notifications.config import (
    AppriseConfig,
    Config,
    EmailConfig,
    SlackConfig,
    TelegramConfig,
    WebhookConfig,
)
from hibernator.notifications.occasions import Parcel
from hibernator.notifications.outbound import Answer, Outbound, json_headers, taken
from hibernator.notifications.wording import words

_LONGEST_TELEGRAM: Final = 4096
_LONGEST_SLACK: Final = 30_000
_NO_MAIL: Final = "the web process has no mail server: an administrator sets smtpUrl and mailFrom"
_NOT_THERE: Final = (
    "an address is in a domain that mail must not go to: an administrator can add it to "
    "notificationMailDomains"
)
# What an administrator of the workspace mends, or time does.
_SLACK_LATER: Final = (
    AWAY_ERRORS
    | TOKEN_ERRORS
    | {"ratelimited", "rate_limited", "channel_not_found", "not_in_channel", "is_archived", "is_inactive"}
)
_NO_THREAD: Final = frozenset({"cannot_reply_to_message", "message_not_found", "thread_not_found"})
_GREY: Final = 3600.0  # seconds in which an address of several that is refused for now is waited for
_MOST_LATE: Final = 1000
_WRONG: Final = 400
_UNREADABLE_MARKUP: Final = b"can't parse entities"
_MENDABLE: Final = re.compile("chat|user|peer|topic|thread|not enough rights", re.IGNORECASE)


@dataclass(slots=True)
class PendingRecipients:
    """Of mails to several: who still has to get one, and who has been refused for how long."""

    missing: dict[str, frozenset[str]] = field(default_factory=dict)  # by the id of the parcel
    since: dict[str, Instant] = field(default_factory=dict)  # by address, until it takes a mail

    def is_for_now(self, address: str, now: Instant) -> bool:
        return (now - self.since.setdefault(address, now)).total("seconds") < _GREY

    def forget(self) -> None:
        for kept in (self.missing, self.since):
            while len(kept) > _MOST_LATE:
                del kept[next(iter(kept))]


@dataclass(frozen=True, slots=True)
class Mailing:
    """The mail server of the process, which all sinks of type email share."""

    smtp: Smtp
    sender: Address
    domain: str  # of Message-IDs
    to_domains: frozenset[str] = frozenset()  # that may be written to; all when empty
    late: PendingRecipients = field(default_factory=PendingRecipients)


@dataclass(frozen=True, slots=True)
class SinkClients:
    """The ways out of the process."""

    out: Outbound
    mailing: Mailing | None = None
    apprises: Apprises | None = None


def markup_of(config: Config) -> str:
    match config:
        case SlackConfig():
            return "slack"
        case TelegramConfig(parse_mode=mode):
            return mode or "plain"
        case AppriseConfig():
            return "apprise"
        case _:
            return "plain"


async def deliver(
    clients: SinkClients, config: Config, parcel: Parcel, text: str, now: Instant, thread: str = ""
) -> str:
    """Hand a parcel over; returns the id of its thread in Slack where there is one."""
    match config:
        case SlackConfig():
            return await _slack(clients.out, config, parcel, text, thread)
        case TelegramConfig():
            await _telegram(clients.out, config, text)
        case WebhookConfig():
            await _webhook(clients.out, config, parcel, text, now)
        case EmailConfig():
            await _email(clients.mailing, config, parcel, text, now)
        case AppriseConfig():
            await _apprise(clients.apprises, config, parcel, text)
    return ""


async def _apprise(apprises: Apprises | None, config: AppriseConfig, parcel: Parcel, text: str) -> None:
    if apprises is None:
        raise AwayError("this process does not send through Apprise")
    await apprises.send(config.url, parcel, text)


async def _webhook(out: Outbound, config: WebhookConfig, parcel: Parcel, text: str, now: Instant) -> None:
    body = cloud_event(parcel, text)
    headers = CIMultiDict(config.headers)  # in any case of letters, ours replace those of the Secret
    headers["Content-Type"], headers["webhook-id"] = CONTENT_TYPE, parcel.id
    stamp = now.timestamp()
    headers["webhook-timestamp"] = str(stamp)
    if keys := config.keys:
        headers["webhook-signature"] = " ".join(signature(key, parcel.id, stamp, body) for key in keys)
    await out.post(config.url, body, headers)


async def _slack(out: Outbound, config: SlackConfig, parcel: Parcel, text: str, thread: str) -> str:
    said: dict[str, Any] = {"text": fitted(text, _LONGEST_SLACK), "unfurl_links": False}
    if config.webhook_url:
        await out.post(config.webhook_url, msgspec.json.encode(said), json_headers())
        return ""
    said["channel"] = config.channel
    said["metadata"] = {"event_type": "hibernator_notification", "event_payload": {"id": parcel.id}}
    if thread:
        said["thread_ts"] = thread
    url = f"{config.api_url.rstrip('/')}/chat.postMessage"
    headers = json_headers({"Authorization": f"Bearer {config.token}"})
    answer = await out.post(url, msgspec.json.encode(said), headers)
    found = _document(answer.body)
    if found.get("ok"):
        return thread or str(found.get("ts", ""))
    code = str(found.get("error", "unknown"))
    if thread and code in _NO_THREAD:
        return await _slack(out, config, parcel, text, "")  # the first message of the cycle was deleted
    if code in _SLACK_LATER or code.startswith("restricted_action"):
        raise AwayError(f"Slack refuses it for now: {code}")
    raise RefusedError(f"Slack refuses the message: {code}")


async def _telegram(out: Outbound, config: TelegramConfig, text: str) -> None:
    """With its markup; without, where Telegram cannot read that, so that no template loses a message."""
    said = {
        "chat_id": config.chat_id,
        "text": fitted(text, _LONGEST_TELEGRAM),
        "disable_web_page_preview": True,
    }
    marked = {**said, "parse_mode": config.parse_mode} if config.parse_mode else said
    url = f"{config.api_url.rstrip('/')}/bot{quote(config.token, safe=':')}/sendMessage"
    for body in (marked, said):
        answer = await out.ask(url, msgspec.json.encode(body), json_headers())
        if not (_UNREADABLE_MARKUP in answer.body and body is marked):
            _check_telegram(answer)
            return


def _check_telegram(answer: Answer) -> None:
    """Telegram answers 400 for a wrong chat, too, which can be mended; how long to wait is in the body."""
    found = _maybe_document(answer.body)
    why, more = str(found.get("description", "")), found.get("parameters")
    wait = more.get("retry_after") if isinstance(more, dict) else None
    if isinstance(wait, int) or (answer.status == _WRONG and _MENDABLE.search(why)):
        raise AwayError(f"Telegram refuses it for now: {why}", after=wait if isinstance(wait, int) else None)
    taken(answer)
    if not _document(answer.body).get("ok"):
        raise RefusedError(f"Telegram refuses the message: {why or 'without a reason'}")


def fitted(text: str, room: int) -> str:
    """Whole lines, because half of one could end within its markup; of a single line, what fits."""
    if len(text) <= room:
        return text
    head, end, _ = text[: room - 1].rpartition("\n")
    return f"{head if end else text[: room - 2]}\n…"


async def _email(
    mailing: Mailing | None, config: EmailConfig, parcel: Parcel, text: str, now: Instant
) -> None:
    if mailing is None:
        raise AwayError(_NO_MAIL)
    if mailing.to_domains and any(_domain(one) not in mailing.to_domains for one in config.recipients):
        raise AwayError(_NOT_THERE)
    mail = EmailMessage()
    mail["Subject"] = words(parcel).title
    mail["From"], mail["To"] = mailing.sender, ", ".join(config.recipients)
    mail["Date"] = format_datetime(now.to_stdlib())
    mail["Message-ID"] = f"<{parcel.id}@{mailing.domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(text)
    left = mailing.late.missing.get(parcel.id, frozenset(config.recipients))
    wanted = [one for one in config.recipients if one in left] or config.recipients
    missed: Mapping[str, RefusedError | AwayError]
    try:
        missed = await mailing.smtp.deliver(mail, mailing.sender.addr_spec, *wanted)
    except AwayError as error:
        if error.everyone or parcel.id not in mailing.late.missing:
            raise
        missed = dict.fromkeys(wanted, error)
    _check_missed(mailing.late, parcel, wanted, missed, now)


def _check_missed(
    late: PendingRecipients,
    parcel: Parcel,
    wanted: Sequence[str],
    missed: Mapping[str, RefusedError | AwayError],
    now: Instant,
) -> None:
    """Some of several did not get it. They get it later, and the others no second one.

    Whose address has been refused for an hour keeps nothing waiting any more, until it takes a mail.
    """
    late.missing.pop(parcel.id, None)
    for one in wanted:
        if one not in missed:
            late.since.pop(one, None)
    waiting = {one for one, why in missed.items() if isinstance(why, AwayError) and late.is_for_now(one, now)}
    said = "; ".join(f"{one}: {why}" for one, why in missed.items())
    if waiting:
        late.missing[parcel.id] = frozenset(waiting)
        late.forget()
        raise AwayError(said)
    if missed:
        raise RefusedError(f"{said}; the others got it")


def _domain(address: str) -> str:
    return address.rpartition("@")[2].lower()


def _document(body: bytes) -> Mapping[str, Any]:
    found = _maybe_document(body)
    if not found:
        raise AwayError("the answer is no JSON object: is this the right address?")
    return found


def _maybe_document(body: bytes) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
