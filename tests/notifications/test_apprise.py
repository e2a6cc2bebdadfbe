"""Sinks of type apprise: what arrives, and that an address can do nothing but send over https."""

import re
import ssl
import warnings
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from apprise.manager_plugins import NotificationManager
from msgspec import structs

from hibernator.controlplane import certs
from hibernator.controlplane.layout import Layout
from hibernator.messages.channel import AwayError, RefusedError
from hibernator.notifications import apprise
from hibernator.notifications.apprise import Apprises
from hibernator.notifications.config import AppriseConfig, ConfigError, hide, read_config
from hibernator.notifications.markup import MARKUPS
from hibernator.notifications.occasions import Occasion, Parcel
from hibernator.notifications.wording import explained, text
from support.notifying import LOOPBACK, Sink

FAILURE = Occasion(
    id="7",
    event="Failure",
    type="hibernateplan.sleep.failed",
    kind="HibernatePlan",
    namespace="team-a",
    name="shop",
    uid="u",
    time="2026-03-02T20:00:05Z",
    message="@everyone <!channel> ask bob@company.com",
)
PARCEL = Parcel("msg_1", (explained(FAILURE, ""),))
SAID = text(PARCEL, MARKUPS["apprise"])


@pytest.fixture(scope="module")
async def apprises() -> AsyncIterator[Apprises]:
    async with Apprises(LOOPBACK) as found:
        yield found


@pytest.fixture(scope="module")
async def to_the_internet() -> AsyncIterator[Apprises]:
    async with Apprises() as found:
        yield found


def _at(sink: Sink, schema: str = "json", rest: str = "") -> str:
    return f"{schema}://{sink.url.removeprefix('http://')}/{rest}"


async def test_a_message_arrives_with_its_title_and_mentions_nobody(apprises: Apprises, sink: Sink) -> None:
    await apprises.send(_at(sink), PARCEL, SAID)
    [got] = sink.got
    assert (got["title"], got["type"]) == ("✗ shop could not go to sleep", "failure")
    assert got["message"].startswith("Where: HibernatePlan team-a/shop")
    assert "@everyone" not in got["message"]
    assert "<!channel" not in got["message"]
    assert "bob@company.com" in got["message"]
    calm = Parcel("msg_2", (structs.replace(FAILURE, event="Success"),))
    await apprises.send(_at(sink), calm, "own words")
    assert (sink.got[1]["type"], sink.got[1]["message"]) == ("success", "own words")


@pytest.mark.parametrize(
    ("status", "headers", "expected", "after"),
    [
        (429, {"Retry-After": "40"}, "the service answered 429", 40),
        (503, {}, "the service answered 503", None),
        (401, {}, "the service answered 401", None),
        (302, {"Location": "http://127.0.0.1:1/"}, "a redirect, and none is followed", None),
    ],
)
async def test_what_a_service_answers_is_understood(
    apprises: Apprises, sink: Sink, status: int, headers: dict[str, str], expected: str, after: float | None
) -> None:
    sink.answers = [(status, headers, "")]
    with pytest.raises(AwayError, match=expected) as failure:
        await apprises.send(_at(sink), PARCEL, SAID)
    assert failure.value.after == after
    assert sink.got == []


async def test_a_message_that_a_service_will_not_take_is_refused(apprises: Apprises, sink: Sink) -> None:
    sink.answers = [(413, {}, "too large")]
    with pytest.raises(RefusedError, match="413: too large"):
        await apprises.send(_at(sink), PARCEL, SAID)


async def test_what_a_service_leaves_out_does_not_count_as_sent(apprises: Apprises) -> None:
    """Opsgenie adds what is no failure to an alert that it has not been asked for."""
    calm = Parcel("msg_2", (structs.replace(FAILURE, event="Start"),))
    with pytest.raises(RefusedError, match="takes no messages of the type info"):
        await apprises.send("opsgenie://a-b-c-d", calm, "own words")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("syslog://", "syslog:// is refused: it shows messages on the machine"),
        ("dbus://", "it shows messages on the machine"),
        ("mqtt://broker/topic", "it is no service over https"),
        ("mailto://a:b@company.com", "use a sink of type email"),
        ("fcm://project/token?keyfile=/etc/passwd", "it needs files"),
        ("file:///etc/passwd", "none that Apprise understands"),
        ("unknown://x", "none that Apprise understands"),
        ("telegram", "none that Apprise understands"),
    ],
)
async def test_an_address_that_is_no_service_over_https_is_refused_by_name(
    apprises: Apprises, url: str, expected: str
) -> None:
    with pytest.raises(AwayError, match=expected):
        await apprises.send(url, PARCEL, SAID)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]", "0x7f.1"])
