"""Whose decision counts for an exception, and until when."""

import msgspec
from whenever import Instant

from decisions.exception_seen import BOTH, NOW, PEOPLE, actions, after, changed, exception, look, said
from decisions.policies import MANAGER, policy
from hibernator.decisions.scheduleexception_request import Rules, needs_approval, request_of


def test_an_exception_that_needs_approval_waits_for_everyone_by_name() -> None:
    status = after(exception(**BOTH)).status
    assert (status.state, status.approval_state, status.approval_progress) == ("Pending", "Pending", "0/2")
    assert status.message == "Waits for the approval of bob@company.com, carol@company.com."
    assert (status.requested_by, status.requested_at) == ("alice", NOW.to_stdlib())
    assert [(one.email, one.status) for one in status.required_approvals] == [
        ("bob@company.com", "pending"),
        ("carol@company.com", "pending"),
    ]


def test_the_on_call_engineer_workflow_ends_active_with_its_whole_history() -> None:
    later = NOW.add(hours=1)
    found = after(said(after(exception(**BOTH)), "approve", "bob", channel="slack"), now=later)
    assert (found.status.state, found.status.approval_progress) == ("Pending", "1/2")
    found = after(said(found, "approve", "carol"), now=later)
    assert (found.status.state, found.status.approval_state) == ("Active", "Approved")
    assert actions(found) == [
        ("requested", "alice"),
        ("approved", "bob"),
        ("approved", "carol"),
        ("activated", "hibernator"),
    ]
    assert found.status.history[1].channel == "slack"


def test_a_role_is_noted_with_the_approval() -> None:
    asked = after(exception(approvalRequired=True, approvalRequiredRoles=["manager"]))
    found = after(said(asked, "approve", "carol"))
    assert found.status.history[1].role == "manager"


def test_a_rejection_ends_it_with_name_time_and_reason() -> None:
    found = after(said(after(exception(**BOTH)), "reject", "carol", reason="freeze"), now=NOW.add(hours=1))
    assert (found.status.state, found.status.approval_state) == ("Rejected", "Rejected")
    assert found.status.message == "Rejected by carol at 2026-01-29T11:00:00Z: freeze"


def test_what_is_said_after_the_end_changes_nothing_and_is_on_record() -> None:
    found = after(said(after(exception(**BOTH)), "reject", "carol"))
    later = after(said(found, "approve", "bob", approvedAt="2026-01-29T10:00:01Z"), now=NOW.add(hours=2))
    assert later.status.state == "Rejected"
    assert actions(later) == [*actions(found), ("refused", "bob")]
    assert later.status.history[-1].reason.startswith("DecidedBefore: It was rejected already, by carol")


def test_who_speaks_after_the_deadline_gains_nothing_by_an_earlier_date() -> None:
    """The operator was away meanwhile: it cannot know when it was said, and does not take anybody's word."""
    asked = after(exception(**BOTH, validUntil="2026-04-20T00:00:00Z"))
    late = asked
    for user in ("bob", "carol"):
        late = said(late, "approve", user, approvedAt="2026-01-29T10:00:01Z")
    found = after(late, now=NOW.add(hours=31 * 24))
    assert (found.status.state, found.status.conditions[0].reason) == ("Rejected", "ApprovalTimeout")
    assert [action for action, _ in actions(found)].count("refused") == 2


def test_what_was_heard_in_time_stays_in_time() -> None:
    found = after(said(after(exception(**BOTH)), "approve", "bob"), now=NOW.add(hours=1))
    found = after(said(found, "approve", "carol", approvedAt="2030-01-01T00:00:00Z"), now=NOW.add(hours=2))
    assert found.status.approval_state == "Approved"
    assert [entry.timestamp.hour for entry in found.status.history if entry.action == "approved"] == [11, 12]


def test_no_one_overtakes_a_rejection_by_an_earlier_date() -> None:
    asked = after(exception(**BOTH, approvalThreshold=1))
    rejected = said(asked, "reject", "carol", rejectedAt="2026-01-29T10:20:00Z")
    both = said(rejected, "approve", "bob", approvedAt="2026-01-29T10:00:01Z")
    assert after(both, now=NOW.add(hours=1)).status.state == "Rejected"


