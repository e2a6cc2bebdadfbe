"""Where an exception is, case by case, without a cluster."""

from typing import Any

import msgspec
import pytest
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.planstatus import ActiveException
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.approval import Person
from hibernator.decisions.impact import impact
from hibernator.decisions.scheduleexception import FINALIZER, PLAN_LABEL, Decision, Seen, decide
from hibernator.decisions.scheduleexception_request import REQUESTED_BY, Rules, spec_hash
from hibernator.schedule.problems import check_exception

NOW = Instant.from_utc(2026, 1, 29, 10)
PEOPLE = {
    "bob": Person("bob", "bob@company.com"),
    "carol": Person("carol", "carol@company.com", frozenset({"manager"})),
    "alice": Person("alice", "alice@company.com"),
}
BOTH: dict[str, Any] = {"approvalRequired": True, "approverEmails": ["bob@company.com", "carol@company.com"]}
PLAN = msgspec.convert(
    {
        "metadata": {"name": "event-support"},
        "spec": {
            "schedule": {
                "timezone": "UTC",
                "offHours": [
                    {"start": "20:00", "end": "06:00", "daysOfWeek": ["MON", "TUE", "WED", "THU", "FRI"]}
                ],
            },
            "targets": [],
        },
    },
    HibernatePlan,
)


def exception(name: str = "on-site-event", *, created: str = "2026-01-29T09:00:00Z", **spec: Any) -> Any:
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "generation": 1,
                "creationTimestamp": created,
                "annotations": {REQUESTED_BY: "alice"},
                "labels": {PLAN_LABEL: "event-support"},
                "finalizers": [FINALIZER],
            },
            "spec": {
                "planRef": {"name": "event-support"},
                "type": "extend",
                "validFrom": "2026-01-29T00:00:00Z",
                "validUntil": "2026-02-28T23:59:59Z",
                "windows": [{"start": "06:00", "end": "11:00", "daysOfWeek": ["SAT", "SUN"]}],
            }
            | spec,
        },
        ScheduleException,
    )


def look(found: ScheduleException, *others: ScheduleException, now: Instant = NOW, **more: Any) -> Decision:
    seen: dict[str, Any] = {
        "exception": found,
        "plan": PLAN,
        "others": others,
        "people": PEOPLE,
        "problems": tuple(check_exception(found.spec)),
    }
    return decide(Seen(**(seen | more)), now)


def after(found: ScheduleException, *others: ScheduleException, **more: Any) -> ScheduleException:
    """The exception as it is stored after a pass, which a second pass leaves alone."""
    decision = look(found, *others, **more)
    stored = msgspec.structs.replace(found, status=decision.status)
    again = look(stored, *others, **more)
    assert again.status == stored.status
    assert not again.tells
    return stored


def said(found: ScheduleException, verdict: str, user: str, **entry: Any) -> ScheduleException:
    """Somebody adds an entry to the status, as a channel does."""
    status = msgspec.to_builtins(found.status)
    if verdict == "approve":
        bound = {"uid": found.metadata.uid, "specHash": spec_hash(found.spec)}
        one = {"approvedBy": user, "approvedAt": "2026-01-29T10:15:00Z", **bound, **entry}
        status.setdefault("approvals", [])
        status["approvals"] = [*status["approvals"], one]
    else:
        one = {"rejectedBy": user, "rejectedAt": "2026-01-29T10:20:00Z", **entry}
        status["rejections"] = [*status.get("rejections", []), one]
    return msgspec.convert(msgspec.to_builtins(found) | {"status": status}, ScheduleException)


def changed(found: ScheduleException, **spec: Any) -> ScheduleException:
    document = msgspec.to_builtins(found)
    return msgspec.convert(document | {"spec": document["spec"] | spec}, ScheduleException)


def actions(found: ScheduleException) -> list[tuple[str, str]]:
    return [(entry.action, entry.actor) for entry in found.status.history]


def test_without_approval_it_is_active_as_soon_as_it_is_seen() -> None:
    status = after(exception()).status
    assert (status.state, status.approval_state) == ("Active", None)
    assert status.applied_at == NOW.to_stdlib()
    assert status.message == (
        "Bends HibernatePlan event-support from 2026-01-29T00:00:00Z until 2026-02-28T23:59:59Z."
    )


def test_it_is_active_before_its_validity_too() -> None:
    found = after(exception(validFrom="2026-02-01T00:00:00Z"))
    assert found.status.state == "Active"


