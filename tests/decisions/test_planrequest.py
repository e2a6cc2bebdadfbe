"""What becomes of what people ask on the page of a plan: once, in their name, or with a sentence why not."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from whenever import Instant, TimeDelta

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.planrequest import PLAN_REQUESTS, PlanRequest
from hibernator.controllers.journal_audit import events
from hibernator.decisions.hibernateplan_case import RETRY
from hibernator.decisions.hibernateplan_change import RESUMED, retried, suspended
from hibernator.decisions.journal import CHANGED_BY, RETRIED_BY, author
from hibernator.decisions.planrequest import CARRIED_OUT, KEPT, RECORD_SECONDS, Decision, Seen, decide
from hibernator.decisions.scheduleexception_request import REQUESTED_BY

NOW = Instant("2026-03-02T08:00:00Z")
ALICE = "alice@company.com"
SOON, PAST = "2026-03-02T17:00:00Z", "2026-03-02T07:59:00Z"
FAILED = {"targets": [{"name": "db", "state": "Failed"}, {"name": "web", "state": "Completed"}]}
SUSPENDED: dict[str, Any] = {"suspend": True}


def plan(
    status: Mapping[str, Any] | None = None, metadata: Mapping[str, Any] | None = None, **spec: Any
) -> HibernatePlan:
    document = {
        "metadata": {"name": "dev", "namespace": "shop", "uid": "p-1", "generation": 3, **(metadata or {})},
        "spec": {"schedule": {"timezone": "Europe/Berlin", "offHours": []}, "targets": [], **spec},
        "status": status or {},
    }
    return msgspec.convert(document, HibernatePlan)


def request(action: str = "Suspend", uid: str = "r-1", **spec: Any) -> PlanRequest:
    metadata = {
        "name": f"dev-{uid}",
        "namespace": "shop",
        "uid": uid,
        "generation": 1,
        "creationTimestamp": "2026-03-02T07:59:58Z",
        "annotations": {REQUESTED_BY: ALICE},
    }
    body = {"plan": {"name": "dev", "uid": "p-1"}, "action": action, **spec}
    return msgspec.convert({"metadata": metadata, "spec": body}, PlanRequest)


def look(
    asked: PlanRequest, found: HibernatePlan | None, now: Instant = NOW, age: TimeDelta = TimeDelta.ZERO
) -> Decision:
    return decide(Seen(request=asked, plan=found, age=age), now)


def after(asked: PlanRequest, decision: Decision) -> PlanRequest:
    assert decision.status
    return msgspec.structs.replace(asked, status=decision.status)


def patched(found: HibernatePlan, change: Mapping[str, Any], *, by: str = "") -> HibernatePlan:
    """The plan as the API server has it then; `by` is who changes it with a command."""
    document = _merged(msgspec.to_builtins(found), change)
    metadata = document["metadata"]
    if document["spec"] != msgspec.to_builtins(found)["spec"]:
        metadata["generation"] += 1
        if by:
            metadata.setdefault("annotations", {})[CHANGED_BY] = f"{metadata['generation']} {by}"
    return msgspec.convert(document, HibernatePlan)


def _merged(document: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(document)
    for key, value in change.items():
        if isinstance(value, Mapping):
            found[key] = _merged(found.get(key, {}), value)
        elif value is None:
            found.pop(key, None)
        else:
            found[key] = value
    return found


@pytest.mark.parametrize(
    ("asked", "found", "same", "says"),
    [
        (request(), plan(), suspended(None, ""), "dev is suspended."),
        (
            request(until=SOON, reason="A load test."),
            plan(),
            suspended(Instant(SOON), "A load test."),
            "dev is suspended until Mon 2026-03-02 18:00 Europe/Berlin.",
        ),
        (
            request(),
            plan(suspend=True, suspendUntil=PAST),
            suspended(None, ""),
            "dev is suspended.",
        ),
        (request("Resume"), plan(**SUSPENDED), RESUMED, "dev follows its schedule."),
        (request("Retry"), plan(FAILED), retried(NOW), "dev tries again what failed."),
    ],
)
def test_it_is_the_patch_of_the_command_with_the_person_as_its_author(
    asked: PlanRequest, found: HibernatePlan, same: Mapping[str, Any], says: str
) -> None:
    decision = look(asked, found)
    assert decision.change
    changed = patched(found, decision.change)
    assert changed.spec == patched(found, same).spec
    assert changed.metadata.annotations[CARRIED_OUT] == "r-1"
    if asked.spec.action == "Retry":
        moment = changed.metadata.annotations[RETRY]
        assert moment == patched(found, same).metadata.annotations[RETRY]
        assert author(changed.metadata, moment, RETRIED_BY) == ALICE
    else:
        assert author(changed.metadata, changed.metadata.generation) == ALICE
    status = after(asked, decision).status
    assert (status.state, status.message) == ("Done", says)
    assert [(one.type, one.status, one.reason) for one in status.conditions] == [
        ("Ready", "True", "CarriedOut")
    ]


@pytest.mark.parametrize(
    ("asked", "found", "age", "reason", "says"),
    [
        (request(), None, 0, "PlanGone", "dev is gone: nothing was changed"),
        (request(), plan(metadata={"uid": "p-2"}), 0, "PlanGone", "is another plan of that name"),
        (
            request(),
            plan(metadata={"deletionTimestamp": "2026-03-02T07:00:00Z"}),
            0,
            "PlanGone",
            "dev is being deleted",
        ),
        (request(), plan(), 601, "TooOld", "within 10 minutes: nothing was changed. Ask again."),
        (request(until=PAST), plan(), 0, "UntilPast", "Mon 2026-03-02 08:59 Europe/Berlin is past"),
        (request(until="2026-03-02T08:00:00Z"), plan(), 0, "UntilPast", "09:00 Europe/Berlin is past"),
        (request(), plan(**SUSPENDED), 0, "AlreadySuspended", "resume it first"),
        (request("Resume"), plan(), 0, "NotSuspended", "dev is not suspended"),
        (request("Resume"), plan(suspend=True, suspendUntil=PAST), 0, "NotSuspended", "dev is not suspended"),
        (request("Retry"), plan(), 0, "NothingFailed", "Nothing of dev has failed for good"),
        (
            request("Retry"),
            plan(FAILED | {"currentOperation": "Wake"}),
            0,
            "NothingFailed",
            "Nothing of dev has failed for good",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence_and_changes_nothing(
    asked: PlanRequest, found: HibernatePlan | None, age: int, reason: str, says: str
) -> None:
    decision = look(asked, found, age=TimeDelta(seconds=age))
    assert decision.change is None
    status = after(asked, decision).status
    assert status.state == "Refused"
    assert says in status.message
    [notice] = decision.notices
    assert (notice.type, notice.reason, notice.message) == ("Warning", reason, status.message)
    assert (status.conditions[0].status, status.conditions[0].reason) == ("False", reason)


def test_an_operator_that_is_back_after_ten_minutes_carries_it_out() -> None:
    assert look(request(), plan(), age=TimeDelta(minutes=10)).change


def test_a_plan_remembers_the_last_sixteen_requests() -> None:
    many = " ".join(f"r-{number}" for number in range(2, 30))
    change = look(request(), plan(metadata={"annotations": {CARRIED_OUT: many}})).change
    assert change
    assert change["metadata"]["annotations"][CARRIED_OUT].split() == [f"r-{one}" for one in range(1, 17)]


def test_an_operator_that_died_after_the_patch_finds_out_and_does_not_repeat_it() -> None:
    asked, found = request(until=SOON), plan()
    first = look(asked, found)
    assert first.change
    found = patched(found, first.change)  # and nobody wrote the status
    found = patched(found, RESUMED, by="bob")
    again = look(asked, found, now=Instant("2026-03-02T23:00:00Z"), age=TimeDelta(hours=15))
    assert again.change is None
    assert again.status
    assert again.status.state == "Done"


def test_the_trail_tells_who_asked_and_what_the_operator_made_of_it() -> None:
    done = after(asked := request(reason="A load test."), look(asked, plan()))
    made, end = events(PLAN_REQUESTS, done)
    assert (made.type, made.actor.id, made.channel) == ("planrequest.created", ALICE, "dashboard")
    assert msgspec.json.decode(made.data) == {"plan": "dev", "action": "Suspend", "reason": "A load test."}
    assert made.time == Instant("2026-03-02T07:59:58Z")
    assert (end.type, end.actor.type, end.outcome) == ("planrequest.done", "operator", "success")
    refused = after(asked, look(asked, None))
    [_, why] = events(PLAN_REQUESTS, refused)
    assert (why.type, why.outcome, why.error) == ("planrequest.refused", "denied", refused.status.message)


def test_what_is_finished_stays_for_an_hour_and_then_goes() -> None:
    done = after(asked := request(), look(asked, plan()))
    waits = look(done, None, NOW + TimeDelta(minutes=59))
    assert waits == Decision(after=60.0)
    numbers = frozenset(entry.number for entry in done.status.journal)
    assert decide(Seen(request=done, recorded=numbers), NOW + KEPT).over
    going = {"name": "dev-r-1", "uid": "r-1", "deletionTimestamp": "2026-03-02T08:00:00Z"}
    metadata = msgspec.convert(going, type(asked.metadata))
    assert look(msgspec.structs.replace(asked, metadata=metadata), plan()) == Decision()


def test_what_the_audit_trail_does_not_have_yet_stays() -> None:
    done = after(asked := request(), look(asked, plan()))
    first, *_ = (entry.number for entry in done.status.journal)
    late = NOW + KEPT + TimeDelta(hours=24)
    assert decide(Seen(request=done), late) == Decision(after=RECORD_SECONDS)
    assert decide(Seen(request=done, recorded=frozenset({first})), late) == Decision(after=RECORD_SECONDS)


@given(st.lists(st.tuples(st.integers(0, 7), st.booleans(), st.sampled_from(("", "suspend", "resume")))))
def test_each_request_changes_the_plan_at_most_once_whoever_dies_and_whatever_others_do(
    looks: list[tuple[int, bool, str]],
) -> None:
    asked = {n: request(("Suspend", "Resume")[n % 2], uid=f"r-{n}") for n in range(8)}
    found, changes = plan(), dict.fromkeys(asked, 0)
    for number, dies, others in looks:
        decision = look(asked[number], found)
        if decision.change:
            found = patched(found, decision.change)
            changes[number] += 1
        if decision.status and not dies:
            asked[number] = after(asked[number], decision)
            is_done = decision.status.state == "Done"
            assert changes[number] == (1 if is_done else 0)
        if others:
            found = patched(found, suspended(None, "") if others == "suspend" else RESUMED, by="bob")
    assert set(changes.values()) <= {0, 1}