def test_a_decision_that_does_not_count_is_told_with_why() -> None:
    found = after(said(after(exception(**BOTH)), "approve", "alice"))
    assert found.status.state == "Pending"
    assert (
        "The decision of alice was not counted. alice requested it and cannot approve it"
        in found.status.message
    )
    assert actions(found) == [("requested", "alice"), ("refused", "alice")]
    assert found.status.history[-1].reason.startswith("OwnRequest: alice requested it")


def test_an_approval_of_another_spec_or_object_does_not_count() -> None:
    asked = after(exception(**BOTH))
    for stale in ({"uid": "other"}, {"specHash": "sha256:other"}):
        assert after(said(asked, "approve", "bob", **stale)).status.approval_progress == "0/2"


def test_no_one_approves_what_no_one_is_known_to_have_asked_for() -> None:
    found = exception(**BOTH)
    metadata = msgspec.structs.replace(found.metadata, annotations={})
    found = said(msgspec.structs.replace(found, metadata=metadata), "approve", "bob")
    status = after(said(found, "approve", "carol")).status
    assert (status.state, status.conditions[0].reason) == ("Pending", "RequesterUnknown")
    assert status.approval_progress == "0/2"


def test_without_an_answer_it_is_rejected_after_thirty_days() -> None:
    found = after(exception(**BOTH, validUntil="2026-04-01T00:00:00Z"))
    deadline = NOW.add(hours=30 * 24)
    assert look(found, now=deadline.subtract(seconds=5)).after == 5.0
    status = after(found, now=deadline).status
    assert (status.state, status.conditions[0].reason) == ("Rejected", "ApprovalTimeout")
    assert [entry.reason for entry in status.history if entry.action == "rejected"] == ["ApprovalTimeout"]


def test_the_patience_is_a_setting() -> None:
    found = after(exception(**BOTH))
    impatient = after(found, now=NOW.add(hours=1), rules=Rules(patience_hours=1))
    assert impatient.status.state == "Rejected"


def test_what_no_one_approved_in_its_time_expires() -> None:
    found = after(exception(**BOTH, validUntil="2026-02-01T00:00:00Z"))
    over = after(found, now=Instant(found.spec.valid_until)).status
    assert (over.state, over.applied_at) == ("Expired", None)
    assert over.message == "Its time ended at 2026-02-01T00:00:00Z before it became active."


def test_an_approval_given_to_a_draft_does_not_count_for_what_it_became() -> None:
    draft = said(after(exception(**BOTH, draft=True)), "approve", "bob")
    submitted = after(changed(draft, draft=False, type="replace"))
    assert submitted.status.approval_progress == "0/2"


def test_what_was_agreed_to_becomes_active_only_once_it_is_on_record() -> None:
    asked = after(exception(**BOTH), on_record=False)
    assert asked.status.conditions[0].reason == "AwaitingApproval"
    agreed = after(said(said(asked, "approve", "bob"), "approve", "carol"), on_record=False)
    assert (agreed.status.state, agreed.status.approval_state) == ("Approved", "Approved")
    assert agreed.status.conditions[0].reason == "AwaitingRecord"
    assert look(agreed, on_record=False).after == 10.0
    away = look(agreed, on_record=False, away=True).status
    assert away is not None
    assert away.message.startswith("Everyone has agreed, but the audit database cannot be used now")
    assert after(agreed).status.state == "Active"


def test_where_no_approver_is_named_an_approval_is_missing_all_the_same() -> None:
    """The API server refuses such an exception; one that is there waits, and does not become active."""
    found = after(exception(approvalRequired=True))
    assert (found.status.state, found.status.approval_progress) == ("Pending", "0/1")


def test_people_are_asked_because_the_exception_or_a_policy_says_so() -> None:
    assert needs_approval(exception(**BOTH))
    assert needs_approval(after(exception(), policies=(policy(**MANAGER),)))
    assert not needs_approval(after(exception()))


def test_an_approval_that_is_noted_without_a_number_needs_one() -> None:
    """As an earlier version noted it down, once it is settled and policies are not asked any more."""
    found = after(exception(), policies=(policy(require={"roles": ["manager", "owner"], "threshold": 2}),))
    noted = [msgspec.structs.replace(one, needed=None) for one in found.status.required_approvals]
    status = msgspec.structs.replace(found.status, required_approvals=tuple(noted))
    request = request_of(msgspec.structs.replace(found, status=status), PEOPLE["alice"], NOW, Rules())
    assert request.needs == (("four-eyes", 1),)
