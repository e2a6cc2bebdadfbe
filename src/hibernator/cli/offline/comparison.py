"""Two versions of the same documents, resource by resource, over the same instants."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from whenever import Instant

from hibernator.cli.offline.pictures.strips import Change, Strip, changes, hours, replica_hours, strip
from hibernator.cli.offline.ranges import Range
from hibernator.cli.offline.scene import Resource
from hibernator.schedule.verdicts import State


class Outcome(StrEnum):
    CHANGED = "Changed"
    SAME = "Same"
    NEW = "New"
    GONE = "Gone"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A resource as it was and as it would be; one of the two may be missing."""

    before: Strip | None
    after: Strip | None
    changes: tuple[Change, ...] = ()

    @property
    def shown(self) -> Strip:
        """The newest there is."""
        strip = self.after or self.before
        assert strip is not None  # noqa: S101 - there is no comparison of nothing
        return strip

    @property
    def outcome(self) -> Outcome:
        if self.before is None:
            return Outcome.NEW
        if self.after is None:
            return Outcome.GONE
        return Outcome.CHANGED if self.changes else Outcome.SAME

    @property
    def amounts(self) -> tuple[float | None, float | None]:
        """Hours asleep, or replica hours, before and after."""
        return _amount(self.before), _amount(self.after)


def compare(
    old: Sequence[Resource], new: Sequence[Resource], period: Range, now: Instant
) -> Iterator[Comparison]:
    """Everything in either version, in the order of the new one and then of the old one."""
    before = {resource.key: resource for resource in old}
    after = {resource.key: resource for resource in new}
    for key, resource in (after | {key: each for key, each in before.items() if key not in after}).items():
        start, end = period.seen_from(resource.zone.name, now)
        was = strip(before[key], start, end) if key in before else None
        becomes = strip(after[key], start, end) if key in after else None
        differences = tuple(changes(was.intervals, becomes.intervals)) if was and becomes else ()
        yield Comparison(was, becomes, differences)


def _amount(strip: Strip | None) -> float | None:
    if strip is None:
        return None
    if strip.resource.is_plan:
        return hours(strip.intervals, State.ASLEEP)
    return replica_hours(strip.intervals)
