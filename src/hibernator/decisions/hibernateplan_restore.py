"""What is needed to wake things up: what to keep of it, and the ConfigMaps that it is kept in.

An entry is written before its thing is put to sleep, and holds until the thing was woken. Both may take
several steps, and who comes after a crash cannot tell half of them from what someone wants. So what was
never woken keeps what is written about it, through retries and into the next cycle, however it looks.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec
from whenever import Instant

from hibernator.api.hibernateplan import Target
from hibernator.api.kind import DOMAIN
from hibernator.api.meta import Model

LABEL: Final = f"{DOMAIN}/restore-data"
PLAN_LABEL: Final = f"{DOMAIN}/plan"
TARGET_LABEL: Final = f"{DOMAIN}/target"
NAME_PREFIX: Final = "hibernator-restore-"
FINALIZER: Final = f"{DOMAIN}/restore-data"
PART_BYTES: Final = 256 * 1024  # far below what etcd stores, and still readable
TARGET_KEY: Final = "target.json"
ITEMS_KEY: Final = "items.json"


@dataclass(frozen=True, slots=True)
class Saving:
    """What an hour of an item's sleep saves, estimated from what it asks for when awake."""

    cpu_cores: float = 0.0
    memory_gib: float = 0.0
    nodes: float = 0.0  # machines, where it is machines that sleep
    # How many of which machines, as far as it is known, by region and type: `eu-central-1/m5.large`.
    machines: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __add__(self, other: "Saving") -> "Saving":
        machines = {
            name: self.machines.get(name, 0.0) + other.machines.get(name, 0.0)
            for name in sorted({*self.machines, *other.machines})
        }
        return Saving(
            self.cpu_cores + other.cpu_cores,
            self.memory_gib + other.memory_gib,
            self.nodes + other.nodes,
            {name: number for name, number in machines.items() if number},
        )

    def __sub__(self, other: "Saving") -> "Saving":
        return self + other * -1.0

    def __mul__(self, hours: float) -> "Saving":
        machines = {name: number * hours for name, number in self.machines.items()}
        return Saving(self.cpu_cores * hours, self.memory_gib * hours, self.nodes * hours, machines)


