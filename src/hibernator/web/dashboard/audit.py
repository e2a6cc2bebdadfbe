"""The audit trail: search, the story of one object, the state of the chain, and export."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Final

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute
from whenever import Date, Instant, Time

from hibernator.api.hibernateplan import PLANS
from hibernator.api.kind import Kind
from hibernator.api.kinds import DEFINITIONS
from hibernator.api.meta import says
from hibernator.audit.chain import Entry, misfit
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.event import OPERATOR
from hibernator.audit.formats import Csv, Format, Json, NdJson, acting
from hibernator.audit.reading import PAGE, Filter, TrailReader
from hibernator.audit.types import EVENT_TYPES
from hibernator.web.dashboard.board import Board, address
from hibernator.web.dashboard.viewer import Viewer, not_here
from hibernator.web.dashboard.views import View
from hibernator.web.refusals import Page, RefusedError

PATH: Final = "/audit"
_ROWS: Final = 50
_OF_PLAN: Final = 10
_MOST_EXPORTED: Final = 20_000  # events in one file; the CLI exports any number
_FORMATS: Final[dict[str, tuple[type[Format], str]]] = {
    "csv": (Csv, "text/csv; charset=utf-8"),
    "json": (Json, "application/json"),
    "ndjson": (NdJson, "application/x-ndjson"),
}
_KINDS: Final[dict[str, Kind[Any]]] = {one.kind.kind: one.kind for one in DEFINITIONS}


class EventRow(View):
    """An event of the trail."""

    sequence: int
    time: datetime
    type: str
    words: Annotated[str, says("What events of this type mean.")]
    outcome: str
    severity: str
    actor: str
    channel: str
    kind: str
    namespace: str
    name: str
    details: Annotated[str, says("What belongs to it, in one line.")] = ""
    error: str = ""


class ChainView(View):
    """Where the chain ends, and whether its last events fit together."""

    sequence: int
    hash: str
    checked: Annotated[int, says("How many of the last events were checked.")]
    problem: Annotated[str, says("What does not fit; empty when all do.")] = ""


class EventList(View):
    items: Annotated[tuple[EventRow, ...], says("The newest first.")] = ()
    older: Annotated[str, says("Ask with `until` set to this for what is older; empty at the end.")] = ""


class Audits:
    def __init__(self, board: Board) -> None:
        self._board = board

    def routes(self) -> list[BaseRoute]:
        return [
            self._board.route(PATH, self._show),
            self._board.route(f"{PATH}/export.{{format}}", self._export),
        ]

    async def listed(self, who: Viewer, query: QueryParams, most: int = _ROWS) -> EventList:
        found = await self._trail().latest(wanted(query), PAGE)
        seen = [one for one in reversed(found) if await _may_see(who, one)]
        more = len(seen) > most or len(found) == PAGE
        shown = seen[:most]
        older = str(shown[-1].time) if shown and more else ""
        return EventList(items=tuple(event_row(one) for one in shown), older=older)

    async def chain(self, who: Viewer) -> ChainView:
        """The last events, checked one after the other: for who may see some; it tells how many there are."""
        trail = self._trail()
        if not await who.lists_anything():
            raise not_here()
        head = await trail.head()
        return chain_view(head.sequence, head.hash, await trail.latest(Filter(), PAGE))

    async def _show(self, request: Request, who: Viewer) -> Response:
        query = request.query_params
        trail = self._board.site.trail
        listed, chain, problem = EventList(), None, ""
        story = bool(query.get("kind") and query.get("namespace") and query.get("name"))
        if trail:
            try:
                listed = await self.listed(who, query, PAGE if story else _ROWS)
                chain = await self.chain(who) if await who.lists_anything() else None
            except AuditUnavailable as error:
                problem = str(error)
        return self._board.show(
            request,
            who,
            "audit.html",
            here="audit",
            topics="",
            listed=listed,
            chain=chain,
            problem=problem,
            has_trail=trail is not None,
            story=tuple(reversed(listed.items)) if story else (),
            kinds=sorted(_KINDS),
            export=lambda form: address(f"{PATH}/export.{form}", dict(query), {}),
        )

    async def _export(self, request: Request, who: Viewer) -> Response:
        name = request.path_params["format"]
        if name not in _FORMATS:
            raise not_here()
        form, media = _FORMATS[name]
        trail, asked = self._trail(), wanted(request.query_params)
        first = await trail.page(asked)  # what is unavailable is said before the answer begins
        headers = {"content-disposition": f'attachment; filename="audit.{name}"'}
        return StreamingResponse(
            _exported(trail, asked, first, who, form()), media_type=media, headers=headers
        )

    def _trail(self) -> TrailReader:
        if self._board.site.trail is None:
            raise no_trail()
        return self._board.site.trail


async def events_of(who: Viewer, kind: Kind[Any], namespace: str, name: str) -> tuple[EventRow, ...]:
    """The last events of an object that the viewer may see, the newest first; none without a trail."""
    trail = who.site.trail
    if trail is None:
        return ()
    try:
        found = await trail.latest(Filter(kind=kind.kind, namespace=namespace, name=name), _OF_PLAN)
    except AuditUnavailable:
        return ()
    return tuple(event_row(one) for one in reversed(found))


async def _exported(
    trail: TrailReader, asked: Filter, first: Sequence[Entry], who: Viewer, form: Format
) -> AsyncIterator[str]:
    yield form.begin()
    left, found = _MOST_EXPORTED, first
    while found and left > 0:
        seen = [one for one in found if await _may_see(who, one)][:left]
        left -= len(seen)
        yield form.page(seen)
        found = await trail.page(asked, after=found[-1].sequence) if len(found) == PAGE else ()
    yield form.end()


async def _may_see(who: Viewer, entry: Entry) -> bool:
    """Events of an object are for those who may list such objects; all others for who sees all plans."""
    identity, resource = who.session.identity, entry.resource
    if who.person.user == entry.actor.id and entry.actor != OPERATOR:  # which has a name that people may have
        return True
    kind = _KINDS.get(resource.kind)
    if kind is None or not resource.namespace:
        return await who.site.seeing.may(identity, "list", PLANS)
    return bool(await who.site.seeing.namespaces(identity, kind, [resource.namespace]))


def wanted(query: QueryParams) -> Filter:
    return Filter(
        kind=query.get("kind", ""),
        namespace=query.get("namespace", ""),
        name=query.get("name", ""),
        actor=query.get("actor", ""),
        type=query.get("type", ""),
        since=_moment("since", query.get("since", "")),
        until=_moment("until", query.get("until", "")),
    )


def event_row(one: Entry) -> EventRow:
    kind_of_event = EVENT_TYPES.get(one.type)
    return EventRow(
        sequence=one.sequence,
        time=one.time.to_stdlib(),
        type=one.type,
        words=kind_of_event.description if kind_of_event else "",
        outcome=one.outcome,
        severity=one.severity,
        actor=acting(one) or "unknown",
        channel=one.channel,
        kind=one.resource.kind,
        namespace=one.resource.namespace,
        name=one.resource.name,
        details=_details(one),
        error=one.error,
    )


def chain_view(sequence: int, hash_: str, latest: Sequence[Entry]) -> ChainView:
    """Whether each of the last events continues from the one before it, up to where the chain ends."""
    problem = ""
    for before, one in pairwise(latest):
        if words := misfit(before.link, one):
            problem = f"Event {one.sequence}: {words}."
            break
    if not problem and latest and latest[-1].sequence == sequence and latest[-1].hash != hash_:
        problem = f"Event {sequence}: the chain ends with another hash."
    return ChainView(sequence=sequence, hash=hash_, checked=len(latest), problem=problem)


def no_trail() -> RefusedError:
    words = "This web process has no way to the audit trail."
    page = Page("There is no trail here", words, "Set trailUrl or databaseFile.", again="/", label="Overview")
    return RefusedError("no_trail", page, status=404)


def _details(one: Entry) -> str:
    try:
        found = msgspec.json.decode(one.data)
    except msgspec.DecodeError:
        return ""
    if not isinstance(found, dict):
        return ""
    message = found.pop("message", "")
    rest = (f"{name}: {plain(value)}" for name, value in found.items() if value not in ("", None, {}, [], 0))
    return " · ".join([*([plain(message)] if message else []), *rest])


def plain(value: Any) -> str:
    """A value as people write it; what is nested, as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
        return ", ".join(map(plain, value))
    return msgspec.json.encode(value).decode()


def _moment(name: str, text: str) -> Instant | None:
    if not text:
        return None
    try:
        return Instant.parse_iso(text)
    except ValueError:
        pass
    try:
        return Date.parse_iso(text).at(Time()).assume_utc()
    except ValueError as error:
        words = f"{name} is {text[:40]!r}, which is no moment. Nothing was changed."
        fix = "Write a date such as 2026-03-01, or a moment such as 2026-03-01T08:00:00Z."
        raise RefusedError(
            "query", Page("This search is not valid", words, fix, again=PATH), status=400
        ) from error
