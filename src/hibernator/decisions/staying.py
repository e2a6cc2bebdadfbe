"""Workloads that stay awake for a while although their plan sleeps: by an annotation, or as new ones.

Who may edit a workload may ask for it in the workload itself; the plan looks again when the time is over. A
value that cannot be read does not count: the schedule is what people agreed on, and what overrides it must
say when it ends. To stay awake for ever is what `exclude` is for. The plan says which value it was.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from whenever import Instant

from hibernator.api.kind import DOMAIN
from hibernator.decisions.hibernateplan_restore import Entry
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.ticks import SECOND
from hibernator.schedule.words import read_duration

FORCE_AWAKE: Final = f"{DOMAIN}/force-awake-until"
EXCLUDE: Final = f"{DOMAIN}/exclude"
_NAMED: Final = 3
_LONGEST: Final = 366 * 86_400.0  # seconds


@dataclass(frozen=True, slots=True)
class Stay:
    """Until when something stays awake, and why."""

    until: Instant
    why: str


def asked_for(annotations: Mapping[str, str]) -> Instant | None:
    """The moment up to which the annotation keeps it awake, if that can be read."""
    try:
        return Instant.parse_iso(annotations[FORCE_AWAKE].strip()).round("second", mode="floor")
    except (KeyError, ValueError):
        return None


def problem(annotations: Mapping[str, str]) -> str:
    """What is wrong with the annotation, and the fix; empty if nothing is."""
    text = annotations.get(FORCE_AWAKE)
    if text is None or asked_for(annotations):
        return ""
    return (
        f"metadata.annotations[{FORCE_AWAKE}] is {text[:64]!r}, which is not an instant and does not count. "
        "Write it as 2026-11-20T07:00:00Z or 2026-11-20T07:00:00+01:00."
    )


def wants_to_be_awake(annotations: Mapping[str, str], now: Instant) -> bool:
    """Whether what its owners wrote on a sleeper asks to wake it."""
    until = asked_for(annotations)
    return annotations.get(EXCLUDE) == "true" or (until is not None and until > now)


def stay(
    annotations: Iterable[Mapping[str, str]], created: datetime | None, grace: str | None, now: Instant
) -> Stay | None:
    """Until when it stays awake, by the latest of its reasons; None if nothing keeps it from sleeping.

    The annotations are those of the workload and of what scales it; `grace` is how old it must be to sleep.
    """
    stays = [
        Stay(until, f"until {until.format_iso(unit='second')}, by its annotation")
        for until in map(asked_for, annotations)
        if until
    ]
    if created and grace:
        until = min(Instant(created), now).add(seconds=_seconds(grace))  # clocks differ
        stays.append(Stay(until, f"until {until.format_iso(unit='second')}, because it is new"))
    return max((one for one in stays if one.until > now), key=lambda one: one.until, default=None)


def _seconds(duration: str) -> float:
    """As the CRD lets it through, which knows no bounds."""
    try:
        return min(read_duration(duration) / SECOND, _LONGEST)
    except ScheduleError:
        return _LONGEST


def words(entries: Mapping[str, Entry]) -> str:
    """What a target says of those that stay awake; empty if there are none."""
    awake = [f"{key} {entry.note}" for key, entry in sorted(entries.items()) if entry.awake_until]
    if not awake:
        return ""
    more = f"; and {len(awake) - _NAMED} more" if len(awake) > _NAMED else ""
    count = "1 item stays" if len(awake) == 1 else f"{len(awake)} items stay"
    return f"{count} awake: {'; '.join(awake[:_NAMED])}{more}."
