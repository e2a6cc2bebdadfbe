"""What the audit trail is told about exceptions."""

from typing import Any

import msgspec

from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.controllers.journal_audit import events
from support.exception_scenes import EVERY_DAY, ExceptionScene, exception, hours
from support.plan_scenes import noop, plan

SPEC: dict[str, Any] = {
    "planRef": {"name": "dev"},
    "type": "extend",
    "validFrom": "2026-03-02T00:00:00Z",
    "validUntil": "2026-03-03T00:00:00Z",
    "windows": [],
}


def told(*history: tuple[str, str, str], **status: Any) -> list[tuple[str, str, str]]:
    entries = [
        {"action": action, "actor": actor, "timestamp": f"2026-03-02T10:00:0{number}Z", "reason": reason}
        for number, (action, actor, reason) in enumerate(history)
    ]
    document = {"metadata": {"name": "x", "uid": "u"}, "spec": SPEC, "status": {"history": entries} | status}
    found = list(events(EXCEPTIONS, msgspec.convert(document, ScheduleException)))
    assert len({one.id for one in found}) == len(found)
    return [(one.type.removeprefix("scheduleexception."), one.actor.type, one.actor.id) for one in found]


def test_a_draft_that_was_submitted_and_approved_is_told_step_by_step() -> None:
    history = [
        ("requested", "alice", ""),
        ("submitted", "alice", ""),
        ("approved", "bob", ""),
        ("approved", "system:serviceaccount:ci:bot", ""),
        ("activated", "hibernator", ""),
        ("expired", "hibernator", ""),
    ]
    assert told(*history, requestedAt="2026-03-02T10:00:01Z", approvalState="Approved") == [
        ("drafted", "user", "alice"),
        ("requested", "user", "alice"),
        ("approval.given", "user", "bob"),
        ("approval.given", "serviceaccount", "system:serviceaccount:ci:bot"),
        ("activated", "operator", "hibernator"),
        ("expired", "operator", "hibernator"),
        ("approved", "operator", "hibernator"),
    ]


def test_silence_and_a_no_are_told_apart() -> None:
    assert told(("rejected", "bob", "freeze")) == [("rejected", "user", "bob")]
    assert told(("rejected", "hibernator", "ApprovalTimeout")) == [("timedout", "operator", "hibernator")]
    assert told(("rejected", "bob", "ApprovalTimeout")) == [("rejected", "user", "bob")]


def test_a_user_who_is_called_as_the_operator_is_a_user() -> None:
    assert told(("approved", "hibernator", "")) == [("approval.given", "user", "hibernator")]


def test_one_that_waits_in_line_is_told() -> None:
    entry = ("waiting", "hibernator", "Plan dev already has active exception y")
    assert told(entry) == [("waiting", "operator", "hibernator")]


def test_a_decision_that_does_not_count_is_told_with_who_took_it_and_why_not() -> None:
    entry = ("refused", "mallory", "NotAsked: mallory is not among those whose agreement is needed: bob.")
    assert told(entry) == [("approval.refused", "user", "mallory")]


async def test_without_webhooks_the_trail_names_who_is_written_down_and_else_says_unknown(
    scene: ExceptionScene,
) -> None:
    """`hibernator plan wake` and `exception create` write it down; a bare manifest does not."""
    short: dict[str, Any] = {
        "type": "suspend",
        "validFrom": "2026-03-02T08:00:00Z",
        "validUntil": "2026-03-02T09:00:00Z",
        "windows": hours("12:00", "13:00", EVERY_DAY),
    }
    named, bare = exception("named", **short), exception("bare", **short)
    del bare["metadata"]["annotations"]
    scene.apply(plan(noop("nothing"), name="dev-plan"), named, bare)
    async with scene.operator() as run:
        await run.settle()
        found = await run.trail("scheduleexception.requested")
        actors = {one.resource.name: (one.actor.type, one.actor.id) for one in found}
    assert actors == {"named": ("user", "alice"), "bare": ("unknown", "")}
