"""What arrives at each kind of sink, and what never leaves the process."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from msgspec import structs
from whenever import Instant

from hibernator.messages.channel import AwayError, RefusedError
from hibernator.messages.smtp import Smtp, read_sender
from hibernator.notifications.config import (
    AppriseConfig,
    ConfigError,
    EmailConfig,
    SlackConfig,
    TelegramConfig,
    WebhookConfig,
    hide,
    read_config,
)
from hibernator.notifications.markup import MARKUPS
from hibernator.notifications.occasions import Occasion, Parcel
from hibernator.notifications.outbound import Outbound, asked_wait
from hibernator.notifications.sinks import Mailing, SinkClients, deliver
from hibernator.notifications.wording import explained, text
from support.mailserver import mail_server
from support.notifying import Sink
from support.pages import ROOT

NOW = Instant.from_utc(2026, 3, 2, 20)
KEY = b"k" * 32
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
FAILURE = Occasion(
    id="7",
    event="Failure",
    type="hibernateplan.sleep.failed",
    kind="HibernatePlan",
    namespace="team-a",
    name="shop",
    uid="u",
    time="2026-03-02T20:00:05Z",
    message="target <web> *failed*",
    plan="shop",
    cycle=4,
    seconds=125,
)
PARCEL = Parcel("msg_1", (explained(FAILURE, "https://hibernator.test"),))


async def test_a_webhook_gets_a_signed_cloud_event(sink: Sink, out: Outbound) -> None:
    config = WebhookConfig(url=sink.url, secret=SECRET)
    await deliver(SinkClients(out), config, PARCEL, "words", NOW)
    [body], [headers], [got] = sink.bodies, sink.headers, sink.got
    assert headers["content-type"].startswith("application/cloudevents+json")
    assert (got["specversion"], got["id"], got["type"]) == ("1.0", "msg_1", "com.ardikabs.hibernator.failure")
    assert got["data"]["command"] == "hibernator plan retry shop -n team-a"
    assert got["data"]["text"] == "words"
    stamp = headers["webhook-timestamp"]
    assert stamp == str(NOW.timestamp())
    signed = f"msg_1.{stamp}.".encode() + body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


async def test_what_a_webhook_gets_is_what_the_schema_in_the_reference_says(
    sink: Sink, out: Outbound
) -> None:
    await deliver(SinkClients(out), WebhookConfig(url=sink.url), PARCEL, "words", NOW)
    await deliver(SinkClients(out), WebhookConfig(url=sink.url), _many(["a", "b"]), "words", NOW)
    schema = json.loads((ROOT / "docs/reference/webhook-event.schema.json").read_text("utf-8"))
    check = jsonschema.Draft202012Validator(schema)
    for got in sink.got:
        check.validate(got)
        assert not check.is_valid(got | {"specversion": "0.3"})
        assert not check.is_valid({**got, "data": {}})


async def test_slack_gets_text_by_its_webhook_and_a_thread_a_cycle_by_its_bot(
    sink: Sink, out: Outbound
) -> None:
    said = text(PARCEL, MARKUPS["slack"])
    await deliver(SinkClients(out), SlackConfig(webhook_url=f"{sink.url}/services/T/B/x"), PARCEL, said, NOW)
    assert sink.got[0]["text"].startswith("*✗ shop could not go to sleep*")
    assert "target &lt;web&gt;" in sink.got[0]["text"]
    assert "<https://hibernator.test/plans/team-a/shop|Open in Hibernator>" in sink.got[0]["text"]
    on_their_clock = "<!date^1772481605^{date_short_pretty} {time}|Mon 2 Mar 2026, 20:00 UTC>"
    assert f"When: {on_their_clock}" in sink.got[0]["text"]
    bot = SlackConfig(token="xoxb-1", channel="C1", api_url=f"{sink.url}/api/")
    assert await deliver(SinkClients(out), bot, PARCEL, said, NOW) == "2.0001"
    await deliver(SinkClients(out), bot, PARCEL, said, NOW, "2.0001")
    assert sink.paths[1] == "/api/chat.postMessage"
    assert sink.headers[1]["authorization"] == "Bearer xoxb-1"
    assert "thread_ts" not in sink.got[1]
    assert sink.got[2]["thread_ts"] == "2.0001"
    sink.answers = [(200, {}, '{"ok": false, "error": "invalid_auth"}')]
    with pytest.raises(AwayError, match="invalid_auth"):
        await deliver(SinkClients(out), bot, PARCEL, said, NOW)
    sink.answers = [(200, {}, '{"ok": false, "error": "msg_too_long"}')]
    with pytest.raises(RefusedError, match="msg_too_long"):
        await deliver(SinkClients(out), bot, PARCEL, said, NOW)
    sink.answers = [(200, {}, '{"ok": false, "error": "restricted_action_read_only_channel"}')]
    with pytest.raises(AwayError, match="restricted_action"):
        await deliver(SinkClients(out), bot, PARCEL, said, NOW)
    sink.answers = [(200, {}, '{"ok": false, "error": "thread_not_found"}')]
    assert await deliver(SinkClients(out), bot, PARCEL, said, NOW, "2.0001") == f"{len(sink.got)}.0001"
    assert ["thread_ts" in one for one in sink.got[-2:]] == [True, False]  # its first message was deleted


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("", "Why: target <web> *failed*"),
        ("HTML", "Why: target &lt;web&gt; *failed*"),
        ("MarkdownV2", r"Why: target <web\> \*failed\*"),
        ("Markdown", r"Why: target <web> \*failed\*"),
    ],
)
async def test_telegram_gets_text_that_it_can_parse(
    sink: Sink, out: Outbound, mode: Any, expected: str
) -> None:
    config = TelegramConfig(token="123:abc", chat_id=-100, parse_mode=mode, api_url=sink.url)
    said = text(PARCEL, MARKUPS[mode or "plain"])
    await deliver(SinkClients(out), config, PARCEL, said, NOW)
    assert sink.paths == ["/bot123:abc/sendMessage"]
    [got] = sink.got
    assert (got["chat_id"], got.get("parse_mode", "")) == (-100, mode)
    assert expected in got["text"]
    assert "When: Mon 2 Mar 2026, 20:00 UTC" in got["text"]


async def test_a_mail_reaches_all_recipients_with_one_id(tmp_path: Path, out: Outbound) -> None:
    async with mail_server(tmp_path) as server:
        mailing = Mailing(Smtp(server.server()), read_sender("hibernator@company.com"), "company.com")
        config = EmailConfig(to=("bob@company.com", "carol@company.com"))
        await deliver(SinkClients(out, mailing), config, PARCEL, text(PARCEL, MARKUPS["plain"]), NOW)
        [mail] = server.mails
    assert mail["Subject"] == "✗ shop could not go to sleep"
    assert mail["Message-ID"] == "<msg_1@company.com>"
    assert mail["To"] == "bob@company.com, carol@company.com"
    assert "Run: hibernator plan retry shop -n team-a" in mail.get_content()
    with pytest.raises(AwayError, match="smtpUrl"):
        await deliver(SinkClients(out), config, PARCEL, "x", NOW)
    with pytest.raises(AwayError, match="does not send through Apprise"):
        await deliver(SinkClients(out), AppriseConfig(url="discord://a/b"), PARCEL, "x", NOW)


async def test_who_of_several_is_refused_for_now_gets_it_later_and_the_others_no_second_one(
    tmp_path: Path, out: Outbound
) -> None:
    async with mail_server(tmp_path) as server:
        mailing = Mailing(Smtp(server.server()), read_sender("hibernator@company.com"), "company.com")
        clients, config = SinkClients(out, mailing), EmailConfig(to=("bob@company.com", "carol@company.com"))

        async def send(parcel: str, seconds: float) -> None:
            at = NOW.add(seconds=seconds)
            await deliver(clients, config, structs.replace(PARCEL, id=parcel), "x", at)

        server.recipients["carol@company.com"] = "450 4.7.1 greylisted"
        for seconds in (0, 5):
            with pytest.raises(AwayError, match=r"carol@company\.com: the address was refused: 450"):
                await send("msg_1", seconds)
        server.recipients.clear()
        await send("msg_1", 15)
        assert [to for _, to in server.envelopes] == ["bob@company.com", "carol@company.com"]

        server.recipients["carol@company.com"] = "452 4.2.2 mailbox full"
        with pytest.raises(AwayError, match="mailbox full"):
            await send("msg_2", 100)
        for parcel in ("msg_2", "msg_3"):  # after an hour she keeps nothing waiting
            with pytest.raises(RefusedError, match=r"carol@company\.com: .*; the others got it"):
                await send(parcel, 3800)
        server.recipients["carol@company.com"] = "550 5.1.1 no such user"
        with pytest.raises(RefusedError, match="550"):
            await send("msg_4", 3900)
        assert [to for _, to in server.envelopes[2:]] == ["bob@company.com"] * 3


async def test_mail_goes_to_no_domain_that_is_not_allowed(tmp_path: Path, out: Outbound) -> None:
    """Or who edits a namespace could write to anybody, in the name of the company's mail server."""
    async with mail_server(tmp_path) as server:
        own = frozenset({"company.com"})
        mailing = Mailing(Smtp(server.server()), read_sender("hibernator@company.com"), "company.com", own)
        config = EmailConfig(to=("bob@Company.com", "mallory@elsewhere.org"))
        with pytest.raises(AwayError, match="notificationMailDomains"):
            await deliver(SinkClients(out, mailing), config, PARCEL, "x", NOW)
        assert not server.mails
        await deliver(SinkClients(out, mailing), EmailConfig(to="bob@Company.com"), PARCEL, "x", NOW)
        assert len(server.mails) == 1


