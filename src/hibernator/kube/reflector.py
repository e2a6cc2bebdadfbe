"""Keeps a store in step with the API server: a list, then a watch from its version, for ever.

What can go wrong here goes wrong in every cluster sooner or later, and each has its own way out:

* the version is too old to watch from (410 as an answer, or inside the stream): list again;
* the rest of a paged list has expired: list again, all at once;
* the connection breaks: watch again from the last version;
* the connection hangs, or the API server was away for a while: list, because it may have been set back, and
  what it counts its versions from be another past;
* the list is older than what we know already, from an API server that lags behind: ask again;
* the API server was restored from a backup, so that *every* list is older: believe it after a while, or as
  soon as someone else in this process has found it out.
"""

import asyncio
import random
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Final, Generic, TypeVar

import structlog

from hibernator.api.meta import Object
from hibernator.kube.backoff import backoff
from hibernator.kube.client import Client
from hibernator.kube.clock import steady
from hibernator.kube.errors import ApiError, Gone, Throttled, Unavailable
from hibernator.kube.metrics import RELISTS, WATCH_RESTARTS, Metrics
from hibernator.kube.store import Store, key_of, order
from hibernator.kube.wire import Added, BrokenEvent, Deleted, Modified, Page, WatchEvent

T = TypeVar("T", bound=Object)

_log: Final = structlog.get_logger(__name__)
_ALL_AT_ONCE: Final = 0
_PRESENT: Final = (Added, Modified)
_IN_THE_FUTURE: Final = "ResourceVersionTooLarge"


@dataclass(frozen=True, slots=True)
class ReflectorTuning:
    """How a reflector goes about it. The seconds are real ones: they guard against peers that hang."""

    page: int = 500
    watch: tuple[float, float] = (300.0, 600.0)  # how long a watch lasts, drawn again for each
    silence: float = 90.0  # after which a watch counts as dead; bookmarks come every minute
    short: float = 1.0  # a watch that ends sooner, with nothing seen, counts as a failure
    first_wait: float = 0.1
    longest_wait: float = 30.0
    longest_absence: float = 5.0  # after which a watch does not go on, but begins with a list
    believe_older_lists_after: float = 30.0


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind."""

    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""


class Reflector(Generic[T]):
    def __init__(
        self, client: Client, store: Store[T], selection: Selection, habits: ReflectorTuning, metrics: Metrics
    ) -> None:
        self.synced = asyncio.Event()
        self.trusted = asyncio.Event()  # cleared from a doubt to the list that settles it
        self.contact = steady()  # when the API server last answered or sent an event
        self.trouble = ""  # what keeps the store from being up to date
        self._client = client
        self._store = store
        self._selection = selection
        self._habits = habits
        self._metrics = metrics
        self._listed = False  # whether a watch can go on from what the store has seen
        self._page = self._habits.page
        self._failures = 0
        self._older_since: float | None = None
        self._away_since: float | None = None  # the first failure since the last contact
        self._doubts = 0
        self._settled = 0  # how many of them are settled by a list that began later
        self._limit: asyncio.Timeout | None = None  # of the watch that runs

    def relist(self) -> None:
        """List at once, and believe it also if it is older: the API server was set back."""
        self._doubts += 1
        self._listed = False
        self.trusted.clear()
        if self._limit:
            self._limit.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                while not self._listed:  # again, if a doubt came while it listed
                    await self._list()
                await self._watch()
            except ApiError as error:
                await self._recover(error)
            except Exception as error:  # noqa: BLE001 — a bug of ours must not leave the cache frozen
                _log.exception("watch cache failed; relisting", resource=self._store.kind.resource)
                self._listed = False
                await self._recover(ApiError(str(error)))

    async def _list(self) -> None:
        resource = self._store.kind.resource
        self._metrics.count(RELISTS, resource)
        doubts, newest = self._doubts, self._store.newest
        pages: list[Page[T]] = []
        try:
            async for page in self._client.pages(
                self._store.kind, limit=self._page, **asdict(self._selection)
            ):
                self._heard()
                pages.append(page)
        except Gone:
            self._page = _ALL_AT_ONCE
            raise
        self._page = self._habits.page
        version = order(pages[0].resource_version)
        insists, doubted = self._insists(), doubts != self._settled
        is_old = version < newest and not insists and not doubted
        if is_old or not self._store.replace(pages, version, rewound=insists or doubted):
            self._older_since = self._older_since or steady()
            raise Unavailable(f"the API server listed an old state (version {version}) of {resource}")
        if insists and not doubted:
            self._store.went_back()
        self._older_since = None
        self._settled = doubts
        self.trouble = ""
        self.synced.set()
        if doubts == self._doubts:
            self._listed = True
            self.trusted.set()

    def _insists(self) -> bool:
        """Whether lists have been older than what we know for so long that it must be true."""
        since = self._older_since
        return since is not None and steady() >= since + self._habits.believe_older_lists_after

    async def _watch(self) -> None:
        start, useful = steady(), False
        batches = self._client.watch(
            self._store.kind,
            str(self._store.seen),
            **asdict(self._selection),
            seconds=random.uniform(*self._habits.watch),
            silence=self._habits.silence,
        )
        try:
            async with asyncio.timeout(None) as limit, aclosing(batches):
                self._limit = limit
                async for batch in batches:
                    self._heard()
                    for event in batch:
                        self._apply(event)
                        useful = True
        except TimeoutError:
            if not limit.expired():
                raise
            useful = True  # not the server's fault: `relist` was called
        finally:
            self._limit = None
            self._metrics.count(WATCH_RESTARTS, self._store.kind.resource)
            useful = useful or steady() - start >= self._habits.short
            if useful:
                self._failures = 0
        if not useful:
            raise Unavailable("the API server ended the watch as soon as it began")

    def _heard(self) -> None:
        self.contact = steady()
        self._away_since = None

    def _apply(self, event: WatchEvent[T]) -> None:
        store = self._store
        if isinstance(event, _PRESENT):
            store.saw(event.object)
        elif isinstance(event, Deleted):
            store.saw_deletion(key_of(event.object), order(event.object.metadata.resource_version))
        elif isinstance(event, BrokenEvent):
            broken = event.object
            if event.deleted:
                store.saw_deletion((broken.namespace, broken.name), order(broken.resource_version))
            else:
                store.saw_broken(broken)
        elif not store.saw_nothing_until(order(event.resource_version)):
            raise Gone("the API server is behind the version that it was asked to go on from")

    async def _recover(self, error: ApiError) -> None:
        if isinstance(error, Gone) or any(cause.reason == _IN_THE_FUTURE for cause in error.causes):
            self._listed = False
        self._away_since = self._away_since or steady()
        # Also after a silence without bookmarks: a watch from a version that the API server has not reached,
        # because it was set back, stands and tells nothing until that version comes.
        # The connection counts its silence from the last byte, which is a little before we have heard it.
        silent = steady() >= self.contact + 0.9 * self._habits.silence
        if silent or steady() > self._away_since + self._habits.longest_absence:
            self._listed = False
        wait = backoff(
            self._failures,
            first=self._habits.first_wait,
            longest=self._habits.longest_wait,
            at_least=error.retry_after if isinstance(error, Throttled | Unavailable) else None,
        )
        self._failures += 1
        self.trouble = str(error)
        _log.warning(
            "out of touch with the api server; trying again",
            resource=self._store.kind.resource,
            error=str(error),
            seconds=round(wait, 2),
        )
        await asyncio.sleep(wait)
