"""The approval workflows of the document by their names, from the manifest to the bent schedule."""

import asyncio
import json
from typing import Any

from support.clock import ManualClock
from support.exception_scenes import WEEKDAYS, exception, hours
from support.people import ALICE, BOB, CAROL, People

ON_SITE_EVENT: dict[str, Any] = {
    "approvalRequired": True,
    "approverEmails": [BOB, CAROL],
    "type": "extend",
    "validFrom": "2026-01-29T00:00:00Z",
    "validUntil": "2026-02-28T23:59:59Z",
    "windows": hours("06:00", "11:00", ["SAT", "SUN"]),
}


def applied(people: People, by: str, name: str, of: str, **spec: Any) -> None:
    text = json.dumps(exception(name, of, by=by, **spec))
    place = ("-n", people.namespace)
    people.cluster.kubectl("apply", "-f", "-", *place, input=text, as_user=by, as_groups=("system:masters",))


async def test_on_call_engineer_workflow(people: People) -> None:
    """Who is on call names the approvers; it is Pending until both agreed, and then bends the plan."""
    call = asyncio.to_thread
    people.plan_over_web("event-support", daysOfWeek=WEEKDAYS)
    async with people.operator(ManualClock("2026-01-29T10:00:00Z")) as run:
        await call(applied, people, ALICE, "on-site-event", "event-support", **ON_SITE_EVENT)
        await run.until(lambda: people.state("on-site-event") == "Pending")
        status = people.exception_status("on-site-event")
        assert (status["approvalState"], status["requestedBy"]) == ("Pending", ALICE)
        assert status["requestedAt"] == "2026-01-29T10:00:00Z"
        assert status["requiredApprovals"] == [
            {"email": BOB, "status": "pending"},
            {"email": CAROL, "status": "pending"},
        ]
        await run.advance_to("2026-01-29T10:15:00Z")
        await call(people.ask, BOB, "approve", "--yes", "on-site-event")
        assert people.entries("event-support") == []  # a pending one bends nothing
        await run.advance_to("2026-01-29T10:30:00Z")
        await call(people.ask, CAROL, "approve", "--yes", "on-site-event")
        await run.until(lambda: people.state("on-site-event") == "Active")
        await run.until(lambda: people.entries("event-support") == [("on-site-event", "Active")])
        await run.advance_to("2026-01-31T06:00:00Z")  # a Saturday
        assert people.is_asleep()
        await run.advance_to("2026-01-31T11:00:00Z")
        assert not people.is_asleep()
    status = people.exception_status("on-site-event")
    assert [(one["email"], one["approvedBy"]) for one in status["approvals"]] == [(BOB, BOB), (CAROL, CAROL)]
    assert [(one["action"], one["actor"], one["timestamp"]) for one in status["history"]] == [
        ("requested", ALICE, "2026-01-29T10:00:00Z"),
        ("approved", BOB, "2026-01-29T10:15:00Z"),
        ("approved", CAROL, "2026-01-29T10:30:00Z"),
        ("activated", "hibernator", "2026-01-29T10:30:00Z"),
    ]


async def test_approval_workflow_rejected_exceptions_are_ignored(people: People) -> None:
    call = asyncio.to_thread
    people.plan_over_web("event-support", daysOfWeek=WEEKDAYS)
    async with people.operator(ManualClock("2026-01-29T10:00:00Z")) as run:
        await call(applied, people, ALICE, "on-site-event", "event-support", **ON_SITE_EVENT)
        await run.until(lambda: people.state("on-site-event") == "Pending")
        await call(people.ask, BOB, "approve", "--yes", "on-site-event")
        done = await call(people.ask, CAROL, "reject", "--yes", "on-site-event", "not in the freeze")
        assert done.splitlines()[1].startswith(f"Rejected: Rejected by {CAROL} at 2026-01-29T10:00:00Z")
        await run.advance_to("2026-01-31T06:00:00Z")
        assert not people.is_asleep()
        assert people.entries("event-support") == []