async def test_an_address_inside_is_refused_after_dns(
    to_the_internet: Apprises, host: str, sink: Sink
) -> None:
    port = sink.url.rpartition(":")[2]
    async with Apprises() as out:
        for schema, expected in (
            ("jsons", "is inside of the cluster|none that"),
            ("json", "plain http|none that"),
        ):
            with pytest.raises(AwayError, match=expected):
                await out.send(f"{schema}://{host}:{port}/", PARCEL, SAID)
    assert sink.got == []


async def test_no_file_of_the_machine_becomes_a_message(apprises: Apprises, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"text": "s3cret"}', "utf-8")
    for url in (
        f"tgram://123456789:abcdefghijklmnopqrstuvwxyzABCDEFGHI/12315544/?template={secret}",
        f"slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?template={secret}",
    ):
        with pytest.raises(AwayError, match="reads or writes files") as failure:
            await apprises.send(url, PARCEL, SAID)
        assert "s3cret" not in str(failure.value)


async def test_certificates_are_checked_whatever_the_address_says(apprises: Apprises, tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    certs.write_all(layout)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(layout.cert(certs.SERVER), layout.key(certs.SERVER))
    got: list[str] = []

    async def take(request: web.Request) -> web.Response:
        got.append(request.path)
        return web.Response()

    app = web.Application()
    app.router.add_post("/{path:.*}", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        with pytest.raises(AwayError, match="could not send it"):
            await apprises.send(f"jsons://127.0.0.1:{runner.addresses[0][1]}/?verify=no", PARCEL, SAID)
    finally:
        await runner.cleanup()
    assert got == []


async def test_an_endless_answer_and_an_endless_wait_end(
    apprises: Apprises, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.answers = [(500, {}, "x" * 200_000)]
    with pytest.raises(AwayError, match="its answer is too long"):
        await apprises.send(_at(sink), PARCEL, SAID)
    monkeypatch.setattr(apprise, "_LONGEST", 0.0)
    with pytest.raises(AwayError, match="takes too long"):
        await apprises.send(_at(sink), PARCEL, SAID)
    monkeypatch.undo()
    await apprises.send(_at(sink), PARCEL, SAID)  # and the next one goes out


async def test_where_apprise_is_not_installed_the_message_says_so(
    apprises: Apprises, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apprise, "find_spec", lambda _name: None)
    with pytest.raises(AwayError, match=re.escape("install hibernator[apprise]")):
        await apprises.send("discord://1/2", PARCEL, SAID)


def test_every_service_of_apprise_that_is_not_over_https_is_refused_by_name() -> None:
    """One more in a newer Apprise is noticed here."""
    manager: Any = NotificationManager
    plugins = manager()
    with warnings.catch_warnings(action="ignore"):
        schemas = plugins.schemas()
    for schema in schemas:
        plugin = plugins[schema]
        spec = find_spec(plugin.__module__)
        assert spec
        assert spec.origin
        source = Path(spec.origin)
        files = source.parent.glob("*.py") if source.name == "__init__.py" else [source]
        speaks_http = any("import requests" in file.read_text("utf-8") for file in files)
        is_local = not plugin.enabled or getattr(plugin, "templates", ()) == ("{schema}://",)
        if not speaks_http or is_local:
            assert schema in apprise._REFUSED or "guilded" in schema or "jellyfin" in schema, schema


def test_nothing_of_an_address_is_shown() -> None:
    config = read_config("apprise", b'{"url": "discord://webhook-id/webhook-token?thread=123456"}')
    assert isinstance(config, AppriseConfig)
    told = hide("webhook-id, webhook-token and 123456 at discord.com", config)
    assert told == "•••, ••• and ••• at discord.com"
    with pytest.raises(ConfigError, match="url") as failure:
        read_config("apprise", b'{"url": "s3cret"}')
    assert "s3cret" not in str(failure.value)
