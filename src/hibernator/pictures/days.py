"""Where instants lie on sheets of local days, so that a picture can draw what the clock on the wall shows.

A day is drawn from 00:00 to 24:00 of the local clock. Where the clock jumps, part of that sheet does not
exist; where it is set back, part of it happens twice. Both are plain facts here, so that no picture guesses.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from enum import Enum
from operator import itemgetter
from typing import NamedTuple

from hibernator.pictures.resource import ShownException
from hibernator.pictures.strips import Strip
from hibernator.schedule.spans import Span, subtract, union
from hibernator.schedule.ticks import DAY, HOUR, date_of, from_datetime
from hibernator.schedule.zones import Zone, local_text


class Piece(NamedTuple):
    """Instants from `start` to `end`, while the local clock runs steadily on from `clock` after midnight."""

    start: int
    end: int
    clock: int
    again: bool  # the clock has shown this before, on the same day

    @property
    def clock_end(self) -> int:
        return self.clock + self.end - self.start


class Day(NamedTuple):
    date: date
    pieces: tuple[Piece, ...]  # of the part of the day that is shown
    missing: tuple[Span, ...]  # what the clock never shows on this day
    length: int  # of the whole day, whatever part of it is shown

    def touches(self, start: int, end: int) -> bool:
        """Whether any of these instants is on what is shown of this day."""
        return any(piece.start < end and piece.end > start for piece in self.pieces)

    @property
    def repeated(self) -> tuple[Span, ...]:
        """What the clock shows twice, among what is shown."""
        return tuple((piece.clock, piece.clock_end) for piece in self.pieces if piece.again)


def days(zone: Zone, start: int, end: int) -> Iterator[Day]:
    """The local days of which [start, end) shows something, in order."""
    readings = [
        (max(begin, start) + offset, min(finish, end) + offset)
        for begin, finish, offset in zone.stretches(start, end)
    ]
    first = min(begin for begin, _ in readings) // DAY
    last = (max(finish for _, finish in readings) - 1) // DAY
    for number in range(first, last + 1):
        pieces = tuple(_pieces(zone, number))
        yield Day(
            date_of(number),
            tuple(_clip(pieces, start, end)),
            subtract(((0, DAY),), union((piece.clock, piece.clock_end) for piece in pieces)),
            sum(piece.end - piece.start for piece in pieces),
        )


def _pieces(zone: Zone, number: int) -> Iterator[Piece]:
    """A whole day."""
    midnight = number * DAY
    shown = 0  # how far the clock has come
    for begin, finish, offset in zone.stretches(midnight - DAY, midnight + 2 * DAY):
        first, last = max(begin, midnight - offset), min(finish, midnight + DAY - offset)
        clock = first + offset - midnight
        if first < last and clock < shown:
            repeat = min(last, first + shown - clock)
            yield Piece(first, repeat, clock, again=True)
            first, clock = repeat, shown
        if first < last:
            yield Piece(first, last, clock, again=False)
            shown = clock + last - first


def _clip(pieces: Iterable[Piece], start: int, end: int) -> Iterator[Piece]:
    for piece in pieces:
        first, last = max(piece.start, start), min(piece.end, end)
        if first < last:
            yield Piece(first, last, piece.clock + first - piece.start, piece.again)


def within(day: Day, spans: Sequence[Span]) -> Iterator[tuple[int, Piece]]:
    """What of each span (sorted, disjoint) is shown on a day, with the number of the span."""
    for piece in day.pieces:
        for index in range(bisect_right(spans, piece.start, key=itemgetter(1)), len(spans)):
            if spans[index][0] >= piece.end:
                break
            start, end = max(spans[index][0], piece.start), min(spans[index][1], piece.end)
            yield index, Piece(start, end, piece.clock + start - piece.start, piece.again)


class Mark(Enum):
    CLOCK = ""
    HOLIDAY = "★"
    EXCEPTION = "◆"
    PROPOSAL = "?"


class Note(NamedTuple):
    mark: Mark
    text: str


def notes(strip: Strip, day: Day) -> Iterator[Note]:
    if day.length != DAY:
        yield Note(Mark.CLOCK, f"{day.length / HOUR:g} h" if day.length else "no such day")
    if day.date in strip.holidays:
        yield Note(Mark.HOLIDAY, strip.holidays[day.date] or "holiday")
    for exception in strip.exceptions:
        if day.touches(from_datetime(exception.spec.valid_from), from_datetime(exception.spec.valid_until)):
            yield Note(Mark.EXCEPTION, exception.name)
    for proposal in strip.proposals:
        if any(day.touches(change.start, change.end) for change in proposal.changes):
            yield Note(Mark.PROPOSAL, proposal.exception.name)


def footnotes(strip: Strip) -> Iterator[tuple[Mark, str, str]]:
    """Each exception with its mark, its name, and all about it."""
    for exception in strip.exceptions:
        yield Mark.EXCEPTION, exception.name, _about(exception, strip.resource.zone)
    for proposal in strip.proposals:
        idle = "" if proposal.changes else ", changes nothing here"
        about = _about(proposal.exception, strip.resource.zone)
        yield Mark.PROPOSAL, proposal.exception.name, f"{about}{idle}"


def _about(exception: ShownException, zone: Zone) -> str:
    valid = [
        local_text(zone, from_datetime(at)) for at in (exception.spec.valid_from, exception.spec.valid_until)
    ]
    return f"{exception.spec.type}, {exception.standing}, {' to '.join(valid)}"
