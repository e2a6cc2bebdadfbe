"""Why a decision about an exception would not count, as far as that can be seen where it is made."""

from typing import Any, Literal

import pytest
from msgspec.structs import replace

from decisions.exception_seen import BOTH, NOW, PEOPLE, after, exception, said
from hibernator.api.scheduleexception import ScheduleException
from hibernator.approvals.decision import matter_of, why_not
from hibernator.decisions.approval import Vote


@pytest.mark.parametrize(
    ("channels", "verdict", "channel", "reason"),
    [
        ((), "approve", "cli", ""),
        (("link",), "approve", "link", ""),
        (("link",), "approve", "cli", "WrongChannel"),
        (("link",), "reject", "cli", ""),
    ],
)
def test_an_approval_comes_through_a_channel_of_the_policies_and_a_rejection_through_any(
    channels: tuple[str, ...], verdict: Literal["approve", "reject"], channel: str, reason: str
) -> None:
    found = pending()
    found = replace(found, status=replace(found.status, channels=channels))
    assert refused(found, verdict=verdict, channel=channel) == reason


def test_a_decision_is_final_and_about_what_was_shown() -> None:
    found = pending()
    assert refused(said(found, "approve", "bob")) == "AlreadyDecided"
    assert refused(said(found, "reject", "bob")) == "AlreadyDecided"
    assert refused(said(found, "approve", "carol")) == ""
    assert refused(found, spec_hash="another") == "Stale"
    assert refused(found, uid="another") == "Stale"


@pytest.mark.parametrize(
    ("spec", "state", "reason"),
    [
        ({"draft": True}, "Draft", "TooEarly"),
        ({"cancelled": True}, "Pending", "TooLate"),
        ({}, "Expired", "TooLate"),
        ({}, "Cancelled", "TooLate"),
        ({}, "Pending", ""),
    ],
)
def test_a_decision_comes_after_the_submission_and_before_the_end(
    spec: dict[str, Any], state: Any, reason: str
) -> None:
    found: ScheduleException = exception(**BOTH | spec)
    assert refused(replace(found, status=replace(found.status, state=state))) == reason


def test_what_needs_no_approval_is_not_decided() -> None:
    assert refused(exception()) == "NotAsked"


def pending() -> ScheduleException:
    return after(exception(**BOTH))


def refused(
    found: ScheduleException,
    *,
    verdict: Literal["approve", "reject"] = "approve",
    channel: str = "cli",
    uid: str = "",
    spec_hash: str = "",
) -> str:
    """Why a decision of bob would not count; empty where it would."""
    bound = matter_of(found)
    vote = Vote(
        by=PEOPLE["bob"],
        verdict=verdict,
        at=NOW,
        uid=uid or bound.uid,
        spec_hash=spec_hash or bound.spec_hash,
        channel=channel,
    )
    refusal = why_not(found, vote)
    return refusal.reason if refusal else ""
