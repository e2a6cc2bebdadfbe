"""Timelines as a calendar feed: each sleep, and each window of a scaler, is an event.

The same event has the same UID whenever and over whatever range it is asked for, so that a calendar that
fetches the feed again updates what it has. Events are therefore whole, even where the range cuts them.
"""

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from icalendar import Calendar, Event
from whenever import Instant

from hibernator.api.kind import DOMAIN
from hibernator.pictures.ink import is_asleep, words
from hibernator.pictures.resource import Resource
from hibernator.pictures.spells import spell
from hibernator.pictures.strips import Strip
from hibernator.schedule.ticks import to_instant
from hibernator.schedule.timeline import Interval, Reason

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, DOMAIN)


def render(strips: Sequence[Strip]) -> str:
    calendar = Calendar()
    calendar.add("prodid", "-//hibernator//simulate//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", "Hibernator")
    for strip in strips:
        for event in _events(strip):
            calendar.add_component(event)
    text: str = calendar.to_ical().decode()
    return text


def _events(strip: Strip) -> Iterator[Event]:
    resource = strip.resource
    for run in _runs(strip.intervals):
        if _shown(resource, run[0]):
            start, end = _whole(resource, run)
            summary = f"{resource.name}: {words(run[0].value)}"
            whole = resource.timeline.between(start, end)
            messages = dict.fromkeys(interval.message for interval in whole)
            yield _event(resource, start, end, summary, "\n".join(messages))
    for proposal in strip.proposals:
        name = proposal.exception.name
        for change in proposal.changes:
            summary = f"{resource.name}: {words(change.after)}, if {name} is approved"
            about = f"The exception {name} is {proposal.exception.standing}."
            event = _event(resource, to_instant(change.start), to_instant(change.end), summary, about, name)
            event.add("status", "TENTATIVE")
            yield event


def _runs(intervals: Sequence[Interval[Any]]) -> Iterator[list[Interval[Any]]]:
    """Neighbours that differ only in the reason are one event."""
    run: list[Interval[Any]] = []
    for interval in intervals:
        if run and run[-1].value != interval.value:
            yield run
            run = []
        run.append(interval)
    if run:
        yield run


def _shown(resource: Resource, interval: Interval[Any]) -> bool:
    if resource.is_plan:
        return is_asleep(interval.value)
    return interval.reason is not Reason.OUTSIDE_WINDOWS


def _whole(resource: Resource, run: Sequence[Interval[Any]]) -> tuple[Instant, Instant]:
    """When it really begins and ends, beyond the range that was asked for."""
    whole = spell(resource.timeline, run[0].start)
    return whole.since or run[0].start, whole.until or run[-1].end


def _event(
    resource: Resource, start: Instant, end: Instant, summary: str, about: str, source: str = ""
) -> Event:
    event = Event()
    identity = "/".join([*resource.key, start.format_iso(), source])
    event.add("uid", str(uuid.uuid5(_NAMESPACE, identity)))
    event.add("dtstamp", start.to_stdlib())  # the same feed is the same text, whenever it is made
    event.add("dtstart", start.to_stdlib())
    event.add("dtend", end.to_stdlib())
    event.add("summary", summary)
    event.add("description", f"{about}\n{resource.title} ({resource.zone.name})")
    event.add("categories", [resource.kind])
    event.add("transp", "TRANSPARENT")
    return event
