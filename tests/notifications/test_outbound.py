"""Where a sink may lead: to the open Internet, or to networks that an administrator allows."""

import asyncio
import contextlib
import json
import socket
import threading
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from hibernator.messages.channel import AwayError, RefusedError
from hibernator.notifications.outbound import Outbound, is_allowed
from support.mailserver import mail_server
from support.notifying import LOOPBACK, Sink


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.96.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104 — an address that must be refused
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "::ffff:169.254.169.254",
        "::ffff:0:10.0.0.1",
        "::10.0.0.1",
        "64:ff9b:1::a00:1",
        "fec0::1",
        "3fff::1",
        "168.63.129.16",
        "192.0.0.192",
    ],
)
def test_an_address_inside_is_refused(address: str) -> None:
    assert not is_allowed(address, ())


def test_the_open_internet_and_allowed_networks_are_not() -> None:
    assert is_allowed("93.184.216.34", ())
    assert is_allowed("2606:2800:220:1::1", ())
    assert is_allowed("10.1.2.3", (ip_network("10.0.0.0/8"),))
    assert is_allowed("::ffff:10.1.2.3", (ip_network("10.0.0.0/8"),))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1"])
async def test_a_name_that_leads_inside_is_refused_at_the_connection(sink: Sink, host: str) -> None:
    port = sink.url.rpartition(":")[2]
    async with Outbound((ip_network("203.0.113.0/24"),)) as out:
        with pytest.raises(AwayError, match=r"inside of the cluster|does not answer|cannot be reached"):
            await out.post(f"http://{host}:{port}/", b"{}", {})
    async with Outbound() as out:
        with pytest.raises(AwayError, match="write https://"):
            await out.post(f"http://{host}:{port}/", b"{}", {})
        with pytest.raises(AwayError, match=r"inside of the cluster|InvalidUrl"):
            await out.post(f"https://{host}:{port}/", b"{}", {})
    assert sink.got == []


async def test_no_redirect_is_followed(sink: Sink, out: Outbound) -> None:
    sink.answers = [(307, {"Location": "http://169.254.169.254/latest"}, "")]
    with pytest.raises(AwayError, match="a redirect, and none is followed"):
        await out.post(sink.url, b"{}", {})
    assert sink.got == []


async def test_a_certificate_that_is_not_trusted_is_refused(tmp_path: Path, out: Outbound) -> None:
    async with mail_server(tmp_path, tls="tls") as server:
        with pytest.raises(AwayError, match="certificate is not trusted") as failure:
            await out.post(f"https://127.0.0.1:{server.port}/secret-path", b"{}", {})
    assert "secret-path" not in str(failure.value)


async def test_an_endless_answer_is_cut_off(out: Outbound) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(64):
            await response.write(b"x" * 65536)
        return response

    app = web.Application()
    app.router.add_post("/", endless)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        with pytest.raises(AwayError, match="TooLargeError"):
            await out.post(f"http://127.0.0.1:{runner.addresses[0][1]}/", b"{}", {})
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("head", "again"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: yes\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1;" + b"x" * 4000 + b"\r\ny\r\n"),
    ],
    ids=["100 Continue", "headers", "chunks of one byte"],
)
async def test_what_comes_back_without_end_is_cut_off_and_not_waited_for(head: bytes, again: bytes) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(head)
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(again * 100)
                await writer.drain()

    server = await asyncio.start_server(endless, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Outbound(LOOPBACK, seconds=3600) as out, asyncio.timeout(60):
        with pytest.raises(AwayError, match=r"no end|ClientResponseError|ClientPayloadError"):
            await out.post(f"http://127.0.0.1:{port}/", b"{}", {})


async def test_each_request_over_a_connection_has_room_for_its_own_answer(sink: Sink, out: Outbound) -> None:
    sink.answers = [(422, {}, "x" * 60_000)] * 12
    for _ in range(12):
        with pytest.raises(RefusedError):
            await out.post(sink.url, json.dumps({"text": "x" * 100}).encode(), {})


async def test_names_that_are_never_found_keep_no_one_else_waiting(
    out: Outbound, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, look_up, loop, begun = (
        threading.Event(),
        socket.getaddrinfo,
        asyncio.get_running_loop(),
        asyncio.Event(),
    )

    def slow(host: Any, *more: Any, **others: Any) -> Any:
        if host == "slow.test":
            loop.call_soon_threadsafe(begun.set)
            gate.wait(15)
            raise socket.gaierror
        return look_up(host, *more, **others)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    posts = [asyncio.create_task(out.post(f"https://slow.test:{port}/", b"", {})) for port in range(1, 41)]
    await begun.wait()  # and all the others wait for a thread
    async with asyncio.timeout(10):
        await asyncio.to_thread(lambda: None)  # where files are read and other names looked up
    gate.set()
    answers = await asyncio.gather(*posts, return_exceptions=True)
    assert {str(one) for one in answers} == {"slow.test cannot be reached: its name is not known"}
    await out.post(sink.url.replace("127.0.0.1", "localhost"), b"{}", {})
    assert len(sink.got) == 1
