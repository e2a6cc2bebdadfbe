"""Strangers who open connections and say nothing, or little, or read nothing, keep no one else waiting."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from hibernator.kube.connections import ConnectionLimit
from hibernator.kube.serving import Server

SHORT = 0.2  # seconds
HEAD = b"GET / HTTP/1.1\r\nHost: h\r\n"
LARGE = 16 << 20  # bytes: more than what systems keep for a peer that reads nothing


async def small(_request: Request) -> Response:
    return PlainTextResponse("here")


async def large(_request: Request) -> Response:
    return Response(b"x" * LARGE)


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    while True:
        await socket.send_text(await socket.receive_text())


APP = Starlette(routes=[Route("/", small), Route("/large", large), WebSocketRoute("/echo", echo)])
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(room: ConnectionLimit) -> AsyncIterator[Server]:
    server = Server(APP, host="127.0.0.1", port=0, websockets=True, room=room)
    running = asyncio.create_task(server.run())
    try:
        await server.listening.wait()
        yield server
    finally:
        running.cancel()
        await asyncio.wait([running])


async def connect(server: Server, said: bytes = b"") -> Stream:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(said)
    return reader, writer


async def ended(stream: Stream) -> bytes:
    """What comes until the other side ends it."""
    try:
        async with asyncio.timeout(20):
            return await stream[0].read()
    except ConnectionResetError:
        return b""
    finally:
        stream[1].close()


@pytest.mark.parametrize("said", [b"", b"G", HEAD, HEAD + b"\r\n" + HEAD])
async def test_a_request_that_does_not_come_is_not_waited_for(said: bytes) -> None:
    async with serving(ConnectionLimit(head=SHORT)) as server:
        got = await ended(await connect(server, said))
    assert got.count(b"here") == said.count(b"\r\n\r\n")


async def test_a_body_that_comes_byte_by_byte_after_its_answer_is_not_waited_for() -> None:
    async with serving(ConnectionLimit(head=SHORT)) as server:
        reader, writer = await connect(server, HEAD + b"Content-Length: 1000\r\n\r\nx")
        assert b"here" in await reader.readuntil(b"here")
        writer.write(b"y")
        assert await ended((reader, writer)) == b""


async def test_an_answer_that_no_one_reads_is_given_up() -> None:
    async with serving(ConnectionLimit(answer=SHORT, head=2 * SHORT)) as server:
        silent = await connect(server, HEAD.replace(b"GET /", b"GET /large") + b"\r\n")
        await ended(await connect(server))  # so long does nobody read
        assert len(await ended(silent)) < LARGE


async def test_a_connection_that_is_kept_for_the_next_request_and_a_websocket_stay() -> None:
    async with serving(ConnectionLimit(head=SHORT, answer=SHORT)) as server:
        reader, writer = await connect(server, HEAD + b"\r\n")
        await reader.readuntil(b"here")
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"http://127.0.0.1:{server.port}/echo") as socket,
        ):
            await ended(await connect(server))  # so long does a stranger stay
            await socket.send_str("still there")
            assert await socket.receive_str() == "still there"
            writer.write(HEAD + b"\r\n")
            await reader.readuntil(b"here")
            writer.close()


async def test_who_waits_for_longest_makes_room_for_the_next() -> None:
    async with serving(ConnectionLimit(most=5)) as server:
        strangers = [await connect(server, b"GET") for _ in range(5)]
        async with aiohttp.ClientSession() as session:
            url, once = f"http://127.0.0.1:{server.port}/", {"connection": "close"}
            for number in range(3):
                async with session.get(url, headers=once) as answer:
                    assert await answer.text() == "here", number
        assert await ended(strangers[0]) == b""
        for _, writer in strangers:
            writer.close()
