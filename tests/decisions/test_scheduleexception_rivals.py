"""Of several exceptions of one plan that want the same time, one is active and the others wait."""

from typing import Any

import pytest

from decisions.exception_seen import BOTH, after, changed, exception, look, said
from decisions.policies import MANAGER, policy
from hibernator.decisions.scheduleexception import OpenBefore
from hibernator.decisions.scheduleexception_line import taken_by


def window(start: str, end: str, *days: str) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "daysOfWeek": list(days)}]


def test_a_second_one_waits_with_the_sentence_of_the_document_and_takes_over() -> None:
    first = after(exception("first"))
    second = after(exception("second", created="2026-01-29T08:00:00Z"), first)
    assert second.status.state == "Pending"
    assert second.status.message == (
        "Plan event-support already has active exception first (expires at 2026-02-28T23:59:59Z)"
    )
    assert (taken_by(second.status.message), taken_by(first.status.message)) == ("first", "")
    gone = after(changed(first, cancelled=True))
    assert after(second, gone).status.state == "Active"


def test_an_approved_one_waits_as_approved() -> None:
    first = after(exception("first"))
    asked = after(exception("second", **BOTH), first)
    agreed = after(said(said(asked, "approve", "bob"), "approve", "carol"), first)
    assert (agreed.status.state, agreed.status.approval_state) == ("Approved", "Approved")
    assert "already has active exception first" in agreed.status.message


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


def test_one_that_can_never_be_active_holds_no_one_up() -> None:
    broken = exception("a", windows=[{"start": "06:00", "end": "06:00", "daysOfWeek": ["SAT"]}])
    waiting = after(exception("b", **BOTH, created="2026-01-01T00:00:00Z"))
    assert after(exception("c"), broken, waiting).status.state == "Active"


def test_those_that_want_different_times_are_active_together() -> None:
    weekend = after(exception("weekend"))
    cases: dict[str, dict[str, Any]] = {
        "later-that-day": {"windows": window("11:00", "12:00", "SAT", "SUN")},
        "another-day": {"windows": window("06:00", "11:00", "FRI")},
        "another-type": {"windows": window("21:00", "23:00", "FRI"), "type": "suspend", "leadTime": "1h"},
        "another-schedule": {"windows": window("00:00", "06:00", "SAT"), "type": "replace"},
        "when-it-is-over": {"validFrom": "2026-02-28T23:59:59Z", "validUntil": "2026-03-08T00:00:00Z"},
    }
    for name, spec in cases.items():
        assert after(exception(name, **spec), weekend).status.state == "Active", name


def test_an_emergency_is_not_held_up_by_what_is_planned_for_tonight() -> None:
    tonight = after(exception("tonight", windows=window("21:00", "23:00", "THU")))
    now = {"type": "suspend", "validFrom": "2026-01-29T10:00:00Z", "validUntil": "2026-01-29T12:00:00Z"}
    wake = exception("wake", windows=window("00:00", "23:59", "THU"), **now)
    assert after(wake, tonight).status.state == "Active"


def test_one_waits_only_for_those_that_are_in_force() -> None:
    """The second conflicts with both others, and waits for the first; the third does not wait for it."""
    first = after(exception("first", windows=window("06:00", "08:00", "SAT")))
    second = after(
        exception("second", created="2026-01-29T09:10:00Z", windows=window("07:00", "10:00", "SAT")), first
    )
    third = exception("third", created="2026-01-29T09:20:00Z", windows=window("09:00", "11:00", "SAT"))
    assert second.status.conditions[0].reason == "AnotherActive"
    third = after(third, first, second)
    assert third.status.state == "Active"
    waits_on = after(second, after(changed(first, cancelled=True)), third).status.message
    assert "already has active exception third" in waits_on


def test_who_waits_looks_again_when_the_other_is_over() -> None:
    times = window("10:00", "12:00", "THU")
    first = after(exception("first", validUntil="2026-01-29T11:00:00Z", windows=times))
    decision = look(exception("second", created="2026-01-29T09:10:00Z", windows=times), first)
    assert decision.after == 3600.0


@pytest.mark.parametrize(
    ("open_before", "words"),
    [
        (OpenBefore(32, 3), "Plan event-support has 32 open exceptions, the limit for one plan."),
        (
            OpenBefore(20, 16),
            "alice has 16 open exceptions of plan event-support, the limit for one requester.",
        ),
    ],
)
@pytest.mark.parametrize("asked", [{}, BOTH])
def test_one_too_many_waits_without_asking_anybody(
    open_before: OpenBefore, words: str, asked: dict[str, Any]
) -> None:
    found = after(exception(**asked), open_before=open_before)
    assert (found.status.state, found.status.conditions[0].reason) == ("Pending", "QuotaExceeded")
    fix = "Cancel or delete one of them, or wait until one is over."
    assert found.status.message == f"{words} {fix}"
    assert after(found).status.conditions[0].reason != "QuotaExceeded"


def test_what_is_in_force_is_never_too_many() -> None:
    assert after(after(exception()), open_before=OpenBefore(99, 99)).status.state == "Active"


@pytest.mark.parametrize(
    "spec",
    [
        {"draft": True},
        {"cancelled": True},
        {"validUntil": "2026-01-29T09:59:59Z"},
        {"approvalRequired": True, "approverEmails": ["bob@company.com"]},
    ],
)
def test_only_one_that_would_be_active_by_itself_is_waited_for(spec: dict[str, Any]) -> None:
    """As it stands before the operator has looked at it."""
    older = exception("a", created="2026-01-01T00:00:00Z", **spec)
    assert after(exception("b"), older).status.state == "Active"


def test_one_that_a_policy_wants_approved_is_not_waited_for_until_it_is() -> None:
    policies = (policy(**MANAGER),)
    older = after(exception("a", created="2026-01-01T00:00:00Z"), policies=policies)
    assert after(exception("b"), older).status.state == "Active"
    agreed = after(said(older, "approve", "carol"), policies=policies)
    assert after(exception("b"), agreed).status.state == "Pending"


def test_one_that_was_a_draft_when_it_was_last_looked_at_is_not_waited_for() -> None:
    drafted = after(exception("a", draft=True, created="2026-01-01T00:00:00Z"))
    assert after(exception("b"), changed(drafted, draft=False)).status.state == "Active"
