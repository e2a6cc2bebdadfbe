"""In which order the targets of a plan are worked on, for each strategy, forwards and backwards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final
from zlib import crc32

from whenever import Instant, TimeDelta

from hibernator.api.hibernateplan import Dependency, Strategy
from hibernator.api.planstatus import TargetStatus

FIRST_PAUSE: Final = 60.0
LONGEST_PAUSE: Final = 1800.0
SPREAD: Final = 0.1  # of a pause comes on top, so that what failed together does not come back together
OVER: Final = frozenset({"Completed", "Skipped", "Failed", "Aborted"})


@dataclass(frozen=True, slots=True)
class Lane:
    """Targets of which only so many are worked on at the same time."""

    names: frozenset[str]
    width: int | None


@dataclass(frozen=True, slots=True)
class Order:
    names: tuple[str, ...]
    waits: Mapping[str, frozenset[str]]  # for whom each one waits
    lanes: tuple[Lane, ...]


def order(names: Sequence[str], strategy: Strategy, *, backwards: bool, others: Sequence[str] = ()) -> Order:
    """The order of a sleep; backwards, that of a waking. The others come first and wait for no one."""
    pairs = [(before, after) for before, after in _pairs(names, strategy) if {before, after} <= set(names)]
    if backwards:
        pairs = [(after, before) for before, after in pairs]
    waits: dict[str, set[str]] = {name: set() for name in names}
    for before, after in pairs:
        waits[after].add(before)
    lanes = [Lane(frozenset(names), strategy.max_concurrency)]
    lanes += [Lane(frozenset(stage.targets), stage.max_concurrency) for stage in strategy.stages]
    return Order(
        names=(*others, *(reversed(names) if backwards else names)),
        waits={name: frozenset(before) for name, before in waits.items()}
        | dict.fromkeys(others, frozenset()),
        lanes=tuple(lanes),
    )


def startable(found: Order, states: Mapping[str, TargetStatus], now: Instant) -> tuple[str, ...]:
    """Whose turn it is now, besides those that are being worked on."""
    running = {name for name, target in states.items() if target.state == "Running"}
    chosen: list[str] = []
    for name in found.names:
        target = states.get(name)
        if target is None or target.state != "Pending" or not _is_due(target, now):
            continue
        if not all(states[other].state in OVER for other in found.waits[name] if other in states):
            continue
        if all(_has_room(lane, name, running) for lane in found.lanes):
            running.add(name)
            chosen.append(name)
    return tuple(chosen)


def cut_off(edges: Iterable[tuple[str, str]], states: Mapping[str, TargetStatus]) -> dict[str, str]:
    """Which targets are not begun, and why: each waits, maybe by way of others, for one that failed."""
    waiting: dict[str, list[str]] = {}
    for before, after in edges:
        waiting.setdefault(before, []).append(after)
    lost = [name for name, target in states.items() if target.state in {"Failed", "Aborted"}]
    found: dict[str, str] = {}
    for name in lost:  # which grows while it is walked through
        for after in waiting.get(name, ()):
            if after in states and states[after].state == "Pending" and after not in found:
                found[after] = name
                lost.append(after)
    return found


def pause(attempts: int) -> float:
    """Seconds before the next attempt."""
    return min(FIRST_PAUSE * 2.0 ** (max(attempts, 1) - 1), LONGEST_PAUSE)


def due_at(target: TargetStatus) -> Instant | None:
    """When a target that failed is tried again; the same for everyone who asks, also after a restart."""
    if target.state != "Pending" or not target.attempts or target.finished_at is None:
        return None
    drawn = crc32(f"{target.name}/{target.attempts}/{target.finished_at}".encode()) / 2**32
    wait = pause(target.attempts)
    return Instant(target.finished_at) + TimeDelta(seconds=wait + int(wait * SPREAD * drawn))


def _is_due(target: TargetStatus, now: Instant) -> bool:
    due = due_at(target)
    set_back = target.finished_at is not None and now < Instant(target.finished_at)  # by someone: the clock
    return due is None or due <= now or set_back


def _pairs(names: Sequence[str], strategy: Strategy) -> Iterator[tuple[str, str]]:
    match strategy.type:
        case "Sequential":
            yield from pairwise(names)
        case "DAG":
            if not _runs_in_a_circle(strategy.dependencies):
                yield from ((edge.from_, edge.to) for edge in strategy.dependencies)
        case "Staged":
            for stage, following in pairwise(strategy.stages):
                yield from ((before, after) for before in stage.targets for after in following.targets)
            for stage in strategy.stages:
                yield from () if stage.parallel else pairwise(stage.targets)
        case "Parallel":
            pass


def _runs_in_a_circle(dependencies: Sequence[Dependency]) -> bool:
    """Refused when written; should one slip through, waking must not wait for itself for ever."""
    graph: dict[str, set[str]] = {}
    for edge in dependencies:
        graph.setdefault(edge.to, set()).add(edge.from_)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return True
    return False


def _has_room(lane: Lane, name: str, running: set[str]) -> bool:
    return name not in lane.names or lane.width is None or len(lane.names & running) < lane.width
