"""A plan that covers thousands of workloads: what it costs the event loop between two awaits."""

from typing import Any

import msgspec
from whenever import Instant

from hibernator.api.hibernateplan import Target
from hibernator.decisions.hibernateplan_restore import Kept, Saving, merge, parts, read, released
from hibernator.executors.protocol import Job
from hibernator.executors.workloads.kinds import BUILT_IN, AnyObject
from hibernator.executors.workloads.scaler import Size, _item
from support.costs import at_most
from support.scaler_scenes import workload

MANY = 5_000
PAGE = 500  # objects that one answer of the API server brings
TARGET = Target(name="all", type="workloadscaler")
NOW = Instant("2026-03-02T20:00:00Z")
JOB = Job(namespace="team", plan="nights", uid="", cycle=1, target=TARGET, attempt=1, began=NOW, now=NOW)


def deployment(number: int) -> AnyObject:
    document: dict[str, Any] = workload(name=f"web-{number:05}", replicas=3)
    document["metadata"] |= {"namespace": "team", "uid": f"uid-{number}", "resourceVersion": "7"}
    return msgspec.convert(document, AnyObject)


def test_a_selector_that_matches_thousands_costs_little_at_each_step() -> None:
    found = [deployment(number) for number in range(MANY)]
    items = []
    for start in range(0, MANY, PAGE):
        with at_most(500_000):
            items += [_item(BUILT_IN[0], one, None, JOB, Size()) for one in found[start : start + PAGE]]
    with at_most(500_000):
        entries = merge({}, items, 1, "uid")
    kept = Kept(target=TARGET, entries=entries)
    with at_most(500_000):
        datas = list(parts(kept))
    with at_most(500_000):
        assert read(datas) == kept
    with at_most(500_000):
        assert released(kept, TARGET, items) == {}
        assert merge(entries, items, 2, "uid") == entries
        assert sum((entry.saving for entry in kept.sleeping.values()), Saving()) is not None
