"""Whether an event loop was free all the time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hibernator.kube.clock import steady

_BEAT = 0.01


class Heart:
    """Beats as long as the event loop lets it; `longest` is the longest that it had to wait, in seconds."""

    longest = 0.0

    @asynccontextmanager
    async def beating(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            beat = tasks.create_task(self._beat())
            try:
                yield
            finally:
                beat.cancel()

    async def _beat(self) -> None:
        while True:
            before = steady()
            await asyncio.sleep(_BEAT)
            self.longest = max(self.longest, steady() - before - _BEAT)
