"""Timelines as a picture: one file that needs nothing else, for a README, a chat or a pull request.

A lane is a local day from midnight to midnight. An hour that the clock skips is an empty box; an hour that it
shows twice is drawn twice, the first pass above the second.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from whenever import Instant

from hibernator.pictures.days import Day, Mark, Piece, days, footnotes, notes, within
from hibernator.pictures.ink import MEANINGS, Cause, Tone, is_asleep, tone, words
from hibernator.pictures.strips import Proposal, Strip, totals
from hibernator.schedule.ticks import DAY, from_instant
from hibernator.schedule.timeline import Interval
from hibernator.schedule.words import clock

CLASSES = {
    Tone(asleep=True, cause=Cause.SCHEDULE): "asleep",
    Tone(asleep=True, cause=Cause.HOLIDAY): "asleep-holiday",
    Tone(asleep=True, cause=Cause.EXCEPTION): "asleep-exception",
    Tone(asleep=False, cause=Cause.SCHEDULE): "awake",
    Tone(asleep=False, cause=Cause.HOLIDAY): "awake-holiday",
    Tone(asleep=False, cause=Cause.EXCEPTION): "awake-exception",
}

_LIGHT = {
    "paper": "#ffffff",
    "edge": "#d1d9e0",
    "text": "#1f2328",
    "quiet": "#59636e",
    "line": "#1f2328",
    "lane": "#eff2f5",
    "asleep": "#3d4b94",
    "asleep-holiday": "#1b7c83",
    "asleep-exception": "#8250df",
    "awake": "#ffe9a8",
    "awake-holiday": "#b6e3e8",
    "awake-exception": "#d3b3fb",
    "bar": "#f2c14e",
    "bar-holiday": "#1b7c83",
    "on-bar": "#1f2328",
    "proposed": "#cf222e",
    "exception": "#8250df",
    "holiday": "#1b7c83",
}
_DARK = {
    "paper": "#0d1117",
    "edge": "#3d444d",
    "text": "#f0f6fc",
    "quiet": "#9198a1",
    "line": "#f0f6fc",
    "lane": "#1a2029",
    "asleep": "#33418f",
    "asleep-holiday": "#146c74",
    "asleep-exception": "#6e40c9",
    "awake": "#b08a2e",
    "awake-holiday": "#56b8c2",
    "awake-exception": "#b594f5",
    "bar": "#a37a1e",
    "bar-holiday": "#146c74",
    "on-bar": "#ffffff",
    "proposed": "#ff7b72",
    "exception": "#b594f5",
    "holiday": "#56b8c2",
}
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


_SHAPES = (
    f"text{{font-family:{_FONT};font-size:12px}}",
    ".title{font-size:15px;font-weight:600}",
    ".small{font-size:11px}",
    ".number{font-size:11px;font-weight:600}",
    ".line{stroke-opacity:.14}",
    ".would-wake{fill:url(#wake)}",
    ".would-sleep{fill:url(#sleep)}",
    ".would-wake,.would-sleep{stroke-width:1.5}",
    ".missing{stroke-dasharray:2 2}",
)


def _coloured(colours: dict[str, str]) -> str:
    """Each colour where it is used, as it is.

    Variables would be shorter, but Inkscape, rsvg, mail clients and makers of PDF files know none, and some
    draw everything black.
    """
    fills = {
        "text": "text",
        ".quiet": "quiet",
        ".number": "on-bar",
        ".paper": "paper",
        ".lane": "lane",
        ".bar": "bar",
        ".bar-holiday": "bar-holiday",
        ".proposed-text": "proposed",
        ".holiday-text": "holiday",
        ".exception-text": "exception",
        ".missing": "paper",
        **{f".{name}": name for name in CLASSES.values()},
    }
    strokes = {".paper": "edge", ".line": "line", ".would-wake,.would-sleep": "proposed", ".missing": "quiet"}
    rules = [f"{where}{{fill:{colours[name]}}}" for where, name in fills.items()]
    return "\n".join(rules + [f"{where}{{stroke:{colours[name]}}}" for where, name in strokes.items()])


LIGHT = "\n".join([*_SHAPES, _coloured(_LIGHT)])  # for paper, and for mails
STYLE = "\n".join([LIGHT, f"@media (prefers-color-scheme: dark){{\n{_coloured(_DARK)}\n}}"])


_WIDTH = 980
_PAD = 24
_LABEL = 92
_LANE = 672  # 28 for each hour
_HIGH = 18
_STEP = 22
_DIGIT = 7
_NOTE_CHARACTERS = 26
_LEAST_ROOM = 3

_NOTE_CLASSES = {
    Mark.CLOCK: "quiet",
    Mark.HOLIDAY: "holiday-text",
    Mark.EXCEPTION: "exception-text",
    Mark.PROPOSAL: "proposed-text",
}
_WOULD = {True: "would-sleep", False: "would-wake"}
_SKIPPED = "The clock skips this."
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(strips: Sequence[Strip], *, styled: bool = True, now: Instant | None = None) -> str:
    """The whole file; without its own style for a page that has one, and that forbids any other.

    `now` marks where one is, in a picture that is gone in a minute.
    """
    panels: list[str] = []
    top = _PAD
    for strip in strips:
        panel = _Panel(strip, top, now)
        panels += panel.draw()
        top = panel.bottom + _PAD
    title = "When everything sleeps" if strips and strips[0].resource.is_plan else "How many replicas run"
    described = ". ".join(f"{strip.resource.title}: {totals(strip)}" for strip in strips)
    size = f'viewBox="0 0 {_WIDTH} {top}" width="{_WIDTH}" height="{top}"'
    size += "" if styled else ' class="timeline"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title about">',
            f'<title id="title">{title}</title>',
            f'<desc id="about">{_text(described)}.</desc>',
            *([f"<style>{STYLE}</style>"] if styled else []),
            f'<clipPath id="lane"><rect width="{_LANE}" height="{_HIGH}" rx="4"/></clipPath>',
            _hatch("wake", "awake"),
            _hatch("sleep", "asleep"),
            f'<rect class="paper" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{top - 1}" rx="10"/>',
            *panels,
            "</svg>\n",
        ]
    )


def _hatch(name: str, stripes: str) -> str:
    """Stripes in the colour of what would be, over what is."""
    size = 'width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"'
    return f'<pattern id="{name}" {size}><rect class="{stripes}" width="4" height="8"/></pattern>'


class _Panel:
    """A resource: its title, its days and what there is to say about them."""

    def __init__(self, strip: Strip, top: int, now: Instant | None) -> None:
        self._strip = strip
        self._now = [(from_instant(now), from_instant(now) + 1)] if now else []
        self._is_plan = strip.resource.is_plan
        self._spans = [(from_instant(each.start), from_instant(each.end)) for each in strip.intervals]
        self._most = max((each.value for each in strip.intervals if not self._is_plan), default=0)
        self._used: set[Tone] = set()
        self.bottom = top

    def draw(self) -> Iterator[str]:
        resource = self._strip.resource
        y = self.bottom + 14
        yield _label(_PAD, y, _fitted(f"{resource.namespace}/{resource.name}", 70), "title")
        yield _label(_WIDTH - _PAD, y, totals(self._strip), anchor="end")
        yield _label(_PAD, y + 19, f"{resource.kind} · {resource.zone.name}", "quiet")
        self.bottom = y + 50
        yield from self._days()
        yield from self._legend()
        for mark, name, about in footnotes(self._strip):
            said = _fitted(f"{mark.value} {name}: {about}", 140)
            yield _label(_PAD, self.bottom + 10, said, _NOTE_CLASSES[mark])
            self.bottom += 18

    def _days(self) -> Iterator[str]:
        resource, top = self._strip.resource, self.bottom
        for hour in range(0, 25, 3):
            yield _label(
                _PAD + _LABEL + hour * _LANE / 24, top - 7, f"{hour:02}", "quiet small", anchor="middle"
            )
        for day in days(resource.zone, self._strip.first, self._strip.last):
            weekend = day.date.weekday() in {5, 6}
            name = f"{day.date:%a} {day.date.day} {day.date:%b}"
            now = next((piece for _, piece in within(day, self._now)), None)
            yield _label(_PAD, self.bottom + 13, name, "today" if now else "quiet" if weekend else "")
            yield f'<g transform="translate({_PAD + _LABEL} {self.bottom})" clip-path="url(#lane)">'
            yield from self._lane(day)
            yield "</g>"
            if now:
                x = _PAD + _LABEL + _along(now.clock)
                yield f'<path class="now" d="M{x:g} {self.bottom - 2}v{_HIGH + 4}"><title>now</title></path>'
            yield from self._notes(day)
            self.bottom += _STEP
        for hour in range(3, 24, 3):
            x, end = _PAD + _LABEL + hour * _LANE / 24, self.bottom - _STEP + _HIGH
            yield f'<line class="line" x1="{x}" x2="{x}" y1="{top}" y2="{end}"/>'

    def _lane(self, day: Day) -> Iterator[str]:
        yield f'<rect class="lane" width="{_LANE}" height="{_HIGH}"/>'
        for start, end in day.missing:
            place = f'x="{_along(start)}" width="{_along(end - start)}" height="{_HIGH}"'
            yield f'<rect class="missing" {place}><title>{_SKIPPED}</title></rect>'
        for index, piece in within(day, self._spans):
            yield from self._stretch(self._strip.intervals[index], piece)
        for proposal in self._strip.proposals:
            yield from _proposed(day, proposal)

    def _stretch(self, interval: Interval[Any], piece: Piece) -> Iterator[str]:
        held, said = tone(interval), f"{_hours(piece)}: {interval.message}"
        self._used.add(held)
        if self._is_plan:
            yield _box(piece, CLASSES[held], said)
            return
        if piece.again:
            yield _box(piece, "lane", "")
        name = "bar-holiday" if held.cause is Cause.HOLIDAY else "bar"
        yield _box(piece, name, said, interval.value / max(self._most, 1))
        number = str(interval.value)
        if _along(piece.end - piece.start) > len(number) * _DIGIT + 8:
            yield _label(_along(piece.clock) + 5, 13, number, "number")

    def _notes(self, day: Day) -> Iterator[str]:
        x = _PAD + _LABEL + _LANE + 12
        room = _NOTE_CHARACTERS
        spans = []
        for note in notes(self._strip, day):
            said = _fitted(f"{note.mark.value} {note.text}".lstrip(), room)
            room -= len(said) + 3
            if said:
                spans.append(f'<tspan class="{_NOTE_CLASSES[note.mark]}">{_text(said)}</tspan>')
        if spans:
            yield f'<text class="small" x="{x}" y="{self.bottom + 13}">{" · ".join(spans)}</text>'

    def _legend(self) -> Iterator[str]:
        entries = [
            (CLASSES[each], words) for each, words in MEANINGS.items() if self._is_plan and each in self._used
        ]
        after = {is_asleep(change.after) for each in self._strip.proposals for change in each.changes}
        entries += [
            (_WOULD[asleep], f"would be {'asleep' if asleep else 'awake'}, if approved")
            for asleep in sorted(after)
        ]
        x = _PAD
        for name, meaning in entries:
            yield f'<rect class="{name}" x="{x}" y="{self.bottom + 6}" width="16" height="12" rx="3"/>'
            yield _label(x + 22, self.bottom + 16, meaning, "quiet small")
            x += 40 + 6 * len(meaning)
        if entries:
            self.bottom += 28


def _proposed(day: Day, proposal: Proposal) -> Iterator[str]:
    for index, piece in within(day, [(change.start, change.end) for change in proposal.changes]):
        after = proposal.changes[index].after
        said = f"{_hours(piece)}: {words(after)}, if {proposal.exception.name} is approved"
        yield _box(piece, _WOULD[is_asleep(after)], said)


def _box(piece: Piece, name: str, said: str, share: float = 1.0) -> str:
    """A part of a lane. The second pass of a repeated hour lies over the lower half of the first."""
    high = _HIGH / 2 if piece.again else _HIGH
    tall = high * share
    across = f'x="{_along(piece.clock)}" width="{_along(piece.end - piece.start)}"'
    down = f'y="{_HIGH - tall:g}" height="{tall:g}"'
    return f'<rect class="{name}" {across} {down}><title>{_text(said)}</title></rect>'


def _hours(piece: Piece) -> str:
    return f"{clock(piece.clock)}-{clock(piece.clock_end)}"


def _label(x: float, y: float, text: str, name: str = "", anchor: str = "") -> str:
    attributes = f' class="{name}"' if name else ""
    attributes += f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{attributes}>{_text(text)}</text>'


def _along(ticks: int) -> float:
    """How far along a lane a time of day is."""
    return round(ticks * _LANE / DAY, 2)


def _fitted(words: str, room: int) -> str:
    """No more characters than there is room for; nothing, where there is next to none."""
    if len(words) <= room:
        return words
    return f"{words[: room - 1]}…" if room > _LEAST_ROOM else ""


def _text(words: str) -> str:
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", words))
