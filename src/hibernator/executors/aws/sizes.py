"""How large AWS's machines and groups of machines are."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.decisions.sleepmark import SleepMark
from hibernator.executors.aws.account import AwsAccount
from hibernator.executors.protocol import ExecutorError


@dataclass(frozen=True, slots=True)
class Size:
    min: int
    max: int
    desired: int

    @property
    def asleep(self) -> bool:
        return self.min == 0 and self.desired == 0

    def document(self) -> dict[str, int]:
        return {"min": self.min, "max": self.max, "desired": self.desired}


def saved_size(restore: Mapping[str, Any]) -> Size:
    return Size(int(restore["min"]), int(restore["max"]), int(restore["desired"]))


def marked_size(mark: SleepMark | None) -> Size | None:
    """What it was by its mark, if that says so."""
    try:
        return saved_size(mark.was) if mark and mark.was else None
    except KeyError:
        return None


def still_asleep(now: Size, before: Size) -> bool:
    """Whether it was not woken since.

    A rule for scaling may have asked for a machine in the night. Only a person sets the smallest number back.
    """
    return now != before and now.min == 0 and (now.desired == 0 or before.min > 0)


_AT_ONCE: Final = 100  # values that a filter may have


@dataclass(frozen=True, slots=True)
class Shapes:
    """What the types of instances of a region have."""

    region: str
    known: Mapping[str, Saving]


async def shapes(account: AwsAccount, types: Iterable[str]) -> Shapes:
    """What each type of instance has. An estimate is worth no failure: what no one tells counts nothing."""
    wanted = sorted(set(types))
    try:
        found = [
            one
            for start in range(0, len(wanted), _AT_ONCE)
            for one in await account.pages(
                "ec2",
                "describe_instance_types",
                "InstanceTypes",
                Filters=[{"Name": "instance-type", "Values": wanted[start : start + _AT_ONCE]}],
            )
        ]
    except ExecutorError:
        return Shapes(account.region, {})
    known = {
        one["InstanceType"]: Saving(
            float(one.get("VCpuInfo", {}).get("DefaultVCpus", 0)),
            one.get("MemoryInfo", {}).get("SizeInMiB", 0) / 1024,
        )
        for one in found
    }
    return Shapes(account.region, known)


def total(shapes: Shapes, types: Iterable[str], prefix: str = "") -> Saving:
    """What instances of these types have together; how many there are is known in any case.

    A database costs more than the machine below it: its `prefix` tells the two apart.
    """
    chosen = list(types)
    machines = Counter(f"{shapes.region}/{prefix}{type_}" for type_ in chosen if type_)
    start = Saving(nodes=len(chosen), machines={name: float(number) for name, number in machines.items()})
    return sum((shapes.known.get(type_, Saving()) for type_ in chosen), start)
