"""Which exceptions a plan and the webhook look at, against all of them filtered anew after each change."""

from typing import Any

import msgspec
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.controllers import shared
from hibernator.controllers.hibernateplan_sources import PlanExceptions
from hibernator.decisions.hibernateplan_case import MOST_EXCEPTIONS
from hibernator.decisions.scheduleexception_line import is_open
from hibernator.kube.store import Store

PLANS = ("one", "other")
STATES = ("", "Draft", "Pending", "Approved", "Active", "Expired", "Expired", "Rejected", "Cancelled")


def exception(
    name: str, version: int, plan: str, state: str, *, over: int, leaves: bool
) -> ScheduleException:
    status: dict[str, Any] = {"state": state} if state else {}
    if state == "Expired":
        status["expiredAt"] = f"2026-03-02T08:00:{over:02}Z"
    gone = {"deletionTimestamp": "2026-03-02T09:00:00Z"} if leaves else {}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "team",
                "uid": name,
                "resourceVersion": str(version),
                **gone,
            },
            "spec": {
                "planRef": {"name": plan},
                "type": "extend",
                "validFrom": "2026-03-02T00:00:00Z",
                "validUntil": "2026-03-09T00:00:00Z",
                "windows": [],
            },
            "status": status,
        },
        ScheduleException,
    )


class Shown(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.store: Store[ScheduleException] = Store(EXCEPTIONS)
        shared.index_exceptions(self.store)
        self.seen = PlanExceptions(self.store)
        self.version = 0

    @rule(
        number=st.integers(0, 20),
        plan=st.sampled_from(PLANS),
        state=st.sampled_from(STATES),
        over=st.integers(0, 5),
        leaves=st.booleans(),
    )
    def change(self, number: int, plan: str, state: str, over: int, *, leaves: bool) -> None:
        self.version += 1
        self.store.saw(exception(f"e{number}", self.version, plan, state, over=over, leaves=leaves))

    @rule(number=st.integers(0, 20))
    def delete(self, number: int) -> None:
        self.version += 1
        self.store.saw_deletion(("team", f"e{number}"), self.version)

    @invariant()
    def each_finds_what_matters_to_it_and_nothing_else(self) -> None:
        for plan in PLANS if hasattr(self, "store") else ():
            mine = [one for one in self.store.values() if one.spec.plan_ref.name == plan]
            there = [one for one in mine if not one.metadata.deletion_timestamp]
            over = [one for one in there if one.status.state == "Expired"]
            over.sort(key=lambda one: (str(one.status.expired_at), one.metadata.name))
            assert list(self.seen.last(f"team/{plan}")) == over[-MOST_EXCEPTIONS:]
            active = {one.metadata.name for one in there if one.status.state == "Active"}
            assert {one.metadata.name for one in self.seen.active(f"team/{plan}")} == active
            found = self.store.find(shared.OPEN, f"team/{plan}")
            assert {one.metadata.name for one in found} == {one.metadata.name for one in mine if is_open(one)}


Shown.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestWhatIsShown = Shown.TestCase


def test_one_that_was_changed_goes_on_as_it_was_until_it_is_decided_about() -> None:
    """Else it puts a plan to sleep for a moment that a policy would not let it touch."""
    store: Store[ScheduleException] = Store(EXCEPTIONS)
    shared.index_exceptions(store)
    seen = PlanExceptions(store)

    def generation(number: int, decided: int, version: int, state: str = "Active") -> ScheduleException:
        one = exception("e1", version, "one", state, over=0, leaves=False)
        metadata = replace(one.metadata, generation=number)
        return replace(one, metadata=metadata, status=replace(one.status, observed_generation=decided))

    def shown() -> list[int]:
        return [one.metadata.generation for one in seen.active("team/one")]

    store.saw(generation(2, 1, 1))
    assert (shown(), seen.awaits("team/one")) == ([2], True), "changed while no operator was there"
    store.saw(generation(2, 2, 2))
    assert (shown(), seen.awaits("team/one")) == ([2], False)
    store.saw(generation(3, 2, 3))
    store.saw(generation(4, 2, 4))
    assert (shown(), seen.awaits("team/one")) == ([2], False)
    store.saw(generation(4, 4, 5))
    assert shown() == [4]
    store.saw(generation(5, 4, 6))
    store.saw(generation(5, 5, 7, "Pending"))
    assert shown() == []
    store.saw(generation(6, 6, 8))
    store.saw(generation(7, 6, 9))
    store.saw_deletion(("team", "e1"), 10)
    assert (shown(), seen._decided) == ([], {})


def test_however_many_are_over_a_look_at_the_plan_sees_ten() -> None:
    store: Store[ScheduleException] = Store(EXCEPTIONS)
    shared.index_exceptions(store)
    seen = PlanExceptions(store)
    for number in range(3000):
        store.saw(exception(f"e{number}", number + 1, "one", "Expired", over=number % 60, leaves=False))
    assert len(list(seen.last("team/one"))) == MOST_EXCEPTIONS
    assert seen.active("team/one") == store.find(shared.OPEN, "team/one") == ()
