"""A real Prometheus, with one thing to watch whose number the test sets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from aiohttp import web

from hibernator.controlplane.ports import free_port
from tools.gotools import PROMETHEUS, tool

_CONFIG = """
scrape_configs:
  - job_name: shop
    scrape_interval: 200ms
    scrape_timeout: 200ms
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


class Prometheus:
    def __init__(
        self, address: str, session: aiohttp.ClientSession, process: asyncio.subprocess.Process
    ) -> None:
        self.address = address
        self.queue = 0.0  # what the thing that is watched shows as `queue`
        self._session = session
        self._process = process

    async def shows(self, value: float) -> None:
        """Set the number, and return when Prometheus has read it."""
        self.queue = value
        while await self.ask("sum(queue)") != str(value):  # noqa: ASYNC110  Prometheus tells nobody
            await asyncio.sleep(0.05)

    async def ask(self, query: str) -> str | None:
        try:
            async with self._session.get(f"{self.address}/api/v1/query", params={"query": query}) as response:
                found = (await response.json())["data"]["result"]
                return str(float(found[0]["value"][1])) if found else None
        except aiohttp.ClientError:
            return None

    async def stop(self) -> None:
        if self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()


@asynccontextmanager
async def prometheus(folder: Path) -> AsyncIterator[Prometheus]:
    binary = await asyncio.to_thread(tool, PROMETHEUS)

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(text=f"# TYPE queue gauge\nqueue {made.queue}\n")

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    listen = f"127.0.0.1:{free_port()}"
    config = folder / "prometheus.yml"
    config.write_text(_CONFIG.format(port=runner.addresses[0][1]), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        binary,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={listen}",
        stderr=asyncio.subprocess.DEVNULL,
    )
    async with aiohttp.ClientSession() as session:
        made = Prometheus(f"http://{listen}", session, process)
        try:
            async with asyncio.timeout(60):
                await made.shows(0.0)
            yield made
        finally:
            await made.stop()
            await runner.cleanup()
