"""The days that an exception changes, each without it and with it, narrow enough for a phone.

It is part of a page: colours come from the page's style sheet, so that it is dark where the page is dark. A
mail has no style sheet, so there it brings its own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from hibernator.pictures.comparison import Comparison
from hibernator.pictures.days import Day, days, within
from hibernator.pictures.ink import Cause, Tone, tone
from hibernator.pictures.strips import Strip
from hibernator.pictures.svg import CLASSES, LIGHT
from hibernator.schedule.ticks import DAY, from_instant

_WIDTH: Final = 344
_LABEL: Final = 46
_LANE: Final = _WIDTH - _LABEL
_HIGH: Final = 18
_GAP: Final = 4
_HEAD: Final = 22
_FOOT: Final = 18
_HOURS: Final = (0, 6, 12, 18, 24)
_EDGE: Final = 12
_BOX: Final = re.compile(r'viewBox="0 0 (\d+) (\d+)"')
_LETTERS: Final = ".day{font-weight:600}.hour,.lane-name{font-size:11px;fill:#59636e}"


@dataclass(frozen=True, slots=True)
class Pairs:
    """The picture, and how many more days change."""

    svg: str
    more: int


def pairs(comparison: Comparison, about: str, most: int = 7) -> Pairs:
    """The first days that change; `about` is what a screen reader says instead."""
    zone = comparison.after.resource.zone
    strips = (("before", comparison.before), ("after", comparison.after))
    spans = [(from_instant(one.start), from_instant(one.end)) for one in comparison.changes]
    changed = [
        day
        for day in days(zone, comparison.after.first, comparison.after.last)
        if any(day.touches(start, end) for start, end in spans)
    ]
    drawn = changed[:most]
    step = _HEAD + 2 * (_HIGH + _GAP) + _FOOT
    high = max(1, len(drawn)) * step
    parts = [
        f'<svg class="pairs" viewBox="0 0 {_WIDTH} {high}" role="img" aria-label="{_attribute(about)}">',
        f'<defs><clipPath id="pair"><rect width="{_LANE}" height="{_HIGH}" rx="4"/></clipPath></defs>',
        *(part for number, day in enumerate(drawn) for part in _day(day, strips, number * step)),
        "</svg>",
    ]
    return Pairs("".join(parts), len(changed) - len(drawn))


def alone(found: Pairs) -> str:
    """The same as a file of its own, on white."""
    box = _BOX.search(found.svg)
    wide, high = (int(box[1]), int(box[2])) if box else (_WIDTH, 1)
    size = f'xmlns="http://www.w3.org/2000/svg" width="{wide + 2 * _EDGE}" height="{high + 2 * _EDGE}"'
    view = f'viewBox="{-_EDGE} {-_EDGE} {wide + 2 * _EDGE} {high + 2 * _EDGE}"'
    paper = f'<rect x="{-_EDGE}" y="{-_EDGE}" width="100%" height="100%" fill="#ffffff"/>'
    inside = found.svg.partition(">")[2]
    return f"<svg {size} {view}><style>{LIGHT}{_LETTERS}</style>{paper}{inside}"


def legend(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """The classes of colours in the picture, with what they mean."""
    used = {tone(each) for strip in (comparison.before, comparison.after) for each in strip.intervals}
    return tuple((CLASSES[each], words) for each, words in _MEANINGS.items() if each in used)


def _day(day: Day, strips: tuple[tuple[str, Strip], ...], top: int) -> Iterator[str]:
    yield f'<text class="day" x="0" y="{top + 14}">{day.date:%A} {day.date.day} {day.date:%B}</text>'
    y = top + _HEAD
    for name, strip in strips:
        yield f'<text class="lane-name" x="0" y="{y + 13}">{name}</text>'
        yield f'<g transform="translate({_LABEL} {y})" clip-path="url(#pair)">'
        yield f'<rect class="lane" width="{_LANE}" height="{_HIGH}"/>'
        yield from _lane(day, strip)
        yield "</g>"
        y += _HIGH + _GAP
    for hour in _HOURS:
        x = _LABEL + hour * _LANE / 24
        anchor = {0: "start", 24: "end"}.get(hour, "middle")
        yield f'<text class="hour" x="{x:g}" y="{y + 8}" text-anchor="{anchor}">{hour:02}</text>'


def _lane(day: Day, strip: Strip) -> Iterator[str]:
    spans = [(from_instant(each.start), from_instant(each.end)) for each in strip.intervals]
    for index, piece in within(day, spans):
        name = CLASSES[tone(strip.intervals[index])]
        y, high = (_HIGH / 2, _HIGH / 2) if piece.again else (0, _HIGH)  # an hour that the clock shows twice
        across = f'x="{_along(piece.clock)}" width="{_along(piece.end - piece.start)}"'
        yield f'<rect class="{name}" {across} y="{y:g}" height="{high:g}"/>'


def _along(ticks: int) -> float:
    return round(ticks * _LANE / DAY, 2)


def _attribute(text: str) -> str:
    return escape(text, {'"': "&quot;"})


_MEANINGS: Final = {
    Tone(asleep=True, cause=Cause.SCHEDULE): "asleep",
    Tone(asleep=False, cause=Cause.SCHEDULE): "awake",
    Tone(asleep=True, cause=Cause.HOLIDAY): "asleep, holiday",
    Tone(asleep=False, cause=Cause.HOLIDAY): "awake, holiday",
    Tone(asleep=True, cause=Cause.EXCEPTION): "asleep by this request",
    Tone(asleep=False, cause=Cause.EXCEPTION): "awake by this request",
}
