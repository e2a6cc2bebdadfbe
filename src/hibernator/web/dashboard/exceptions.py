"""The exceptions, as a table and as a calendar of four weeks."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from whenever import Date, Instant

from hibernator.api.meta import says
from hibernator.api.scheduleexception import ScheduleException
from hibernator.web.dashboard.board import Board
from hibernator.web.dashboard.plans import has_words, page_of
from hibernator.web.dashboard.viewer import Viewer
from hibernator.web.dashboard.views import ExceptionRow, Page, View, exception_row, state_of

PATH: Final = "/exceptions"
CALENDAR: Final = "/exceptions/calendar"
STATES: Final = ("Draft", "Pending", "Approved", "Active", "Expired", "Rejected", "Cancelled")
_WEEKS: Final = 4
_A_DAY: Final = 4  # exceptions in a day of the calendar; the others are counted
_MOMENT: Final = timedelta.resolution  # until midnight is not on the next day
_OVER: Final = frozenset({"Rejected", "Cancelled"})


class ExceptionList(Page):
    items: tuple[ExceptionRow, ...] = ()


class CalendarDay(View):
    date: Annotated[str, says("The day, in UTC.")]
    title: Annotated[str, says("The same as people write it.")]
    items: tuple[ExceptionRow, ...] = ()
    more: Annotated[int, says("How many are not shown.")] = 0
    today: bool = False


class Exceptions:
    def __init__(self, board: Board) -> None:
        self._board = board

    def routes(self) -> list[BaseRoute]:
        return [self._board.route(PATH, self._list), self._board.route(CALENDAR, self._calendar)]

    async def listed(self, who: Viewer, query: QueryParams) -> ExceptionList:
        found = fitting(await who.exceptions(), query)
        found.sort(key=lambda one: (one.spec.valid_from, one.metadata.name), reverse=True)
        shown, number, pages = page_of(found, query)
        rows = tuple(exception_row(one) for one in shown)
        return ExceptionList(items=rows, total=len(found), page=number, pages=pages)

    async def _list(self, request: Request, who: Viewer) -> Response:
        listed = await self.listed(who, request.query_params)
        return self._board.show(
            request,
            who,
            "exceptions.html",
            here="exceptions",
            topics="exceptions",
            listed=listed,
            namespaces=sorted({one.metadata.namespace for one in await who.exceptions()}),
            states=STATES,
        )

    async def _calendar(self, request: Request, who: Viewer) -> Response:
        now = self._board.site.clock.now()
        first = _first(request.query_params.get("from", ""), now)
        found = [exception_row(one) for one in fitting(await who.exceptions(), request.query_params)]
        return self._board.show(
            request,
            who,
            "calendar.html",
            here="exceptions",
            topics="exceptions",
            days=calendar(found, first, now),
            before=str(first.subtract(days=7 * _WEEKS)),
            after=str(first.add(days=7 * _WEEKS)),
        )


def calendar(rows: Sequence[ExceptionRow], first: Date, now: Instant) -> tuple[CalendarDay, ...]:
    """Four weeks from a day on, each day with the exceptions that hold on it."""
    today = now.to_tz("UTC").date()
    held = sorted((row for row in rows if row.state not in _OVER), key=lambda row: (row.valid_from, row.name))
    spans = [(_date(row.valid_from), _date(row.valid_until - _MOMENT), row) for row in held]
    days = []
    for number in range(7 * _WEEKS):
        date = first.add(days=number)
        on_it = [row for start, end, row in spans if start <= date <= end]
        days.append(
            CalendarDay(
                date=str(date),
                title=f"{date.to_stdlib():%-d %b}",
                items=tuple(on_it[:_A_DAY]),
                more=max(0, len(on_it) - _A_DAY),
                today=date == today,
            )
        )
    return tuple(days)


def fitting(found: Iterable[ScheduleException], query: QueryParams) -> list[ScheduleException]:
    namespace, state, day, words = (query.get(name, "") for name in ("namespace", "state", "on", "q"))
    if namespace:
        found = [one for one in found if one.metadata.namespace == namespace]
    if state:
        found = [one for one in found if state_of(one) == state]
    if day:
        found = [one for one in found if _is_on(one, day)]
    return [one for one in found if has_words(_texts(one), words)] if words.strip() else list(found)


def _is_on(one: ScheduleException, day: str) -> bool:
    """Whether it holds on a day as the calendar has it; dates as text are in the order of time."""
    first, last = one.spec.valid_from, one.spec.valid_until - _MOMENT
    return str(_date(first)) <= day <= str(_date(last))


def _texts(one: ScheduleException) -> Iterator[str]:
    spec, metadata = one.spec, one.metadata
    yield f"{metadata.namespace}/{metadata.name}"
    yield from (spec.plan_ref.name, one.status.requested_by, spec.reason or "", spec.type)


def _first(asked: str, now: Instant) -> Date:
    """The Monday of the week that is asked for; of this one, where the weeks around it do not exist."""
    try:
        day = Date.parse_iso(asked) if asked else now.to_tz("UTC").date()
        monday = day.subtract(days=day.day_of_week().value - 1)
        return monday.subtract(days=7 * _WEEKS).add(days=14 * _WEEKS).subtract(days=7 * _WEEKS)
    except (ValueError, OverflowError):
        return _first("", now)


def _date(at: datetime) -> Date:
    return Instant(at).to_tz("UTC").date()