@pytest.mark.parametrize(
    "to",
    ["bob@company.com\nBcc: all@company.com", "bob@company.com, all@company.com", "<bob@company.com>", "bob"],
)
def test_an_address_that_is_more_than_one_address_is_refused(to: str) -> None:
    with pytest.raises(ConfigError, match="plain addresses"):
        read_config("email", msgspec.json.encode({"to": ["carol@company.com", to]}))


@pytest.mark.parametrize(
    ("type_", "raw", "expected"),
    [
        ("slack", b'{"webhook_url": "https://x", "token": "t", "channel": "c"}', "set webhook_url, or token"),
        ("slack", b"{}", "set webhook_url, or token and channel"),
        ("slack", b'{"token": "t"}', "set webhook_url, or token and channel"),
        ("telegram", b'{"token": "t"}', "missing required field `chat_id`"),
        ("telegram", b'{"token": "t", "chat_id": 1, "parse_mode": "s3cret"}', "an unknown value"),
        ("webhook", b'{"url": "https://x", "secret": "s3cret"}', "whsec_"),
        (
            "webhook",
            b'{"url": "https://x", "s3cret": 1}',
            "an unknown field; it can have url, headers, secret",
        ),
        ("webhook", b'{"url": "https://x", "headers": {"A": "s3cret\\r\\nB: 1"}}', r"headers\[...\]"),
        ("webhook", b'{"url": "https://x", "headers": {"A\\nB": "s3cret"}}', "headers"),
        (
            "webhook",
            b'{"url": "https://x", "headers": {"content-Length": "s3cret"}}',
            "headers has content-length",
        ),
        ("webhook", b"https://s3cret", "it is no JSON object"),
        ("webhook", b'{"url":' * 50_000, "it is no JSON object"),
        (
            "webhook",
            b'{"url": "https://x", "headers": {"A": "%s", "B": "%s", "C": "%s"}}' % ((b"s3cret" * 500,) * 3),
            "headers has more than 8192 characters",
        ),
        ("email", b'{"to": []}', "length"),
    ],
)
def test_a_wrong_configuration_is_explained_without_its_values(type_: Any, raw: bytes, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected) as failure:
        read_config(type_, raw)
    assert "s3cret" not in str(failure.value)


