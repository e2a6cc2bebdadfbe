"""`/healthz`, `/readyz` and `/metrics`: what kubelet and Prometheus ask a replica.

Alive means that the event loop comes round; kubelet restarts a replica that is not. Ready means that it can
be of use to others, also while it stands by: its caches are filled and it is not about to stop.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hibernator.kube.clock import steady
from hibernator.kube.metrics import LOOP_LAG_SECONDS, Metrics

Check = Callable[[], str]
"""What is wrong, in words; nothing if it is empty."""

_BEAT: Final = 1.0
_LONGEST_SILENCE: Final = 10.0


class Health:
    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self._last_beat = steady()
        self._ready: dict[str, Check] = {}

    def ready_if(self, name: str, check: Check) -> None:
        """Keep requests from the replica while this finds something wrong."""
        self._ready[name] = check

    async def beat(self) -> None:
        """Show that the event loop comes round, and how late it is."""
        while True:
            before = steady()
            await asyncio.sleep(_BEAT)
            self._last_beat = steady()
            self.metrics.set(LOOP_LAG_SECONDS, max(0.0, self._last_beat - before - _BEAT))

    def app(self) -> Starlette:
        async def healthz(_request: Request) -> Response:
            return _answer({"loop": self._loop})

        async def readyz(_request: Request) -> Response:
            return _answer(self._ready)

        async def metrics(_request: Request) -> Response:
            return Response(self.metrics.text(), media_type=CONTENT_TYPE_LATEST)

        return Starlette(
            routes=[Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)]
        )

    def _loop(self) -> str:
        silence = steady() - self._last_beat
        return f"no heartbeat for {silence:.0f} seconds" if silence > _LONGEST_SILENCE else ""


def _answer(checks: Mapping[str, Check]) -> Response:
    found = {name: check() for name, check in checks.items()}
    lines = [f"{'no' if wrong else 'ok'}  {name}{wrong and ': '}{wrong}\n" for name, wrong in found.items()]
    return PlainTextResponse("".join(lines), 503 if any(found.values()) else 200)
