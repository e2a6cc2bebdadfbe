"""Servers that answer whatever a test likes, and one that never stops."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def endless(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse(status=int(path[-3:]) if (path := request.match_info["path"]) else 200)
    await answer.prepare(request)
    try:
        while True:
            await answer.write(b"[" * 65_536)
    except (ConnectionError, asyncio.CancelledError):
        return answer
