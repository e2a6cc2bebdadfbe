"""A stretch of time by the months of a zone, as an accountant there would file it."""

from collections.abc import Iterator
from typing import NamedTuple

from whenever import Instant, ZonedDateTime

from hibernator.schedule.errors import UnknownTimezoneError
from hibernator.schedule.spans import Span
from hibernator.schedule.zones import zone_of

_DECEMBER = 12


class Part(NamedTuple):
    month: str  # `2026-03`
    seconds: int


def by_month(span: Span, zone: str) -> Iterator[Part]:
    """The parts of a span of seconds since the epoch; months begin at midnight in the zone.

    A zone that is unknown here, because it was another version that knew it, counts as UTC.
    """
    start, end = span
    name = _known(zone)
    while start < end:
        local = Instant.from_timestamp(start).to_tz(name)
        year, month = (local.year + 1, 1) if local.month == _DECEMBER else (local.year, local.month + 1)
        border = min(ZonedDateTime(year, month, 1, tz=name).timestamp(), end)
        yield Part(f"{local.year:04}-{local.month:02}", border - start)
        start = border


def _known(zone: str) -> str:
    try:
        return zone_of(zone).name
    except UnknownTimezoneError:
        return "UTC"
