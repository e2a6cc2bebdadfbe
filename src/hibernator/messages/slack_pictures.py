"""The picture of a request in Slack: uploaded once, shown in every message about it.

Slack shows pictures from public addresses or from its own files. Ours have no public address, so they are
uploaded (`files:write`). A message never waits long for its picture, and never fails for want of one: it
has the same timeline in characters, too.
"""

import asyncio
import json
from typing import Final
from weakref import WeakValueDictionary

import aiohttp
import structlog

from hibernator.kube.clock import Clock
from hibernator.messages.channel import AwayError
from hibernator.messages.facts import Facts
from hibernator.messages.slack_api import SlackApi, SlackError
from hibernator.pictures.comparison import Comparison
from hibernator.pictures.png import paint

log = structlog.get_logger(__name__)

_KEPT: Final = 500  # pictures whose ids are remembered; one that is forgotten is uploaded again
_PAUSE: Final = 3600.0  # seconds without a try after Slack refused a file
_SHORT_PAUSE: Final = 60.0  # the same after it did not answer
_NAME: Final = "timeline.png"


class Pictures:
    def __init__(self, api: SlackApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._ids: dict[tuple[object, ...], str] = {}  # by what the picture shows
        self._not_before = 0.0
        self._turns: WeakValueDictionary[tuple[object, ...], asyncio.Lock] = WeakValueDictionary()

    async def id_of(self, facts: Facts) -> str:
        """The id of the file that shows it; empty where there is nothing to draw, or nothing is taken."""
        if not (facts.comparison and facts.changes) or self._clock.monotonic() < self._not_before:
            return ""
        shows = facts.uid, facts.hours, facts.changes
        async with self._turns.setdefault(shows, asyncio.Lock()):  # or all who are asked at once upload it
            return self._ids.get(shows) or await self._new(shows, facts.comparison)

    async def _new(self, shows: tuple[object, ...], comparison: Comparison) -> str:
        if self._clock.monotonic() < self._not_before:
            return ""
        try:
            self._ids[shows] = await self._upload(await asyncio.to_thread(paint, comparison))
        except SlackError as error:
            return self._without(error, _PAUSE)
        except (AwayError, aiohttp.ClientError, TimeoutError) as error:
            return self._without(error, getattr(error, "after", None) or _SHORT_PAUSE)
        while len(self._ids) > _KEPT:
            self._ids.pop(next(iter(self._ids)))
        return self._ids[shows]

    def _without(self, error: Exception, seconds: float) -> str:
        log.warning("slack takes no pictures", error=str(error) or type(error).__name__)
        self._not_before = self._clock.monotonic() + seconds
        return ""

    async def _upload(self, painted: bytes) -> str:
        wanted = {"filename": _NAME, "length": len(painted)}
        place = await self._api.call("files.getUploadURLExternal", wanted, optional=True)
        await self._api.upload(str(place["upload_url"]), painted)
        found = str(place["file_id"])
        files = json.dumps([{"id": found, "title": "The plan before and after"}])
        await self._api.call("files.completeUploadExternal", {"files": files}, optional=True)
        return found