def test_it_expires_on_the_second() -> None:
    found = after(exception())
    end = Instant(found.spec.valid_until)
    almost = look(found, now=end.subtract(seconds=1))
    assert (almost.status and almost.status.state, almost.after) == ("Active", 1.0)
    over = after(found, now=end)
    assert (over.status.state, over.status.expired_at) == ("Expired", found.spec.valid_until)
    assert actions(over) == [("requested", "alice"), ("activated", "hibernator"), ("expired", "hibernator")]
    assert look(over, now=end).after is None


def test_it_looks_again_at_least_once_a_day() -> None:
    assert look(exception()).after == 86_400.0


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


def test_nobody_overtakes_a_rejection_by_an_earlier_date() -> None:
    asked = after(exception(**BOTH, approvalThreshold=1))
    rejected = said(asked, "reject", "carol", rejectedAt="2026-01-29T10:20:00Z")
    both = said(rejected, "approve", "bob", approvedAt="2026-01-29T10:00:01Z")
    assert after(both, now=NOW.add(hours=1)).status.state == "Rejected"


def test_a_word_that_does_not_count_is_told_with_why() -> None:
    found = after(said(after(exception(**BOTH)), "approve", "alice"))
    assert found.status.state == "Pending"
    assert (
        "The word of alice does not count. alice asked for it and cannot approve it" in found.status.message
    )
    assert actions(found) == [("requested", "alice"), ("refused", "alice")]
    assert found.status.history[-1].reason.startswith("OwnRequest: alice asked for it")


def test_an_approval_of_another_spec_or_object_does_not_count() -> None:
    asked = after(exception(**BOTH))
    for stale in ({"uid": "other"}, {"specHash": "sha256:other"}):
        assert after(said(asked, "approve", "bob", **stale)).status.approval_progress == "0/2"


def test_nobody_approves_what_nobody_is_known_to_have_asked_for() -> None:
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


def test_what_nobody_approved_in_its_time_expires() -> None:
    found = after(exception(**BOTH, validUntil="2026-02-01T00:00:00Z"))
    over = after(found, now=Instant(found.spec.valid_until)).status
    assert (over.state, over.applied_at) == ("Expired", None)
    assert over.message == "Its time ended at 2026-02-01T00:00:00Z before it became active."


def test_a_draft_does_nothing_until_it_is_submitted() -> None:
    draft = after(exception(**BOTH, draft=True))
    assert (draft.status.state, draft.status.requested_at, draft.status.approval_state) == (
        "Draft",
        None,
        None,
    )
    submitted = after(changed(draft, draft=False), now=NOW.add(hours=1))
    assert (submitted.status.state, submitted.status.requested_at) == (
        "Pending",
        NOW.add(hours=1).to_stdlib(),
    )
    assert actions(submitted) == [("requested", "alice"), ("submitted", "alice")]


def test_an_approval_given_to_a_draft_does_not_count_for_what_it_became() -> None:
    draft = said(after(exception(**BOTH, draft=True)), "approve", "bob")
    submitted = after(changed(draft, draft=False, type="replace"))
    assert submitted.status.approval_progress == "0/2"


@pytest.mark.parametrize("made", [{}, BOTH, BOTH | {"draft": True}])
def test_it_can_be_called_off_from_every_state_but_the_last(made: dict[str, Any]) -> None:
    found = after(changed(after(exception(**made)), cancelled=True))
    assert found.status.state == "Cancelled"
    assert actions(found)[-1] == ("cancelled", "alice")


def test_a_rejected_one_can_be_called_off_and_an_expired_one_cannot() -> None:
    rejected = after(said(after(exception(**BOTH)), "reject", "carol"))
    assert after(changed(rejected, cancelled=True)).status.state == "Cancelled"
    expired = after(after(exception()), now=Instant(exception().spec.valid_until))
    assert after(changed(expired, cancelled=True)).status.state == "Expired"


def test_a_second_one_waits_with_the_sentence_of_the_document_and_takes_over() -> None:
    first = after(exception("first"))
    second = after(exception("second", created="2026-01-29T08:00:00Z"), first)
    assert second.status.state == "Pending"
    assert second.status.message == (
        "Plan event-support already has active exception first (expires at 2026-02-28T23:59:59Z)"
    )
    gone = after(changed(first, cancelled=True))
    assert after(second, gone).status.state == "Active"


def test_an_approved_one_waits_as_approved() -> None:
    first = after(exception("first"))
    asked = after(exception("second", **BOTH), first)
    agreed = after(said(said(asked, "approve", "bob"), "approve", "carol"), first)
    assert (agreed.status.state, agreed.status.approval_state) == ("Approved", "Approved")
    assert "already has active exception first" in agreed.status.message


