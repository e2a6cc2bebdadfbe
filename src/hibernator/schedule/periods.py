"""From when until when an exception holds, as `--from`, `--for` and `--until` say."""

from collections.abc import Callable
from typing import Final

from whenever import Instant

from hibernator.schedule.errors import TimeError
from hibernator.schedule.spoken import shown_with_distance
from hibernator.schedule.times import length, parse

# A window that is open all the time: the validity of the exception says when.
EVERY_DAY: Final = [
    {"start": "00:00", "end": "23:59", "daysOfWeek": ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]}
]
_LONGEST_DAYS: Final = 90

Period = Callable[[str, Instant], tuple[Instant, Instant]]  # of a zone, and now


def period(from_: str | None, for_: str | None, until: str | None) -> Period:
    """The period that the options name; what they leave open begins now."""
    if bool(for_) == bool(until):
        words = "--for and --until both say when it ends" if until else "it does not say when it ends"
        raise TimeError(f"{words}.", hint="Give --until, or --for.")
    begins = parse("--from", from_)
    ends = length("--for", for_) if for_ else parse("--until", until)
    assert ends is not None  # noqa: S101 - one of the two is given

    def found(zone: str, now: Instant) -> tuple[Instant, Instant]:
        begin = begins.seen_from(zone, now) if begins else now
        end = ends.seen_from(zone, begin if for_ else now)
        if end <= begin:
            times = " and end at ".join(shown_with_distance(at, zone, now) for at in (begin, end))
            raise TimeError(f"it would begin at {times}.", hint="Give a later end.")
        return begin, end

    return found


def at_once(for_: str | None, until: str | None, *, otherwise: str) -> Period:
    """A period that begins now and ends as `otherwise` says where neither option is given, within limits."""
    if not for_ and not until:
        until = otherwise
    from_now, ends = period(None, for_, until), parse("--until", until)

    def found(zone: str, now: Instant) -> tuple[Instant, Instant]:
        end = ends.ahead(zone, now) if ends else from_now(zone, now)[1]
        if end > now.add(hours=24 * _LONGEST_DAYS):
            words = f"{shown_with_distance(end, zone, now)} is more than {_LONGEST_DAYS} days away."
            hint = "Change the schedule of the plan, or suspend it with `hibernator plan suspend`."
            raise TimeError(words, hint=hint)
        return now, end

    return found
