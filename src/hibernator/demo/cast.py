"""What people and programs do in the scene, each in their own name, at the scene's time.

Bob is missing: that is who watches.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog
from whenever import Instant

from hibernator.approvals.decision import Matter, NotAcceptedError, decide
from hibernator.approvals.people import Directory
from hibernator.demo.scene import ASKER, FIRST_APPROVER, address
from hibernator.demo.stage import Stage, kind_of
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.errors import AlreadyExists, ApiError

log = structlog.get_logger(__name__)

_MINUTE: Final = 60.0
_TRIES: Final = 40
_PAUSE: Final = 0.5  # real seconds; webhooks and rights of people may take a moment to be known everywhere

Deed = Callable[[], Awaitable[Any]]


class Cast:
    def __init__(self, stage: Stage, clock: Clock) -> None:
        self._stage = stage
        self._clock = clock

    async def run(self) -> None:
        """Play all parts, and then stay for as long as the scene does."""
        asked, *incident = self._stage.scene.acts
        await self._at(15, lambda: self._file(ASKER, asked))
        await self._at(35, lambda: self._file("admin", *incident))
        await self._at(80, lambda: self._agree(asked))
        await asyncio.Event().wait()

    async def _at(self, minutes: float, deed: Deed) -> None:
        moment = self._stage.scene.opens.add(seconds=minutes * _MINUTE)
        await self._clock.sleep((moment - self._clock.now()).total("seconds"))
        for _ in range(_TRIES):
            try:
                await deed()
            except (NotAcceptedError, AlreadyExists):
                return  # whoever watches was faster
            except ApiError as error:
                log.warning("an act is tried again", error=str(error))
                await asyncio.sleep(_PAUSE)
            else:
                return
        log.error("an act was given up")

    async def _file(self, person: str, *documents: dict[str, Any]) -> None:
        async with Client(self._stage.credentials(person)) as client:
            for document in documents:
                await client.create(kind_of(document), document)

    async def _agree(self, asked: dict[str, Any]) -> None:
        metadata = asked["metadata"]
        who = Directory().person(address(FIRST_APPROVER))
        async with Client(self._stage.credentials(FIRST_APPROVER)) as client:
            matter = Matter(metadata["name"], metadata["namespace"])
            await decide(client, matter, who, "approve", "cli", now=self._now(), reason="Good luck!")

    def _now(self) -> Instant:
        return self._clock.now().round("second", mode="floor")
