"""What there is to say beside a day: its odd length, its holiday, the exceptions that touch it."""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from hibernator.cli.offline.pictures.days import Day
from hibernator.cli.offline.pictures.strips import Strip
from hibernator.cli.offline.scene import Bent
from hibernator.schedule.ticks import DAY, HOUR, from_datetime
from hibernator.schedule.zones import Zone, local_text


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
    for bent in strip.exceptions:
        if day.touches(from_datetime(bent.spec.valid_from), from_datetime(bent.spec.valid_until)):
            yield Note(Mark.EXCEPTION, bent.name)
    for proposal in strip.proposals:
        if any(day.touches(change.start, change.end) for change in proposal.changes):
            yield Note(Mark.PROPOSAL, proposal.exception.name)


def footnotes(strip: Strip) -> Iterator[tuple[Mark, str, str]]:
    """Each exception with its mark, its name, and all about it."""
    for bent in strip.exceptions:
        yield Mark.EXCEPTION, bent.name, _about(bent, strip.resource.zone)
    for proposal in strip.proposals:
        idle = "" if proposal.changes else ", changes nothing here"
        about = _about(proposal.exception, strip.resource.zone)
        yield Mark.PROPOSAL, proposal.exception.name, f"{about}{idle}"


def _about(bent: Bent, zone: Zone) -> str:
    valid = [local_text(zone, from_datetime(at)) for at in (bent.spec.valid_from, bent.spec.valid_until)]
    return f"{bent.spec.type}, {bent.standing}, {' to '.join(valid)}"
