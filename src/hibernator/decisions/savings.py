"""What sleeping has saved, computed from what the trail tells: what fell asleep when, and when it was woken.

A target saves from the moment at which it is asleep until its plan begins to wake, which is less than the
truth where targets wake one after another. A sleep that has no end yet counts until now. Everything is added
in whole numbers, so that the order of the events and the edges of months change no sum.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hibernator.schedule.spans import Span, Spans, clip, subtract, union
from hibernator.schedule.zones import by_month

WORKLOADS: Final = "workloadscaler"
NODES: Final = frozenset({"karpenter", "eks", "gke", "asg"})  # on which workloads run
CLOUD: Final = frozenset({"ec2", "rds", "cloudsql"})  # paid for one by one


class Plan(NamedTuple):
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What a target saves in each second of its sleep."""

    type: str = ""
    items: int = 0
    millicores: int = 0
    mebibytes: int = 0
    nodes: int = 0
    machines: Mapping[str, int] = field(default_factory=dict, hash=False)  # by region and type, where known
    zone: str = "UTC"


class Slept(NamedTuple):
    """From here on a target saves at this rate."""

    plan: Plan
    at: int  # seconds since the epoch
    target: str
    rate: Rate


class Woke(NamedTuple):
    """The plan began to wake everything, or is gone."""

    plan: Plan
    at: int


class Spell(NamedTuple):
    """One target asleep for a while, at one rate."""

    plan: Plan
    rate: Rate
    spans: Spans


@dataclass(frozen=True, slots=True)
class Amount:
    """Seconds of what was not used."""

    millicores: int = 0
    mebibytes: int = 0
    nodes: int = 0
    items: int = 0
    machines: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            self.millicores + other.millicores,
            self.mebibytes + other.mebibytes,
            self.nodes + other.nodes,
            self.items + other.items,
            {
                name: self.machines.get(name, 0) + other.machines.get(name, 0)
                for name in sorted({*self.machines, *other.machines})
            },
        )


class SavingKey(NamedTuple):
    """Where an amount is filed."""

    namespace: str
    plan: str
    month: str
    type: str


def spells(events: Iterable[Slept | Woke], until: int) -> Iterator[Spell]:
    """Every sleep, from events in the order in which they happened to each plan.

    A target that fell asleep again, because more of it sleeps now, or others woke some of it, goes on at its
    new rate. A clock that was set back makes an empty sleep, never a negative one, and no time counts twice.
    """
    asleep: dict[Plan, dict[str, Slept]] = {}
    for event in events:
        if isinstance(event, Woke):
            yield from (_until(slept, event.at) for slept in asleep.pop(event.plan, {}).values())
        else:
            targets = asleep.setdefault(event.plan, {})
            if before := targets.get(event.target):
                yield _until(before, event.at)
                event = event._replace(at=max(before.at, event.at))  # noqa: PLW2901 — the same, later
            targets[event.target] = event
    for targets in asleep.values():
        yield from (_until(slept, until) for slept in targets.values())


def count(found: Iterable[Spell], window: Span) -> dict[SavingKey, Amount]:
    """What was saved in a window of time, by plan, month and type of target."""
    by_plan: dict[Plan, list[Spell]] = {}
    for spell in found:
        by_plan.setdefault(spell.plan, []).append(spell)
    total: dict[SavingKey, Amount] = {}
    for plan, its_spells in by_plan.items():
        on_nodes = union(*(spell.spans for spell in its_spells if spell.rate.type in NODES))
        for spell in its_spells:
            for place, amount in _parts(plan, spell, on_nodes, window):
                total[place] = total.get(place, Amount()) + amount
    return total


def _parts(plan: Plan, spell: Spell, on_nodes: Spans, window: Span) -> Iterator[tuple[SavingKey, Amount]]:
    rate = spell.rate
    # Cores that a workload leaves idle are those of its nodes: while these sleep too, they count once.
    spans = subtract(spell.spans, on_nodes) if rate.type == WORKLOADS else spell.spans
    for span in clip(spans, *window):
        for month, seconds in by_month(span, rate.zone):
            yield (
                SavingKey(plan.namespace, plan.name, month, rate.type),
                Amount(
                    rate.millicores * seconds,
                    rate.mebibytes * seconds,
                    rate.nodes * seconds if rate.type in NODES else 0,
                    rate.items * seconds,
                    {name: number * seconds for name, number in rate.machines.items()},
                ),
            )


def _until(slept: Slept, end: int) -> Spell:
    return Spell(slept.plan, slept.rate, union(((slept.at, end),)))
