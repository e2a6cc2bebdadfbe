"""`hibernator diff`: what another version of the files would change, in hours and on the timeline."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rich.text import Text
from whenever import Instant

from hibernator.cli.exits import CliError, Exit
from hibernator.cli.offline import out
from hibernator.cli.offline.commands import DiffOutput
from hibernator.cli.offline.ranges import Range, years_of
from hibernator.cli.offline.setting import read_scene
from hibernator.pictures import contract
from hibernator.pictures.ink import Ink, words
from hibernator.pictures.resource import Resource
from hibernator.pictures.strips import (
    Change,
    Strip,
    changes,
    hours,
    number,
    replica_hours,
    strip,
    totals,
)
from hibernator.pictures.terminal import render_changes
from hibernator.schedule import times
from hibernator.schedule.ticks import HOUR, to_instant
from hibernator.schedule.timeline import State
from hibernator.schedule.zones import Zone, local_text


class DiffOutcome(StrEnum):
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
    def outcome(self) -> DiffOutcome:
        if self.before is None:
            return DiffOutcome.NEW
        if self.after is None:
            return DiffOutcome.GONE
        return DiffOutcome.CHANGED if self.changes else DiffOutcome.SAME

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


DAYS = 28
_MOST_LISTED = 10


def run(
    files: Sequence[str],
    start: str | None,
    end: str | None,
    output: DiffOutput,
    width: int | None,
    now: Instant | None,
) -> None:
    if len(files) != 2:  # noqa: PLR2004 - a version is compared with another
        raise CliError(
            f"Two versions are compared; the number of -f options is {len(files)}.",
            hint="Name the old version first and the new one second: hibernator diff -f old.yaml -f new.yaml",
            code=Exit.USAGE,
        )
    period = Range(times.parse("--from", start), times.parse("--to", end), DAYS)
    now = now or Instant.now()
    years = years_of(now, period.start, period.end)
    old, new = read_scene(files[:1], years), read_scene(files[1:], years)
    found = list(compare(old.resources, new.resources, period, now))
    if output is DiffOutput.JSON:
        out.data(_json(found))
    else:
        console = out.console(width)
        out.lines(console, _text(found, console.width, out.ink(console)))
    out.notes(list(dict.fromkeys((*old.notes, *new.notes))))


def _text(found: Sequence[Comparison], width: int, ink: Ink) -> Iterator[Text]:
    for comparison in found:
        if comparison.outcome is not DiffOutcome.SAME:
            yield from _resource(comparison, width, ink)
            yield Text()
    yield Text(_summary(found), style="bold")


def _resource(comparison: Comparison, width: int, ink: Ink) -> Iterator[Text]:
    shown = comparison.shown
    zone = shown.resource.zone
    yield Text.assemble((shown.resource.title, "bold"), f"  {zone.name}")
    if comparison.outcome is not DiffOutcome.CHANGED:
        yield Text(f"{comparison.outcome.lower()}: {totals(shown)}")
        return
    before, after = (amount or 0 for amount in comparison.amounts)
    length = number((shown.last - shown.first) / HOUR)
    what = "hours asleep" if shown.resource.is_plan else "replica hours"
    amounts = f"{number(before)} {what} before, {number(after)} after"
    yield Text(f"{amounts} ({_signed(after - before)}), of {length} hours")
    yield from render_changes(shown, comparison.changes, width, ink)
    for change in comparison.changes[:_MOST_LISTED]:
        yield Text(_change(change, zone))
    if len(comparison.changes) > _MOST_LISTED:
        yield Text(f"and {len(comparison.changes) - _MOST_LISTED} more like these")


def _change(change: Change, zone: Zone) -> str:
    start, end = local_text(zone, change.start), local_text(zone, change.end)
    return f"{start} to {end}: {words(change.before)} before, {words(change.after)} after"


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else '-'}{number(abs(value))}"


def _summary(found: Sequence[Comparison]) -> str:
    numbers = {outcome: sum(comparison.outcome is outcome for comparison in found) for outcome in DiffOutcome}
    if numbers[DiffOutcome.SAME] == len(found):
        return "Nothing changes."
    counts = ", ".join(f"{many} {outcome.lower()}" for outcome, many in numbers.items() if many)
    plans = [comparison.amounts for comparison in found if comparison.shown.resource.is_plan]
    more = sum((after or 0) - (before or 0) for before, after in plans)
    asleep = f"; {_signed(more)} hours asleep in all" if plans else ""
    return f"{counts}{asleep}."


def _json(found: Sequence[Comparison]) -> str:
    return json.dumps({"resources": [_entry(comparison) for comparison in found]}, indent=2) + "\n"


def _entry(comparison: Comparison) -> dict[str, Any]:
    shown = comparison.shown
    before, after = comparison.amounts
    return {
        "kind": shown.resource.kind,
        "namespace": shown.resource.namespace,
        "name": shown.resource.name,
        "outcome": comparison.outcome,
        "from": contract.instant(shown.start),
        "to": contract.instant(shown.end),
        "hoursAsleep" if shown.resource.is_plan else "replicaHours": {"before": before, "after": after},
        "changes": [
            {
                "from": contract.instant(to_instant(change.start)),
                "to": contract.instant(to_instant(change.end)),
                "before": contract.value(change.before),
                "after": contract.value(change.after),
            }
            for change in comparison.changes
        ],
    }
