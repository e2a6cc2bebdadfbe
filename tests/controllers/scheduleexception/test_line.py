"""The line of a plan's exceptions, against one that is sorted anew after each change."""

from typing import Any

import msgspec
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.controllers import scheduleexception as module
from hibernator.controllers.scheduleexception import Line
from hibernator.decisions.scheduleexception_line import is_open, place
from hibernator.decisions.scheduleexception_request import REQUESTED_BY, requester
from hibernator.kube.store import Store

MOST, MINE = 5, 2
NAMES = [f"e{number}" for number in range(14)]


def exception(name: str, version: int, created: int, by: str, **status: Any) -> ScheduleException:
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "team",
                "uid": f"{name}-{created}",
                "resourceVersion": str(version),
                "generation": 1,
                "creationTimestamp": f"2026-03-02T08:00:{created:02}Z",
                "annotations": {REQUESTED_BY: by} if by else {},
            },
            "spec": {
                "planRef": {"name": "plan"},
                "type": "extend",
                "validFrom": "2026-03-02T00:00:00Z",
                "validUntil": "2026-03-09T00:00:00Z",
                "windows": [],
            },
            "status": status,
        },
        ScheduleException,
    )


def too_many(name: str, version: int, created: int, by: str) -> ScheduleException:
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "QuotaExceeded",
        "message": "",
        "lastTransitionTime": "2026-03-02T08:00:00Z",
    }
    return exception(name, version, created, by, state="Pending", conditions=[condition])


class Lines(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(module, "MOST_OF_PLAN", MOST)
        self.patch.setattr(module, "MOST_OF_REQUESTER", MINE)
        self.store = Store(EXCEPTIONS)
        self.line = Line(self.store)
        self.version = 0
        self.placed: set[str] = set()

    def teardown(self) -> None:
        self.patch.undo()

    @rule(name=st.sampled_from(NAMES), created=st.integers(0, 20), by=st.sampled_from(["", "alice", "bob"]))
    def file(self, name: str, created: int, by: str) -> None:
        if self.store.get("team", name) is None:
            self.version += 1
            self.store.saw(too_many(name, self.version, created, by))

    @rule(name=st.sampled_from(NAMES), state=st.sampled_from(["Active", "Expired", "Cancelled", "Rejected"]))
    def move(self, name: str, state: str) -> None:
        if found := self.store.get("team", name):
            self.version += 1
            created = found.metadata.creation_timestamp
            assert created is not None
            by = found.metadata.annotations.get(REQUESTED_BY, "")
            self.store.saw(exception(name, self.version, created.second, by, state=state))
            self.told(found)

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        if found := self.store.get("team", name):
            self.version += 1
            self.store.saw_deletion(("team", name), self.version)
            self.told(found)

    def told(self, changed: ScheduleException) -> None:
        """Whoever has come to a place by this, and does not know, is among those to look at."""
        keys = {key.name for key in self.line.keys(changed)}
        fresh = {one.metadata.name for one in self.expected() if one.status.state == "Pending"} - self.placed
        assert changed.metadata.name in keys
        assert fresh <= keys
        assert len(keys) <= MOST + 1

    def expected(self) -> list[ScheduleException]:
        by_requester: dict[str, int] = {}
        found = []
        for one in sorted(filter(is_open, self.store.values()), key=place):
            who = requester(one)
            by_requester[who] = by_requester.get(who, 0) + 1
            if not who or by_requester[who] <= MINE:
                found.append(one)
        return found[:MOST]

    @invariant()
    def the_places_are_those_of_the_oldest(self) -> None:
        if not hasattr(self, "line"):
            return
        expected = self.expected()
        assert list(self.line.holders("team/plan")) == expected
        for one in self.store.values():
            if is_open(one):
                assert self.line.has_place(one) == (one in expected)
        self.placed = {one.metadata.name for one in expected}


TestLines = Lines.TestCase
TestLines.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
