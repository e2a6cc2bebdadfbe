"""What a policy holds waits for no one: a decision would be noted down, and heard only when the hold ends."""

from typing import Any, Literal

import pytest

from decisions.exception_seen import BOTH, NOW, PEOPLE, after, exception
from decisions.policies import MANAGER, policy
from hibernator.approvals.decision import matter_of, why_not
from hibernator.decisions.approval import Vote

FREEZE: dict[str, Any] = {"firstDay": "2026-01-30", "lastDay": "2026-02-04"}
THURSDAYS = [{"start": "06:00", "end": "11:00", "daysOfWeek": ["THU"]}]


@pytest.mark.parametrize("asked", [{}, BOTH])
@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_who_decides_in_a_freeze_reads_why_and_decides_after_it(
    asked: dict[str, Any], verdict: Literal["approve", "reject"]
) -> None:
    policies = (policy("prod", freeze=[FREEZE], message="No changes now.", **MANAGER),)
    found = after(exception(windows=THURSDAYS, **asked), policies=policies)
    bound = matter_of(found)
    vote = Vote(by=PEOPLE["carol"], verdict=verdict, at=NOW, uid=bound.uid, spec_hash=bound.spec_hash)
    assert why_not(found, vote) is None
    held = after(found, policies=policies, now=NOW.add(hours=24))
    refusal = why_not(held, vote)
    assert refusal is not None
    assert refusal.reason == "TooEarly"
    assert refusal.message == (
        "on-site-event is held by a policy and asks no one now. ExceptionPolicy prod: No changes now. No "
        "exception of type extend may begin before 2026-02-05T00:00:00Z: it is a freeze."
    )
    assert why_not(after(held, policies=policies, now=NOW.add(hours=158)), vote) is None
