"""How large AWS's machines are, for an estimate of what their sleep saves."""

from collections.abc import Iterable, Mapping
from typing import Final

from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.executors.aws import AwsAccount
from hibernator.executors.protocol import ExecutorError

_AT_ONCE: Final = 100  # values that a filter may have

Shapes = Mapping[str, Saving]


async def shapes(account: AwsAccount, types: Iterable[str]) -> Shapes:
    """What each type of instance has. An estimate is worth no failure: what nobody tells counts nothing."""
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
        return {}
    return {
        one["InstanceType"]: Saving(
            float(one.get("VCpuInfo", {}).get("DefaultVCpus", 0)),
            one.get("MemoryInfo", {}).get("SizeInMiB", 0) / 1024,
        )
        for one in found
    }


def total(known: Shapes, types: Iterable[str]) -> Saving:
    """What instances of these types have together; how many there are is known in any case."""
    chosen = list(types)
    return sum((known.get(type_, Saving()) for type_ in chosen), Saving(nodes=len(chosen)))
