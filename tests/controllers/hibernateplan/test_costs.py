"""A plan that covers thousands of workloads: what it costs the event loop between two awaits."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from whenever import Instant

from hibernator.api.hibernateplan import Target
from hibernator.decisions.hibernateplan_restore import Kept, Saving, merge, parts, read, released
from hibernator.executors.protocol import Job
from hibernator.executors.workloads.kinds import BUILT_IN, Anything
from hibernator.executors.workloads.scaler import Size, _item
from support.scaler_scenes import workload

MOST_SECONDS = 0.5  # of computing, on a slow machine with much else to do; each takes some 20 ms
MANY = 5_000
PAGE = 500  # objects that one answer of the API server brings
TARGET = Target(name="all", type="workloadscaler")
NOW = Instant("2026-03-02T20:00:00Z")
JOB = Job(namespace="team", plan="nights", uid="", cycle=1, target=TARGET, attempt=1, began=NOW, now=NOW)


@contextmanager
def little_time() -> Iterator[None]:
    before = time.process_time()
    yield
    assert time.process_time() - before < MOST_SECONDS


def deployment(number: int) -> Anything:
    document: dict[str, Any] = workload(name=f"web-{number:05}", replicas=3)
    document["metadata"] |= {"namespace": "team", "uid": f"uid-{number}", "resourceVersion": "7"}
    return msgspec.convert(document, Anything)


def test_a_selector_that_matches_thousands_costs_little_at_each_step() -> None:
    found = [deployment(number) for number in range(MANY)]
    items = []
    for start in range(0, MANY, PAGE):
        with little_time():
            items += [_item(BUILT_IN[0], one, None, JOB, Size()) for one in found[start : start + PAGE]]
    with little_time():
        entries = merge({}, items, 1, "uid")
    kept = Kept(target=TARGET, entries=entries)
    with little_time():
        datas = list(parts(kept))
    with little_time():
        assert read(datas) == kept
    with little_time():
        assert released(kept, TARGET, items) == {}
        assert merge(entries, items, 2, "uid") == entries
        assert sum((entry.saving for entry in kept.sleeping.values()), Saving()) is not None
