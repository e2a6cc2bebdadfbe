"""The journal in an object's status, without a cluster."""

from typing import Any

import msgspec
from hypothesis import given, strategies as st
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import MOST_UNRECORDED, Transition
from hibernator.api.planstatus import HibernatePlanStatus
from hibernator.decisions.hibernateplan_journal import news_of
from hibernator.decisions.journal import News, noted

NOW = Instant("2026-03-02T20:00:00Z")
STAMP = "2026-03-02T20:00:00Z"


@given(passes=st.lists(st.tuples(st.integers(0, 4), st.sets(st.integers(1, 40))), max_size=12))
def test_every_entry_stays_until_it_is_on_record_and_has_a_number_of_its_own(
    passes: list[tuple[int, set[int]]],
) -> None:
    journal: tuple[Transition, ...] = ()
    made, recorded = 0, set[int]()
    for count, told in passes:
        recorded |= {number for number in told if number <= made}
        journal = noted(journal, [News("scaled")] * count, recorded, NOW)
        made += count
        numbers = [one.number for one in journal]
        assert numbers == sorted(set(numbers))
        assert set(range(1, made + 1)) - recorded <= set(numbers)
        assert not made or numbers[-1] == made


def test_an_outage_without_end_costs_the_oldest_entries() -> None:
    journal = noted((), [News("scaled")] * (MOST_UNRECORDED + 3), (), NOW)
    assert [journal[0].number, len(journal)] == [4, MOST_UNRECORDED]


def test_long_messages_of_a_long_outage_stay_below_what_the_api_server_stores() -> None:
    """A status that is too large is refused for ever, and its object stands still."""
    journal = noted((), [News("scaled", "é" * 5000)] * MOST_UNRECORDED, (), NOW)
    assert len(msgspec.json.encode(journal)) < 410_000
    assert journal[-1].number == MOST_UNRECORDED
    assert len(journal) > 40


def test_a_message_is_cut_to_what_the_api_server_takes() -> None:
    assert len(noted((), [News("scaled", "m" * 5000)], (), NOW)[0].message) == 4096


def plan(status: dict[str, Any], **spec: Any) -> HibernatePlan:
    document = {
        "metadata": {"name": "nights", "uid": "u", "generation": 1},
        "spec": {
            "schedule": {"timezone": "UTC", "offHours": []},
            "targets": [{"name": "db", "type": "noop", "parameters": {}}],
        }
        | spec,
        "status": {"observedGeneration": 1} | status,
    }
    return msgspec.convert(document, HibernatePlan)


def told(before: dict[str, Any], after: dict[str, Any], **spec: Any) -> list[tuple[str, str]]:
    status = msgspec.convert({"observedGeneration": 1} | after, HibernatePlanStatus)
    found = news_of(plan(before, **spec), status)
    return [(one.type, one.message) for one in found]


def operation(**more: Any) -> dict[str, Any]:
    return {"startedAt": STAMP, **more}


def target(state: str, **more: Any) -> dict[str, Any]:
    return {"name": "db", "state": state, "attempts": 1, **more}


def test_a_night_is_told_step_by_step() -> None:
    asleep = {"cycle": 1, "history": [{"cycle": 1, "sleep": operation()}], "targets": [target("Running")]}
    assert told({}, asleep) == [("sleep.started", "")]
    again = {**asleep, "targets": [target("Pending", finishedAt=STAMP, message="It slipped.")]}
    assert told(asleep, again) == [("target.failed", "It slipped.")]
    ended = operation(result="Succeeded", finishedAt=STAMP, durationSeconds=4.0)
    done = {
        "cycle": 1,
        "history": [{"cycle": 1, "sleep": ended}],
        "targets": [target("Completed", finishedAt=STAMP)],
    }
    assert told(asleep, done) == [("target.slept", ""), ("sleep.completed", "")]
    awake = {**done, "history": [{"cycle": 1, "sleep": ended, "wake": operation()}], "targets": []}
    assert told(done, awake) == [("wake.started", "")]


