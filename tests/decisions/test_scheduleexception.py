"""Where an exception is, case by case, without a cluster."""

from typing import Any

import msgspec
import pytest
from whenever import Instant

from decisions.exception_seen import BOTH, NOW, PLAN, actions, after, changed, exception, look, said
from hibernator.api.planstatus import ActiveException
from hibernator.decisions.impact import beside, impact
from hibernator.decisions.scheduleexception import PLAN_LABEL, Decision


def test_without_approval_it_is_active_as_soon_as_it_is_seen() -> None:
    status = after(exception()).status
    assert (status.state, status.approval_state) == ("Active", None)
    assert status.applied_at == NOW.to_stdlib()
    assert status.message == (
        "Overrides the schedule of HibernatePlan event-support from 2026-01-29T00:00:00Z "
        "until 2026-02-28T23:59:59Z."
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


def test_a_mistake_is_told_and_nothing_is_bent() -> None:
    status = after(exception(windows=[{"start": "25:00", "end": "06:00", "daysOfWeek": ["SAT"]}])).status
    assert (status.state, status.conditions[0].reason) == ("Pending", "InvalidSpec")
    assert "spec.windows[0].start" in status.message


def test_an_exception_whose_plan_is_gone_is_not_active_until_the_plan_is_back() -> None:
    found = after(after(exception()), plan=None)
    assert (found.status.state, found.status.conditions[0].status) == ("Pending", "False")
    assert found.status.conditions[0].reason == "PlanMissing"
    assert found.status.message == (
        "HibernatePlan event-support does not exist, so this exception has no effect. "
        "Create the plan, or delete this exception."
    )
    back = after(found)
    assert (back.status.state, back.status.conditions[0].status) == ("Active", "True")
    assert [action for action, _ in actions(back)] == ["requested", "activated", "activated"]


def test_one_that_was_approved_stays_approved_while_its_plan_is_gone() -> None:
    agreed = after(said(said(after(exception(**BOTH)), "approve", "bob"), "approve", "carol"))
    gone = after(agreed, plan=None)
    assert (agreed.status.state, gone.status.state) == ("Active", "Approved")
    assert gone.status.conditions[0].reason == "PlanMissing"
    assert after(gone).status.state == "Active"


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


def test_the_last_impact_stays_in_the_status_where_none_can_be_computed() -> None:
    known = impact(PLAN, exception())
    found = after(exception(), impact=known)
    assert found.status.impact == known
    assert after(found, plan=None).status.impact == known


def test_the_impact_is_what_it_changes_beside_the_others_in_force() -> None:
    """Ten hours of each Thursday night that another one keeps awake already are not lost once more."""
    night = [{"start": "20:00", "end": "06:00", "daysOfWeek": ["THU"]}]
    this, other = exception("this", type="suspend", windows=night), exception(type="suspend", windows=night)
    alone = impact(PLAN, this).hours_asleep_lost
    assert alone
    assert impact(PLAN, this, others=beside(this, [this, other])).hours_asleep_lost == alone
    assert impact(PLAN, this, others=beside(this, [this, after(other)])).hours_asleep_lost == 0.0


def test_a_rejection_is_told_as_a_warning_and_everything_else_is_not() -> None:
    assert [notice.type for notice in look(exception()).notices] == ["Normal"]
    rejected = look(said(after(exception(**BOTH)), "reject", "bob"))
    assert [(notice.type, notice.reason) for notice in rejected.notices] == [("Warning", "Rejected")]


def test_what_is_over_is_not_looked_at_again() -> None:
    cancelled = after(changed(after(exception()), cancelled=True))
    assert look(cancelled).after is None
    assert look(after(exception(draft=True))).after is None