@pytest.mark.parametrize(
    ("type_", "raw", "expected"),
    [
        (
            "slack",
            b'{"delivery_mode": "thread", "bot_token": "xoxb-1", "channel_id": "C1", "webhook_url": "x"}',
            SlackConfig(token="xoxb-1", channel="C1"),
        ),
        (
            "slack",
            b'{"webhook_url": "https://x\\n", "format": "json", "rate_limit": {"rate": 2.0}}',
            SlackConfig(webhook_url="https://x"),
        ),
        (
            "telegram",
            b'{"token": "1:a", "chat_id": "-1", "rate_limit": {"burst": 1}}',
            TelegramConfig(token="1:a", chat_id="-1"),
        ),
        (
            "slack",  # as its reference shows all fields; without a mode it posts by the webhook
            b'{"webhook_url": "https://x", "bot_token": "", "channel_id": "", "delivery_mode": ""}',
            SlackConfig(webhook_url="https://x"),
        ),
        (
            "slack",
            b'{"webhook_url": "https://x", "bot_token": "xoxb-1", "channel_id": "C1"}',
            SlackConfig(webhook_url="https://x"),
        ),
        (
            "slack",
            b'{"delivery_mode": " Thread ", "bot_token": "xoxb-1", "channel_id": "C1", "webhook_url": null}',
            SlackConfig(token="xoxb-1", channel="C1"),
        ),
        (
            "telegram",
            b'{"token": "1:a", "chat_id": "-1", "parse_mode": null}',
            TelegramConfig(token="1:a", chat_id="-1", parse_mode="HTML"),
        ),
        (
            "webhook",
            b'{"url": "https://x", "headers": null}',
            WebhookConfig(url="https://x"),
        ),
        (
            "webhook",
            b'{"url": "https://x", "enable_renderer": true}',
            WebhookConfig(url="https://x"),
        ),
    ],
)
def test_secrets_of_the_original_are_understood(type_: Any, raw: bytes, expected: Any) -> None:
    assert read_config(type_, raw) == expected