def test_an_interruption_is_told_before_what_interrupts() -> None:
    before = {"cycle": 1, "history": [{"cycle": 1, "sleep": operation()}]}
    cut = operation(result="Aborted", finishedAt=STAMP, message="Interrupted.")
    after = {"cycle": 1, "history": [{"cycle": 1, "sleep": cut, "wake": operation()}]}
    assert told(before, after) == [("sleep.interrupted", "Interrupted."), ("wake.started", "")]


def test_what_people_do_to_a_plan_is_told() -> None:
    assert told({"observedGeneration": None}, {}) == [("created", "")]
    assert told({"phase": "Active"}, {"phase": "Suspended"}, suspendReason="freeze") == [
        ("suspended", "freeze")
    ]
    assert told({"phase": "Suspended"}, {"phase": "Active"}) == [("resumed", "")]
    assert told({}, {"retried": "now"}) == [("retried", "")]


def test_a_plan_that_resumes_by_itself_is_not_laid_at_anybodys_door() -> None:
    status = msgspec.convert({"observedGeneration": 1, "phase": "Active"}, HibernatePlanStatus)
    resumed = news_of(plan({"phase": "Suspended"}, suspend=True), status)
    assert [(one.type, one.data) for one in resumed] == [("resumed", {"by": "suspendUntil"})]


def by_whom(before: dict[str, Any], after: dict[str, Any], generation: int, **notes: str) -> dict[str, Any]:
    """Who did it, by what happened, for a plan of a generation with these annotations."""
    document = msgspec.to_builtins(plan(before))
    named = {f"hibernator.ardikabs.com/{key.replace('_', '-')}": value for key, value in notes.items()}
    document["metadata"] |= {"generation": generation, "annotations": named}
    status = msgspec.convert({"observedGeneration": generation} | after, HibernatePlanStatus)
    found = news_of(msgspec.convert(document, HibernatePlan), status)
    return {one.type: one.data.get("user", "") for one in found}


def test_who_made_the_generation_is_who_suspended_and_resumed() -> None:
    active, suspended = {"phase": "Active"}, {"phase": "Suspended"}
    alice = {"changed": "alice", "suspended": "alice"}
    assert by_whom(active, suspended, 2, changed_by="2 alice") == alice
    assert by_whom(suspended, active, 2, changed_by="2 bob") == {"changed": "bob", "resumed": "bob"}
    new = {"observedGeneration": None}
    assert by_whom(new, suspended, 1, changed_by="1 al ice") == {"created": "al ice", "suspended": "al ice"}


def test_a_note_about_another_generation_counts_for_nothing() -> None:
    active, suspended = {"phase": "Active"}, {"phase": "Suspended"}
    for stale in ("1 alice", "3 alice", "22 alice", "2", "", "alice"):
        assert by_whom(active, suspended, 2, changed_by=stale) == {"changed": "", "suspended": ""}


def test_of_several_changes_at_once_only_the_last_has_an_author() -> None:
    active, suspended = {"phase": "Active"}, {"phase": "Suspended"}
    assert by_whom(active, suspended, 3, changed_by="3 bob") == {"changed": "bob", "suspended": ""}
    # A plan that is suspended only now, because something else was in the way when it was changed.
    assert by_whom({"observedGeneration": 3}, suspended, 3, changed_by="3 bob") == {"suspended": ""}
    new = {"observedGeneration": None}
    assert by_whom(new, suspended, 2, changed_by="2 bob") == {"created": "", "suspended": ""}
    assert by_whom(new, active, 2, changed_by="1 alice") == {"created": "alice"}


def test_who_asked_for_a_retry_is_known_if_it_is_this_one() -> None:
    asked = {"retried": "now"}
    assert by_whom({}, asked, 1, retry="now", retried_by="now bob") == {"retried": "bob"}
    assert by_whom({}, asked, 1, retry="now", retried_by="then bob") == {"retried": ""}
    assert by_whom({}, asked, 1, retry="now") == {"retried": ""}


def test_exceptions_are_told_when_they_begin_and_end_to_bend_it() -> None:
    entry = {"name": "party", "type": "suspend", "validFrom": STAMP, "validUntil": STAMP, "state": "Active"}
    assert told({}, {"activeExceptions": [entry]}) == [("exception.applied", "")]
    over = {**entry, "state": "Expired"}
    assert told({"activeExceptions": [entry]}, {"activeExceptions": [over]}) == [("exception.ended", "")]
