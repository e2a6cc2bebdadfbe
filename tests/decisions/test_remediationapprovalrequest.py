"""How a request for approval ends."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from whenever import Instant

from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.decisions.journal import CHANGED_BY, note
from hibernator.decisions.person import Absence, Person
from hibernator.decisions.remediationapprovalrequest import Decision, decide
from hibernator.decisions.remediationapprovalrequest_votes import Seen

NOW = Instant("2026-03-02T08:05:00Z")
DEADLINE = Instant("2026-03-02T08:15:00Z")
BOB = Person("bob", "bob@company.com")
LEVELS = [
    {"level": "L1", "emails": ["bob@company.com"], "roles": ["sre"]},
    {"level": "L2", "roles": ["lead"]},
]


def condition(word: str, message: str = "") -> dict[str, Any]:
    return {
        "type": word,
        "status": "True",
        "reason": "Decided",
        "message": message,
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }


def request(*words: str, by: str = "bob", spec: Any = None, **status: Any) -> RemediationApprovalRequest:
    document = {
        "metadata": {"name": "oom-1", "namespace": "shop", "uid": "r1", "generation": 1},
        "spec": {
            "aiAnalysisRef": {"name": "oom"},
            "approvalContext": {"confidence": 0.7},
            "requiredBy": "2026-03-02T08:15:00Z",
        }
        | (spec or {}),
        "status": {
            "conditions": [condition(word, "fine") for word in words],
            "decidedBy": by if words else "",
        }
        | status,
    }
    return msgspec.convert(document, RemediationApprovalRequest)


def asked(
    found: RemediationApprovalRequest, now: Instant = NOW, person: Person = BOB, **seen: Any
) -> Decision:
    return decide(Seen(request=found, person=person, **seen), now)


MALLORY = Person("mallory", "mallory@company.com")


@pytest.mark.parametrize(
    "author",
    [BOB, Person("b-2", "bob+ai@company.com"), Person("b-2", extra=(("upn", "x@y.z bob@company.com"),))],
)
def test_who_wrote_the_analysis_does_not_approve_it(author: Person) -> None:
    status = asked(request("Approved"), author=author).status
    assert status is not None
    assert (status.decision, status.refused[0].reason) == ("", "OwnRequest")
    assert "bob requested it and cannot approve it: ask another approver." in status.message


def test_who_wrote_the_analysis_may_reject_it_and_others_may_approve_it() -> None:
    for found, author in ((request("Rejected"), BOB), (request("Approved"), MALLORY)):
        status = asked(found, author=author).status
        assert status is not None
        assert status.decision == found.status.conditions[0].type


def test_where_no_one_knows_the_author_or_the_operator_was_told_so_anybody_approves() -> None:
    cases: tuple[dict[str, Any], ...] = ({}, {"author": BOB, "own_allowed": True})
    for seen in cases:
        status = asked(request("Approved"), **seen).status
        assert status is not None
        assert status.decision == "Approved"


def escalating() -> dict[str, Any]:
    return {"approvers": LEVELS, "escalateAt": "2026-03-02T08:10:00Z"}


@pytest.mark.parametrize("word", ["Approved", "Rejected"])
def test_a_condition_becomes_the_decision_with_what_the_operator_knows_about_it(word: str) -> None:
    status = asked(request(word, decidedAt="2001-01-01T00:00:00Z", decisionMessage="forged")).status
    assert status
    assert (status.decision, status.decided_by, status.decided_via) == (word, "bob", "api")
    assert status.decided_at == NOW.to_stdlib()
    assert status.decision_message == "fine"


def test_time_runs_out_on_the_second() -> None:
    found = request()
    assert asked(found, DEADLINE.subtract(seconds=1)).after == 1.0
    decision = asked(found, DEADLINE)
    assert decision.status
    assert (decision.status.decision, decision.status.decided_at) == ("Expired", DEADLINE.to_stdlib())
    assert [tell.reason for tell in decision.notices] == ["Expired"]


def test_a_decision_that_was_made_in_time_counts_also_when_it_is_seen_later() -> None:
    accepted = DEADLINE.subtract(seconds=1)
    status = asked(request("Approved"), DEADLINE.add(hours=1), accepted_at=accepted).status
    assert status
    assert (status.decision, status.decided_at) == ("Approved", accepted.to_stdlib())


@pytest.mark.parametrize("accepted", [DEADLINE, None])
def test_a_decision_after_the_deadline_is_too_late_whatever_time_it_claims(accepted: Instant | None) -> None:
    status = asked(request("Approved"), DEADLINE.add(hours=1), accepted_at=accepted).status
    assert status
    assert (status.decision, status.decided_by) == ("Expired", "")
    [late] = status.refused
    assert (late.by, late.decision, late.reason) == ("bob", "Approved", "TooLate")
    assert status.message.endswith("The decision of bob came too late.")


def test_a_late_decision_without_a_name_is_said_to_have_none() -> None:
    status = asked(request("Approved", by=""), DEADLINE.add(hours=1)).status
    assert status
    assert status.decision == "Expired"
    assert "The decision of an unknown user came too late." in status.message


def test_the_first_decision_is_final() -> None:
    over = request("Approved", decision="Approved", observedGeneration=1)
    assert asked(over, DEADLINE.add(hours=1)) == Decision(status=over.status)


@pytest.mark.parametrize(
    ("person", "counts"),
    [
        (BOB, True),
        (Person("bob2", "BOB@Company.com"), True),
        (Person("eve", "eve@company.com", frozenset({"sre"})), True),
        (Person("ann", "", frozenset({"lead"})), True),  # the second level need not wait to be asked
        (Person("eve", "eve@company.com"), False),
        (Person("eve", "", frozenset({"*"})), False),
    ],
)
def test_only_those_who_are_asked_count(person: Person, *, counts: bool) -> None:
    status = asked(request("Approved", by=person.user, spec=escalating()), person=person).status
    assert status
    assert (status.decision == "Approved") == counts
    assert [refused.reason for refused in status.refused] == ([] if counts else ["NotAsked"])


def test_a_decision_that_does_not_count_is_set_aside_and_others_can_still_decide() -> None:
    found = request("Approved", by="eve", spec=escalating())
    decision = asked(found, person=Person("eve"))
    status = decision.status
    assert status
    assert (status.decision, status.decided_by, status.conditions) == ("", "", ())
    assert [tell.reason for tell in decision.notices] == ["DecisionRefused"]
    later = asked(replace(found, status=status))
    assert later.status
    assert later.status.message.startswith(
        "Waits until 2026-03-02T08:15:00Z for one of bob@company.com, sre."
    )
    assert "The decision of eve was not counted." in later.status.message


def test_a_decision_without_a_name_is_set_aside() -> None:
    status = asked(request("Approved", by=""), person=Person("")).status
    assert status
    assert (status.decision, [refused.reason for refused in status.refused]) == ("", ["Nameless"])
    assert "status.decidedBy" in status.refused[0].message


def test_no_more_refusals_are_kept_than_fit() -> None:
    refused = [
        {"by": f"eve-{n}", "decision": "Approved", "at": "2026-03-02T08:00:00Z", "reason": "NotAsked"}
        for n in range(10)
    ]
    found = request("Rejected", by="mallory", spec=escalating(), refused=refused)
    status = asked(found, person=Person("mallory")).status
    assert status
    assert [one.by for one in status.refused] == [f"eve-{n}" for n in range(1, 10)] + ["mallory"]


def test_other_conditions_are_left_alone() -> None:
    status = asked(request("Approved", "Noted", by="eve", spec=escalating()), person=Person("eve")).status
    assert status
    assert [one.type for one in status.conditions] == ["Noted"]


def test_the_second_level_is_asked_after_its_part_of_the_time() -> None:
    found = request(spec=escalating())
    early = asked(found)
    assert early.status
    assert (early.after, early.status.escalated_at) == (300.0, None)
    assert [tell.reason for tell in early.notices] == ["Waiting"]
    assert "for one of bob@company.com, sre." in early.status.message
    due = Instant("2026-03-02T08:10:00Z")
    decision = asked(replace(found, status=early.status), due)
    assert decision.status
    assert decision.status.escalated_at == due.to_stdlib()
    assert "for one of bob@company.com, sre, lead." in decision.status.message
    assert [tell.reason for tell in decision.notices] == ["Escalated"]
    assert decision.after == 300.0
    assert asked(replace(found, status=decision.status), due).notices == ()


def test_who_set_the_deadline_is_written_down() -> None:
    status = asked(request(), deadline_source="Policy").status
    assert status
    assert status.deadline_source == "Policy"


def test_a_request_that_goes_is_left_alone() -> None:
    found = request("Approved")
    leaving = replace(found, metadata=replace(found.metadata, deletion_timestamp=NOW.to_stdlib()))
    assert asked(leaving) == Decision()


@given(
    words=st.sampled_from([(), ("Approved",), ("Rejected",)]),
    by=st.sampled_from(["bob", "eve", ""]),
    seconds=st.integers(-900, 900),
    accepted=st.none() | st.integers(-900, 900),
)
def test_no_one_is_approved_without_a_decision_in_time_of_someone_asked(
    words: tuple[str, ...], by: str, seconds: int, accepted: int | None
) -> None:
    now = DEADLINE.add(seconds=seconds)
    at = None if accepted is None else DEADLINE.add(seconds=min(accepted, seconds))
    person = BOB if by == "bob" else Person(by)
    found = request(*words, by=by, spec=escalating())
    status = asked(found, now, person, accepted_at=at).status
    assert status
    in_time = (at or now) < DEADLINE
    assert (status.decision == "Approved") == (words == ("Approved",) and by == "bob" and in_time)
    assert (status.decision == "Rejected") == (words == ("Rejected",) and by == "bob" and in_time)
    again = asked(replace(found, status=status), now, person if status.decided_by else Person(""))
    if status.decision:
        assert again == Decision(status=status)
    elif now < DEADLINE:
        assert again.after is not None


def test_a_second_level_without_a_first_is_asked_at_once() -> None:
    status = asked(request(spec={"approvers": [{"level": "L2", "roles": ["lead"]}]})).status
    assert status
    assert "for one of lead." in status.message


def test_the_journal_names_who_decided_and_no_person_where_time_ran_out() -> None:
    for found, now, told in (
        (request("Approved", decidedVia="cli"), NOW, {"approval.given": "bob", "approved": "bob"}),
        (request("Rejected", decidedVia="cli"), NOW, {"rejected": "bob"}),
        (request(), DEADLINE, {"expired": None}),
    ):
        status = asked(found, now).status
        assert status is not None
        people = {one.type: one.data.get("user") for one in status.journal}
        assert people == {"created": ""} | told
        assert {one.at for one in status.journal if one.type != "created"} == {status.decided_at}
        assert {one.data.get("channel") for one in status.journal if one.data.get("user")} <= {"cli"}


@pytest.mark.parametrize(
    ("owned", "author", "by"),
    [(True, "", {"by": "operator"}), (True, "carol", {"user": "carol"}), (False, "", {"user": ""})],
)
def test_a_request_that_the_operator_made_is_recorded_as_its_own(
    author: str, by: dict[str, str], *, owned: bool
) -> None:
    owner = {"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": "u", "controller": True}
    document = msgspec.to_builtins(request())
    document["metadata"] |= {"ownerReferences": [owner] if owned else []}
    if author:
        document["metadata"] |= {"annotations": {CHANGED_BY: note(1, author)}}
    status = asked(msgspec.convert(document, RemediationApprovalRequest)).status
    assert status is not None
    made = status.journal[0]
    assert made.type == "created"
    assert {key: value for key, value in made.data.items() if key in {"by", "user"}} == by


def test_after_a_decision_that_does_not_count_the_request_is_decided_again_at_once() -> None:
    assert asked(request("Approved", spec={"approvers": LEVELS}), person=MALLORY).after == 0.0


def test_an_approval_is_a_normal_event_and_every_other_end_a_warning() -> None:
    ends = (request("Approved"), NOW), (request("Rejected"), NOW), (request(), DEADLINE)
    found = [one.type for end, now in ends for one in asked(end, now).notices]
    assert found == ["Normal", "Warning", "Warning"]


def test_what_people_write_is_cut_to_what_the_api_server_takes() -> None:
    document = msgspec.to_builtins(request())
    document["status"]["conditions"] = [condition("Approved", "w" * 2000)]
    document["status"]["decidedBy"] = "bob"
    status = asked(msgspec.convert(document, RemediationApprovalRequest)).status
    assert status is not None
    assert len(status.decision_message) == 1024


def test_a_deputy_decides_for_who_is_away_and_both_are_named() -> None:
    absence = Absence(BOB, "dave", NOW.subtract(hours=1), NOW.add(hours=1))
    dave = Person("dave", "dave@company.com", deputy_for=(absence,))
    found = request("Approved", by="dave", spec={"approvers": LEVELS})
    status = asked(found, person=dave).status
    assert status is not None
    assert (status.decision, status.decided_by, status.decided_for) == ("Approved", "dave", "bob@company.com")
    assert status.message == "Approved by dave for bob@company.com: fine"
    assert {one.data["onBehalfOf"] for one in status.journal if one.data.get("user") == "dave"} == {
        "bob@company.com"
    }
    late = asked(found, person=dave, now=NOW.add(minutes=5), accepted_at=NOW.subtract(hours=2)).status
    assert late is not None
    assert late.refused[0].reason == "NotAsked"
