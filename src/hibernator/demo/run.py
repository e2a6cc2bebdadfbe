"""The demo itself: the operator in this process, on a clock that runs fast, and someone who looks on."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import structlog
from whenever import Instant

from hibernator.approvals.decision import Matter, NotAcceptedError, decide
from hibernator.approvals.people import Directory
from hibernator.audit.database import Database
from hibernator.audit.verification import verify
from hibernator.controlplane.ports import free_port
from hibernator.demo.pages import pages
from hibernator.demo.scene import ASKER, FIRST_APPROVER, address
from hibernator.demo.stage import HOME, Stage, kind_of
from hibernator.demo.view import View
from hibernator.demo.watching import Watching
from hibernator.kube import clustertime
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock, ScaledClock
from hibernator.kube.errors import AlreadyExists, ApiError
from hibernator.kube.lease import Timing
from hibernator.kube.manager import stopped_by_signals
from hibernator.operator.app import operator
from hibernator.operator.settings import Settings

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
                return  # the viewer ended it first
            except ApiError as error:
                log.warning("demo step failed; trying again", error=str(error))
                await asyncio.sleep(_PAUSE)
            else:
                return
        log.error("demo step given up")

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


# No one else wants to lead, and a machine that was busy or asleep for a while shall not end the demo.
_PATIENT: Final = Timing(duration=3600.0, renew_deadline=3000.0)
_FRAME: Final = 0.25  # real seconds between two pictures


class Audience(Protocol):
    """Anyone who looks on."""

    def show(self, view: View) -> None:
        """This is how things stand, several times a second."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What is left of it: the last picture, and what the audit trail has."""

    view: View
    since: Instant
    seconds: float  # real ones
    recorded: int  # audit events
    problem: str  # of their chain


async def play(stage: Stage, audience: Audience, *, speed: float, seconds: float | None) -> Ending:
    """Run the scene until the time is over or someone stops it."""
    clock = ScaledClock(speed, stage.scene.opens)
    clustertime.publish(stage.kubeconfig, clock.now(), speed)
    settings = _settings(stage)
    async with (
        operator(settings, stage.operator, clock=clock, timing=_PATIENT) as made,
        pages(stage, clock, made.manager, f"https://{settings.trail_listen}"),
        Client(stage.admin) as client,
    ):
        watching = Watching(client, clock, stage.scene)
        for cache in watching.caches:
            made.manager.add_cache(cache)
        made.manager.add("cast", Cast(stage, clock).run)
        made.manager.add("audience", lambda: _look_on(watching, audience))
        with stopped_by_signals(made.manager):
            if seconds is not None:
                asyncio.get_running_loop().call_later(seconds, made.manager.stop)
            await made.manager.run()
    async with Database(stage.database, read_only=True) as database:
        verdict = await verify(database)
    view = watching.view()
    audience.show(view)
    return Ending(view, stage.scene.opens, clock.monotonic() / speed, verdict.end.sequence, verdict.problem)


async def _look_on(watching: Watching, audience: Audience) -> None:
    while True:
        audience.show(watching.view())
        await asyncio.sleep(_FRAME)


def _settings(stage: Stage) -> Settings:
    """As in production, but for boundaries on the second."""
    port, trail_port = free_port(), free_port()
    return Settings(
        namespace=HOME.namespace,
        listen="127.0.0.1:0",
        database=stage.database,
        webhook_listen=f"127.0.0.1:{port}",
        webhook_url=f"https://127.0.0.1:{port}",
        trail_listen=f"127.0.0.1:{trail_port}",
        scaler_jitter_from=0.0,
        scaler_jitter_to=0.0,
        scaler_minimum=0.0,
    )