def test_nothing_that_a_secret_holds_is_shown() -> None:
    config = SlackConfig(webhook_url="https://hooks.slack.com/services/T000/B000/abcdefgh")
    told = hide("bad path /services/T000/B000/abcdefgh or abcdefgh", config)
    assert "abcdefgh" not in told
    telegram = TelegramConfig(token="123:secret-token", chat_id="-100")
    assert hide("no bot 123:secret-token", telegram) == "no bot •••"
    webhook = WebhookConfig(
        url="https://bob:pass%40word@x.com/?key=query-secret", headers={"Authorization": "Bearer abc-token"}
    )
    echoed = "no abc-token, no query-secret, no pass@word, no Basic Ym9iOnBhc3NAd29yZA=="
    assert hide(echoed, webhook) == "no •••, no •••, no •••, no Basic •••"


async def test_no_header_of_a_secret_stands_beside_ours(sink: Sink, out: Outbound) -> None:
    config = WebhookConfig(
        url=sink.url, headers={"Webhook-Id": "forged", "content-type": "text/plain", "X-Team": "shop"}
    )
    await deliver(SinkClients(out), config, PARCEL, "words", NOW)
    [headers] = sink.headers
    assert headers["webhook-id"] == "msg_1"
    assert headers["content-type"].startswith("application/cloudevents+json")
    assert headers["x-team"] == "shop"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "Mon, 02 Mar 2026 20:01:00 GMT", "Date": "Mon, 02 Mar 2026 20:00:00 GMT"}, 60.0),
        ({"Retry-After": "Mon, 02 Mar 2026 20:01:00 GMT"}, None),
        ({"Retry-After": "Mon, 02 Mar 2026 20:01:00 -0000", "Date": "Mon, 02 Mar 2026 20:00:00 GMT"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "9" * 5000}, float("inf")),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_in_both_forms(headers: dict[str, str], expected: float | None) -> None:
    assert asked_wait(headers) == expected


async def test_telegram_says_in_its_answer_what_can_be_mended_and_how_long_to_wait(
    sink: Sink, out: Outbound
) -> None:
    config = TelegramConfig(token="123:abc", chat_id=-100, parse_mode="HTML", api_url=sink.url)
    said = '{"ok": false, "description": "Too Many Requests", "parameters": {"retry_after": 31}}'
    sink.answers = [
        (429, {}, said),
        (400, {}, '{"ok": false, "description": "Bad Request: chat not found"}'),
        (400, {}, '{"ok": false, "description": "Bad Request: message text is empty"}'),
        (400, {}, '{"ok": false, "description": "Bad Request: can\'t parse entities: <b> at 3"}'),
    ]
    with pytest.raises(AwayError, match="Too Many Requests") as failure:
        await deliver(SinkClients(out), config, PARCEL, "x", NOW)
    assert failure.value.after == 31
    with pytest.raises(AwayError, match="chat not found"):
        await deliver(SinkClients(out), config, PARCEL, "x", NOW)
    with pytest.raises(RefusedError, match="text is empty"):
        await deliver(SinkClients(out), config, PARCEL, "x", NOW)
    await deliver(
        SinkClients(out), config, PARCEL, "<b>x", NOW
    )  # markup that it cannot read goes as plain text
    [got] = sink.got
    assert (got["text"], got.get("parse_mode")) == ("<b>x", None)


async def test_a_long_message_is_cut_between_lines(sink: Sink, out: Outbound) -> None:
    config = TelegramConfig(token="123:abc", chat_id=-100, parse_mode="MarkdownV2", api_url=sink.url)
    await deliver(SinkClients(out), config, PARCEL, "\n".join([r"shop\-1"] * 1000), NOW)
    await deliver(SinkClients(out), config, PARCEL, "x" * 9000, NOW)
    first, second = (one["text"] for one in sink.got)
    assert set(first.splitlines()) == {r"shop\-1", "…"}
    assert len(first) <= len(second) == 4096


def _many(names: Sequence[str]) -> Parcel:
    made = (structs.replace(FAILURE, name=name, uid=name, id=name) for name in names)
    return Parcel("msg_2", tuple(explained(one, "") for one in made))


async def test_a_group_is_one_message_that_names_each(sink: Sink, out: Outbound) -> None:
    parcel = _many([f"plan-{number}" for number in range(50)])
    said = text(parcel, MARKUPS["plain"])
    assert "plan-0 could not go to sleep and others" in said
    assert said.count("team-a/") == 20
    assert "and 30 more" in said
    await deliver(SinkClients(out), WebhookConfig(url=sink.url), parcel, said, NOW)
    [got] = sink.got
    assert got["type"] == "com.ardikabs.hibernator.group"
    assert len(got["data"]["events"]) == 50
