"""Timelines in a terminal: a row for each day, the hours of the local clock across it."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from rich.text import Text
from whenever import Instant

from hibernator.pictures.days import Day, days, footnotes, notes, within
from hibernator.pictures.ink import (
    FEWER,
    MEANINGS,
    MORE,
    NEWLY_ASLEEP,
    NEWLY_AWAKE,
    PROPOSED,
    STYLES,
    Ink,
    Look,
    Tone,
    is_asleep,
    tone,
)
from hibernator.pictures.strips import Change, Strip, changes, totals
from hibernator.schedule.spans import Span
from hibernator.schedule.ticks import DAY, from_instant

_LABEL = len("Mon 02 Mar ")
_NOTES = 16  # columns that the notes beside a day have at least
_HOURS = 24
_FINEST = 4  # cells in an hour

Cell = tuple[str, str]  # a character and its style


def render(strips: Sequence[Strip], width: int, ink: Ink) -> Iterator[Text]:
    """Each line of the picture, with the styles that a terminal may show."""
    for number, strip in enumerate(strips):
        if number:
            yield Text()
        yield from _Sheet(strip, width, ink).lines()


def wrapped(text: str, width: int, bullet: str = "", style: str = "") -> Iterator[Text]:
    """A text in lines that fit; those after the first stand under the text, not under its bullet."""
    for line in textwrap.wrap(text, width, initial_indent=bullet, subsequent_indent=" " * len(bullet)):
        yield Text(line, style=style)


def render_changes(strip: Strip, changes: Sequence[Change], width: int, ink: Ink) -> Iterator[Text]:
    """The days of a new version on which something has changed, with marks where it has."""
    yield from _Sheet(strip, width, ink, changes).changed_days()


def render_lanes(
    before: Strip, after: Strip, width: int, ink: Ink, *, since: Instant, most: int
) -> Iterator[Text]:
    """Days on which two versions differ, one above the other: those to come, or else those that were."""
    was, becomes = _Sheet(before, width, ink), _Sheet(after, width, ink)
    spans = [change[:2] for change in changes(before.intervals, after.intervals)]
    found = [
        day
        for day in days(after.resource.zone, after.first, after.last)
        if any(day.touches(*span) for span in spans)
    ]
    coming = [day for day in found if day.touches(from_instant(since), after.last)] or found
    yield Text(was.axis(), style="dim")
    for day in coming[:most]:
        yield was.lane(day, "before")
        yield becomes.lane(day, "after", label=False)
    if len(coming) > most:
        yield Text(f"and {len(coming) - most} more days")
    yield from becomes.legend(was)


def spread(day: Day, spans: Sequence[Span], cells: int) -> list[tuple[int | None, int]]:
    """For each cell of a day the span that holds for most of it, by its number, and for how long."""
    width = DAY // cells
    best: list[tuple[int | None, int]] = [(None, 0)] * cells
    for index, piece in within(day, spans):
        for at in range(piece.clock // width, (piece.clock_end - 1) // width + 1):
            share = min(piece.clock_end, (at + 1) * width) - max(piece.clock, at * width)
            if share > best[at][1]:
                best[at] = (index, share)
    return best


class _Sheet:
    """The picture of one resource."""

    def __init__(self, strip: Strip, width: int, ink: Ink, changes: Sequence[Change] = ()) -> None:
        self._strip = strip
        self._changes = changes
        self._ink = ink
        self._width = width
        self._per_hour = max(1, min(_FINEST, (width - _LABEL - _NOTES) // _HOURS))
        self._cells = self._per_hour * _HOURS
        self._spans = [(from_instant(each.start), from_instant(each.end)) for each in strip.intervals]
        self._tones = [tone(each) for each in strip.intervals]
        self._is_plan = strip.resource.is_plan
        self._most = max((each.value for each in strip.intervals if not self._is_plan), default=0)
        self.used: set[Tone] = set()
        self._overlaid: dict[str, tuple[str, str]] = {}  # a character, its style and its meaning

    def lines(self) -> Iterator[Text]:
        resource = self._strip.resource
        yield Text.assemble((resource.title, "bold"), f"  {resource.zone.name}")
        yield Text(self.axis(), style="dim")
        for day in days(resource.zone, self._strip.first, self._strip.last):
            yield self._day(day)
        yield Text(totals(self._strip), style="bold")
        yield from self.legend()
        for mark, name, about in footnotes(self._strip):
            lines = [*wrapped(f"{name}: {about}", self._width, bullet=f"{self._ink.marks[mark]} ")]
            lines[0].stylize("bold", 0, len(name) + 2)
            yield from lines

    def changed_days(self) -> Iterator[Text]:
        yield Text(self.axis(), style="dim")
        for day in days(self._strip.resource.zone, self._strip.first, self._strip.last):
            if any(day.touches(change.start, change.end) for change in self._changes):
                yield self._day(day)
        yield from self.legend()

    def axis(self) -> str:
        step = 3 if self._per_hour > 1 else 6
        marks = "".join(f"{hour:02}".ljust(step * self._per_hour) for hour in range(0, _HOURS, step))
        return " " * _LABEL + marks.rstrip()

    def lane(self, day: Day, said: str, *, label: bool = True) -> Text:
        """A day with a word beside it; without a label it belongs to the one above."""
        line = Text(f"{day.date:%a %d %b} " if label else " " * _LABEL)
        for style, run in groupby(self._row(day), key=itemgetter(1)):
            line.append("".join(character for character, _ in run), style)
        line.append(f" {self._shortened(said)}", "dim")
        line.rstrip()
        return line

    def _day(self, day: Day) -> Text:
        return self.lane(day, self._notes(day))

    def _shortened(self, said: str) -> str:
        room = self._width - _LABEL - self._cells - 1
        return said if len(said) <= room else said[: room - 1] + self._ink.more

    def _row(self, day: Day) -> list[Cell]:
        shown = [index for index, _ in spread(day, self._spans, self._cells)]
        cells = [self._cell(index) for index in shown]
        if not self._is_plan:
            self._write_numbers(cells, shown)
        for proposal in self._strip.proposals:
            self._overlay(cells, day, proposal.changes, self._hatched)
        self._overlay(cells, day, self._changes, self._changed)
        return cells

    def _cell(self, index: int | None) -> Cell:
        if index is None:
            return " ", ""
        held = self._tones[index]
        self.used.add(held)
        if self._is_plan:
            return self._ink.tones[held], STYLES[held]
        replicas = self._strip.intervals[index].value
        # A scaler's bars are what runs, so they have the colour of sleep's opposite.
        return self._ink.level(replicas, self._most), STYLES[held._replace(asleep=False)]

    def _write_numbers(self, cells: list[Cell], shown: Sequence[int | None]) -> None:
        """Begin each run of a scaler's row with its number of replicas, where there is room for it."""
        at = 0
        values = [None if index is None else self._strip.intervals[index].value for index in shown]
        for value, run in groupby(values):
            length = len(list(run))
            label = "" if value is None else str(value)
            if len(label) < length:
                cells[at : at + len(label)] = [(digit, "bold") for digit in label]
            at += length

    def _overlay(
        self, cells: list[Cell], day: Day, changes: Sequence[Change], look: Callable[[Change], Look]
    ) -> None:
        spans = [(change.start, change.end) for change in changes]
        for at, (index, share) in enumerate(spread(day, spans, self._cells)):
            if index is not None and share * 2 >= DAY // self._cells:
                character, style, meaning = look(changes[index])
                self._overlaid[character] = (style, meaning)
                cells[at] = (character, style)

    def _hatched(self, change: Change) -> Look:
        if is_asleep(change.after):
            return self._ink.would_sleep, PROPOSED, "would be asleep, if approved"
        return self._ink.would_wake, PROPOSED, "would be awake, if approved"

    def _changed(self, change: Change) -> Look:
        if not self._is_plan:
            return MORE if change.after > change.before else FEWER
        return NEWLY_ASLEEP if is_asleep(change.after) else NEWLY_AWAKE

    def _notes(self, day: Day) -> str:
        said = (f"{self._ink.marks[note.mark]} {note.text}".lstrip() for note in notes(self._strip, day))
        return ", ".join(said)

    def legend(self, *others: "_Sheet") -> Iterator[Text]:
        """What the characters mean that were used so far, here or on the others."""
        self.used.update(*(other.used for other in others))
        entries: list[Look] = []
        if self._is_plan:
            entries += [
                (self._ink.tones[each], STYLES[each], words)
                for each, words in MEANINGS.items()
                if each in self.used
            ]
        entries += [(character, *rest) for character, rest in sorted(self._overlaid.items())]
        line = Text()
        for glyph, style, meaning in entries:
            if line and len(line) + len(meaning) + 4 > self._width:
                yield line
                line = Text()
            line.append("  " if line else "")
            line.append(glyph * 2, style)
            line.append(f" {meaning}")
        if line:
            yield line
