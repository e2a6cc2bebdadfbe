"""How long the same thing holds, whatever the reasons: a sleep that an exception prolongs is one sleep."""

from typing import Any, NamedTuple

from whenever import Instant, TimeDelta

from hibernator.schedule.timeline import Answer, Timeline

_TICK = TimeDelta(microseconds=1)
_MOST_REASONS = 200  # changes of the reason alone that are followed


class Spell(NamedTuple):
    since: Instant | None  # None: as far back as anyone looked
    until: Instant | None  # None: as far as anyone looked
    following: Answer[Any] | None  # what holds after it


def spell(timeline: Timeline[Any], moment: Instant) -> Spell:
    """The whole time around a moment during which the value is the same."""
    answer = timeline.at(moment)
    return Spell(_since(timeline, answer), *_until(timeline, answer))


def _since(timeline: Timeline[Any], answer: Answer[Any]) -> Instant | None:
    value, since = answer.value, answer.since
    for _ in range(_MOST_REASONS):
        if since is None:
            return None
        before = timeline.at(since - _TICK)
        if before.value != value:
            return since
        since = before.since
    return since


def _until(timeline: Timeline[Any], answer: Answer[Any]) -> tuple[Instant | None, Answer[Any] | None]:
    value, until = answer.value, answer.until
    for _ in range(_MOST_REASONS):
        if until is None:
            return None, None
        after = timeline.at(until)
        if after.value != value:
            return until, after
        until = after.until
    return until, None
