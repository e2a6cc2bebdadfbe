"""Any life of three exceptions of one plan: edits, submissions, decisions, cancellations, deletions and time.

After each step the decision is taken again until nothing changes, as the controller does. What must hold then
does not depend on how it came about.
"""

from itertools import combinations
from typing import Any

import msgspec
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.person import Person
from hibernator.decisions.scheduleexception import Seen, decide
from hibernator.decisions.scheduleexception_request import REQUESTED_BY, Rules, spec_hash
from hibernator.schedule.exceptions import overlap
from hibernator.schedule.problems import check_exception

START = Instant.from_utc(2026, 3, 2)
NAMES = ("first", "second", "third")
USERS = ("alice@x.example", "bob@x.example", "carol@x.example", "dave@x.example")
PLAN = msgspec.convert(
    {"spec": {"schedule": {"timezone": "UTC", "offHours": []}, "targets": []}}, HibernatePlan
)
FINAL = {"Expired", "Cancelled"}
name = st.sampled_from(NAMES)


class Lives(RuleBasedStateMachine):
    @initialize(draft=st.booleans(), asked=st.booleans(), days=st.tuples(*[st.integers(1, 20)] * len(NAMES)))
    def create(self, *, draft: bool, asked: bool, days: tuple[int, ...]) -> None:
        self.now = START
        self.approved_spec: dict[str, str] = {}
        self.found: dict[str, ScheduleException] = {}
        for which, lasting in zip(NAMES, days, strict=True):
            people = {"approvalRequired": True, "approverEmails": list(USERS[1:3])}
            document = {
                "metadata": {"name": which, "uid": which, "annotations": {REQUESTED_BY: USERS[0]}},
                "spec": {
                    "planRef": {"name": "plan"},
                    "type": "extend",
                    "validFrom": START.to_stdlib(),
                    "validUntil": START.add(hours=24 * lasting).to_stdlib(),
                    "windows": [{"start": "10:00", "end": "11:00", "daysOfWeek": ["MON"]}],
                    "draft": draft and asked,
                }
                | (people if asked or which == "second" else {}),
            }
            self.found[which] = msgspec.convert(document, ScheduleException)
        self.settle()

    @rule(hours=st.sampled_from([1, 24, 24 * 7]))
    def wait(self, hours: int) -> None:
        self.now = self.now.add(hours=hours)
        self.settle()

    @rule(which=name)
    def submit(self, which: str) -> None:
        self.change(which, draft=False)

    @rule(
        which=name,
        type_=st.sampled_from(["extend", "suspend", "replace"]),
        day=st.sampled_from(["MON", "TUE"]),
    )
    def edit(self, which: str, type_: str, day: str) -> None:
        """As the CRD allows it: a draft, or what needs no approval."""
        spec = self.found[which].spec
        if spec.draft or not spec.approval_required:
            self.change(
                which, type=type_, windows=[{"start": "10:00", "end": "11:00", "daysOfWeek": [day, "WED"]}]
            )

    @rule(which=name)
    def cancel(self, which: str) -> None:
        if self.found[which].status.state != "Expired":
            self.change(which, cancelled=True)

    @rule(which=name, user=st.sampled_from(USERS), verdict=st.sampled_from(["approve", "approve", "reject"]))
    def say(self, which: str, user: str, verdict: str) -> None:
        """Anybody writes an entry at any time; one a person, as the list's key demands."""
        found = self.found[which]
        status, at = found.status, self.now.to_stdlib()
        if verdict == "approve" and user not in {one.approved_by for one in status.approvals}:
            entry = {"approvedBy": user, "approvedAt": at, "uid": which, "specHash": spec_hash(found.spec)}
            self.write(which, approvals=[*msgspec.to_builtins(status.approvals), entry])
        elif verdict == "reject" and user not in {one.rejected_by for one in status.rejections}:
            entry = {"rejectedBy": user, "rejectedAt": at}
            self.write(which, rejections=[*msgspec.to_builtins(status.rejections), entry])
        self.settle()

    @invariant()
    def those_that_are_active_do_not_conflict(self) -> None:
        active = [one.spec for one in self.found.values() if one.status.state == "Active"]
        assert not any(overlap(one, other, "UTC") for one, other in combinations(active, 2))

    @invariant()
    def who_waits_conflicts_with_one_that_is_active(self) -> None:
        active = [one.spec for one in self.found.values() if one.status.state == "Active"]
        for one in self.found.values():
            if one.status.conditions[0].reason == "AnotherActive":
                assert any(overlap(one.spec, other, "UTC") for other in active)

    @invariant()
    def what_is_active_was_agreed_to_by_the_right_people_as_it_is(self) -> None:
        for one in self.found.values():
            if one.status.state in {"Active", "Approved"} and one.spec.approval_required:
                agreed = {
                    yes.approved_by for yes in one.status.approvals if yes.spec_hash == spec_hash(one.spec)
                }
                assert set(USERS[1:3]) <= agreed

    @invariant()
    def nothing_is_active_beyond_its_time(self) -> None:
        for one in self.found.values():
            if one.status.state == "Active":
                assert self.now < Instant(one.spec.valid_until)

    @invariant()
    def each_person_is_in_the_history_once(self) -> None:
        for one in self.found.values():
            said = [told.actor for told in one.status.history if told.action in {"approved", "rejected"}]
            assert len(said) == len(set(said))
            assert USERS[0] not in said
            assert USERS[3] not in said

    def change(self, which: str, **spec: Any) -> None:
        document = msgspec.to_builtins(self.found[which])
        self.found[which] = msgspec.convert(document | {"spec": document["spec"] | spec}, ScheduleException)
        self.settle()

    def write(self, which: str, **status: Any) -> None:
        document = msgspec.to_builtins(self.found[which])
        merged = document | {"status": document["status"] | status}
        self.found[which] = msgspec.convert(merged, ScheduleException)

    def settle(self) -> None:
        """Look at all until none changes; that must not take long."""
        for _ in range(9):
            if not [which for which in NAMES if self.look(which)]:
                return
        raise AssertionError("they never come to rest")

    def look(self, which: str) -> bool:
        before = self.found[which]
        seen = Seen(
            exception=before,
            plan=PLAN,
            others=tuple(one for key, one in self.found.items() if key != which),
            people={user: Person(user, user) for user in USERS},
            problems=tuple(check_exception(before.spec)),
            rules=Rules(patience_hours=24 * 10),
        )
        status = decide(seen, self.now).status
        assert status is not None
        assert status.history[: len(before.status.history)] == before.status.history
        if before.status.state in FINAL:
            assert status.state == before.status.state
        if before.status.approval_state in {"Approved", "Rejected"}:
            assert status.approval_state == before.status.approval_state
        self.found[which] = msgspec.structs.replace(before, status=status)
        return status != before.status


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
