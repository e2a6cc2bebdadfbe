"""Of several exceptions of one plan, one is active and the others wait."""

from decisions.exception_seen import BOTH, after, changed, exception, said


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