def test_what_was_agreed_to_becomes_active_only_once_it_is_on_record() -> None:
    asked = after(exception(**BOTH), recorded=False)
    assert asked.status.conditions[0].reason == "AwaitingApproval"
    agreed = after(said(said(asked, "approve", "bob"), "approve", "carol"), recorded=False)
    assert (agreed.status.state, agreed.status.approval_state) == ("Approved", "Approved")
    assert agreed.status.conditions[0].reason == "AwaitingRecord"
    assert look(agreed, recorded=False).after == 10.0
    away = look(agreed, recorded=False, away=True).status
    assert away is not None
    assert away.message.startswith("Everyone has agreed, but the audit database cannot be used now")
    assert after(agreed).status.state == "Active"


def test_of_two_that_slip_through_together_the_older_is_active() -> None:
    older, younger = exception("b"), exception("c", created="2026-01-29T09:00:01Z")
    assert after(older, younger).status.state == "Active"
    assert after(younger, older).status.state == "Pending"
    same = exception("a")
    assert after(older, same).status.state == "Pending"


def test_of_two_that_are_active_the_younger_steps_back() -> None:
    one, two = after(exception("a")), after(exception("b"))
    assert after(two, one).status.state == "Pending"
    assert after(one, two).status.state == "Active"


def test_one_that_can_never_be_active_holds_nobody_up() -> None:
    broken = exception("a", windows=[{"start": "06:00", "end": "06:00", "daysOfWeek": ["SAT"]}])
    waiting = after(exception("b", **BOTH, created="2026-01-01T00:00:00Z"))
    assert after(exception("c"), broken, waiting).status.state == "Active"


def test_a_mistake_is_told_and_nothing_is_bent() -> None:
    status = after(exception(windows=[{"start": "25:00", "end": "06:00", "daysOfWeek": ["SAT"]}])).status
    assert (status.state, status.conditions[0].reason) == ("Pending", "InvalidSpec")
    assert "spec.windows[0].start" in status.message


def test_a_plan_that_is_gone_is_told_and_the_exception_stays() -> None:
    found = after(after(exception()), plan=None)
    assert found.status.state == "Active"
    assert found.status.message == "HibernatePlan event-support is gone: there is nothing to bend."


def test_one_without_a_plan_waits_for_it() -> None:
    found = after(exception(), plan=None)
    assert found.status.state == "Pending"
    assert after(found).status.state == "Active"


def test_label_and_finalizer_are_set_where_they_are_missing() -> None:
    found = exception()
    assert not look(found).label
    missing: tuple[dict[str, Any], ...] = (
        {"labels": {}},
        {"finalizers": ()},
        {"labels": {PLAN_LABEL: "other"}},
    )
    for bare in missing:
        metadata = msgspec.structs.replace(found.metadata, **bare)
        assert look(msgspec.structs.replace(found, metadata=metadata)).label


def test_a_deletion_waits_until_the_plan_has_forgotten_it_but_not_for_ever() -> None:
    found = after(exception())
    metadata = msgspec.structs.replace(found.metadata, deletion_timestamp=NOW.to_stdlib())
    leaving = msgspec.structs.replace(found, metadata=metadata)
    spec = found.spec
    entry = ActiveException(
        name="on-site-event",
        type="extend",
        valid_from=spec.valid_from,
        valid_until=spec.valid_until,
        state="Active",
    )
    shows = msgspec.structs.replace(
        PLAN, status=msgspec.structs.replace(PLAN.status, active_exceptions=(entry,))
    )
    assert look(leaving, plan=shows) == Decision(after=60.0)
    assert look(leaving, plan=PLAN) == Decision(release=True)
    assert look(leaving, plan=None) == Decision(release=True)
    assert look(leaving, plan=shows, now=NOW.add(seconds=60)) == Decision(release=True)


@pytest.mark.parametrize(
    ("spec", "gained", "lost"),
    [
        ({"validUntil": "2026-02-05T00:00:00Z"}, 10.0, 0.0),
        (
            {"type": "suspend", "windows": [{"start": "20:00", "end": "22:00", "daysOfWeek": ["THU"]}]},
            0,
            10.0,
        ),
    ],
)
def test_the_impact_is_told_in_hours(spec: dict[str, Any], gained: float, lost: float) -> None:
    found = impact(PLAN, exception(**spec))
    assert (found.hours_asleep_gained, found.hours_asleep_lost) == (gained, lost)
    assert found.workloads is None