NOTHING: Final = Saving()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that a target covers, as `discover` found it.

    `restore` is a plain JSON document with all that `wake` needs, readable by a person, and without secrets;
    None says that the thing was asleep before this plan came, and `note` then says in words how so. A thing
    that this plan has put to sleep says by its mark what it was: then `asleep` is true. With `awake_until` it
    is not to sleep before then, and is woken if it does; `note` says why.
    """

    key: str  # the same each time, unique in the target, and telling: `Deployment/team-a/web`, `i-0a1b2c`
    restore: Mapping[str, Any] | None = field(default=None, hash=False)
    saving: Saving = NOTHING
    note: str = ""
    asleep: bool = False
    awake_until: Instant | None = None
    woken: bool = False  # this plan put it to sleep in this cycle, and others have woken it
    trouble: str = ""  # what its owners wrote on it and cannot be read, with the fix
    seen: Any = field(default=None, hash=False, compare=False)  # what was read, for who acts on it next


class Entry(Model):
    """What is kept of an item. Without `was` it was asleep before and is left alone.

    `woken` says that it was brought back, and that only its coming to rest has not been seen. `awake_until`
    says that it is awake, and when to look whether it may sleep.
    """

    cycle: int  # that wrote it
    was: dict[str, Any] | None = None
    cpu_cores: float = 0.0
    memory_gib: float = msgspec.field(default=0.0, name="memoryGiB")
    nodes: float = 0.0
    machines: dict[str, float] = msgspec.field(default_factory=dict)
    note: str = ""
    woken: bool = False
    awake_until: datetime | None = None

    @property
    def saving(self) -> Saving:
        return Saving(self.cpu_cores, self.memory_gib, self.nodes, self.machines)


Entries = Mapping[str, Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """All that is kept of one target: what it was when it went to sleep, and its items."""

    target: Target
    entries: Entries = field(hash=False)

    @property
    def sleeping(self) -> dict[str, Entry]:
        """What there is to wake."""
        return {key: entry for key, entry in self.entries.items() if entry.was is not None}

    @property
    def next_check(self) -> Instant | None:
        """When the first of those that stay awake for now may sleep."""
        return min(
            (Instant(one.awake_until) for one in self.entries.values() if one.awake_until), default=None
        )


def merge(kept: Entries, found: Iterable[Item], cycle: int, identity: str = "") -> dict[str, Entry]:
    """What to keep from now on of the items that were found.

    `identity` distinguishes a thing from another of the same key, by its name in the restore documents.
    """
    return {item.key: _entry(kept.get(item.key), item, cycle, identity) for item in found}


def inherited(kept: Kept, cycle: int) -> Kept | None:
    """What a plan of the same name has left, as of this cycle; None where nothing is left by one.

    A plan counts its cycles from 1. Those of its predecessor went on from there, and what is of a cycle that
    is not known yet is never dropped.
    """
    if all(entry.cycle <= cycle for entry in kept.entries.values()):
        return None
    entries = {
        key: msgspec.structs.replace(entry, cycle=min(entry.cycle, cycle))
        for key, entry in kept.entries.items()
    }
    return Kept(target=kept.target, entries=entries)


def released(kept: Kept, target: Target, found: Iterable[Item]) -> dict[str, Entry]:
    """What sleeps for this target and shall not: it no longer belongs to it, or is to stay awake for now."""
    if (kept.target.type, kept.target.connector_ref) != (target.type, target.connector_ref):
        return kept.sleeping
    keys = {item.key for item in found if item.awake_until is None}
    return {key: entry for key, entry in kept.sleeping.items() if key not in keys}


def _entry(kept: Entry | None, item: Item, cycle: int, identity: str) -> Entry:
    if item.awake_until:
        return Entry(cycle=cycle, note=item.note, awake_until=item.awake_until.to_stdlib())
    if kept is not None and kept.was is not None and _holds(kept, kept.was, item, identity):
        return msgspec.structs.replace(kept, woken=False, cycle=min(kept.cycle, cycle))
    if item.restore is None:
        return Entry(cycle=cycle, note=item.note or "was asleep already")
    return Entry(
        cycle=cycle,
        was=dict(item.restore),
        cpu_cores=float(item.saving.cpu_cores),  # as it is read back, so that nothing is written again
        memory_gib=float(item.saving.memory_gib),
        nodes=float(item.saving.nodes),
        machines={name: float(number) for name, number in item.saving.machines.items()},
    )


def _holds(kept: Entry, was: Mapping[str, Any], item: Item, identity: str) -> bool:
    """Whether what is kept is worth more than what was seen: a sleeper does not show how it is awake."""
    if item.restore is None:
        return True
    return not kept.woken and not _is_another(was.get(identity), item.restore.get(identity))


def _is_another(before: Any, now: Any) -> bool:
    """Of those that have several marks, one may go and another come."""
    if isinstance(before, list) and isinstance(now, list):
        return bool(before and now) and not any(one in now for one in before)
    return bool(before != now)


def name_of(plan: str, target: str, part: int) -> str:
    """Dots, because neither a target's name nor a number has any: no two of these can be the same."""
    return f"{NAME_PREFIX}{plan}.{target}.{part}"


def portions(entries: Entries) -> Iterator[dict[str, Entry]]:
    """As many of the entries as a ConfigMap shall hold, and again; at least one portion."""
    portion: dict[str, Entry] = {}
    size = 0
    for key, entry in sorted(entries.items()):
        length = len(_line(key, entry).encode())
        if portion and size + length > PART_BYTES:
            yield portion
            portion, size = {}, 0
        portion[key] = entry
        size += length + 2
    yield portion


def parts(kept: Kept) -> Iterator[dict[str, str]]:
    """The data of the ConfigMaps that hold all of it, at least one."""
    return (part(kept.target, entries) for entries in portions(kept.entries))


def part(target: Target, entries: Entries) -> dict[str, str]:
    """The data of a ConfigMap; an item a line, so that people can read and `grep` it."""
    head = msgspec.json.format(msgspec.json.encode(target)).decode()
    lines = ",\n".join(_line(key, entry) for key, entry in sorted(entries.items()))
    return {TARGET_KEY: f"{head}\n", ITEMS_KEY: f"{{\n{lines}\n}}\n" if lines else "{}\n"}


def _line(key: str, entry: Entry) -> str:
    return f"{msgspec.json.encode(key).decode()}: {msgspec.json.encode(entry).decode()}"


def read(datas: Iterable[Mapping[str, str]]) -> Kept | None:
    """What ConfigMaps hold of a target; None when there is none. Raises ValueError if it cannot be read."""
    target: Target | None = None
    entries: dict[str, Entry] = {}
    for data in datas:
        target = msgspec.json.decode(data.get(TARGET_KEY, ""), type=Target)
        entries |= msgspec.json.decode(data.get(ITEMS_KEY, "{}"), type=dict[str, Entry])
    return Kept(target=target, entries=entries) if target else None
