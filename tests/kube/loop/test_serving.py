"""A server that stops: what it was asked before is answered, for a while."""

import asyncio

import aiohttp
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hibernator.kube.serving import Server


async def test_what_is_being_answered_when_a_server_stops_is_answered() -> None:
    asked, answers = asyncio.Event(), asyncio.Event()

    async def answer(_request: Request) -> Response:
        asked.set()
        await answers.wait()
        return PlainTextResponse("counted")

    app = Starlette(routes=[Route("/", answer, methods=["POST"])])
    server = Server(app, host="127.0.0.1", port=0, draining=60)
    async with aiohttp.ClientSession() as session:
        running = asyncio.create_task(server.run())
        await server.listening.wait()
        asking = asyncio.create_task(session.post(f"http://127.0.0.1:{server.port}/"))
        await asked.wait()
        running.cancel()
        await _refused(server.port)
        answers.set()
        async with await asking as response:
            assert await response.text() == "counted"
        with pytest.raises(asyncio.CancelledError):
            await running


async def _refused(port: int) -> None:
    """Wait until the server takes nothing new."""
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                return
            writer.close()
            await writer.wait_closed()
