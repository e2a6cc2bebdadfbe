"""Every kind has a journal, and objects from before it had one are recorded as they were before."""

from typing import Any

import msgspec
import pytest
from whenever import Instant

from decisions.exception_seen import BOTH, NOW, after, changed, exception, look, said
from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.remediationrequest import REMEDIATIONS, RemediationRequest
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.controllers.journal_audit import events
from hibernator.decisions import aianalysis, remediationapprovalrequest, remediationrequest
from hibernator.decisions.journal import CHANGED_BY, note
from hibernator.decisions.person import Person
from hibernator.decisions.remediationapprovalrequest_votes import Seen as Asked

OWNER = {
    "apiVersion": "remediation.kubernaut.ai/v1alpha1",
    "kind": "RemediationRequest",
    "name": "oom",
    "uid": "u-oom",
    "controller": True,
}


def metadata(name: str, generation: int = 1, **more: Any) -> dict[str, Any]:
    uid, made = f"u-{name[:4].rstrip('-')}", "2026-01-09T10:00:00Z"
    return {
        "name": name,
        "namespace": "shop",
        "uid": uid,
        "generation": generation,
        "creationTimestamp": made,
        **more,
    }


# As version 0.1 left them: without a journal.
EXCEPTION = msgspec.convert(
    {
        "metadata": metadata("fair", 2),
        "spec": {
            "planRef": {"name": "dev"},
            "type": "extend",
            "validFrom": "2026-01-10T00:00:00Z",
            "validUntil": "2026-01-14T00:00:00Z",
            "windows": [],
            "approvalRequired": True,
            "approverEmails": ["bob@x.io"],
        },
        "status": {
            "state": "Expired",
            "approvalState": "Approved",
            "observedGeneration": 2,
            "requestedAt": "2026-01-09T10:01:00Z",
            "history": [
                {"action": "requested", "actor": "alice", "timestamp": "2026-01-09T10:00:00Z"},
                {"action": "submitted", "actor": "alice", "timestamp": "2026-01-09T10:01:00Z"},
                {
                    "action": "refused",
                    "actor": "eve",
                    "timestamp": "2026-01-09T10:02:00Z",
                    "reason": "NotAsked: no.",
                },
                {
                    "action": "approved",
                    "actor": "bob",
                    "timestamp": "2026-01-09T10:03:00Z",
                    "channel": "cli",
                },
                {"action": "activated", "actor": "hibernator", "timestamp": "2026-01-09T10:03:01Z"},
                {"action": "expired", "actor": "hibernator", "timestamp": "2026-01-14T00:00:00Z"},
            ],
        },
    },
    ScheduleException,
)
ANALYSIS = msgspec.convert(
    {
        "metadata": metadata("why", ownerReferences=[OWNER]),
        "spec": {"remediationRequestRef": {"name": "oom"}, "analysis": {"confidence": 0.7}},
        "status": {
            "phase": "Ready",
            "reason": "Approved",
            "phaseSince": "2026-01-09T10:05:00Z",
            "approvalRequired": True,
            "approvalContext": {"confidence": 0.7},
            "approvalDeadline": "2026-01-09T10:15:00Z",
            "deadlineSource": "Default",
            "observedGeneration": 1,
            "conditions": [
                {
                    "type": "ApprovalRequired",
                    "status": "True",
                    "reason": "MediumConfidence",
                    "message": "m",
                    "lastTransitionTime": "2026-01-09T10:00:02Z",
                }
            ],
        },
    },
    AIAnalysis,
)
REQUEST = msgspec.convert(
    {
        "metadata": metadata("ask-0123456789-again", ownerReferences=[OWNER]),
        "spec": {
            "aiAnalysisRef": {"name": "why"},
            "approvalContext": {"confidence": 0.7},
            "requiredBy": "2026-01-09T10:15:00Z",
        },
        "status": {
            "decision": "Approved",
            "decidedBy": "bob",
            "decidedVia": "cli",
            "decidedAt": "2026-01-09T10:04:59Z",
            "escalatedAt": "2026-01-09T10:04:00Z",
            "observedGeneration": 1,
            "refused": [
                {
                    "by": "eve",
                    "decision": "Approved",
                    "at": "2026-01-09T10:04:30Z",
                    "reason": "NotAsked",
                    "message": "no",
                }
            ],
            "conditions": [
                {
                    "type": "Approved",
                    "status": "True",
                    "reason": "x",
                    "message": "",
                    "lastTransitionTime": "2026-01-09T10:04:58Z",
                }
            ],
        },
    },
    RemediationApprovalRequest,
)
REMEDIATION = msgspec.convert(
    {
        "metadata": metadata("oom"),
        "spec": {"signalName": "OOM"},
        "status": {"phase": "Ready", "message": "m", "observedGeneration": 1},
    },
    RemediationRequest,
)
ADOPTED = "299cb60b-ed4e-8571-95b2-049c1fef728e"
# What that version called each transition, in the trails that it left.
KNOWN: tuple[tuple[Kind[Any], Object, dict[str, str]], ...] = (
    (
        EXCEPTIONS,
        EXCEPTION,
        {
            "drafted": "e5ebeb2a-c975-84b9-9187-dcde6bbfff2d",
            "requested": "8c33cc4e-25f6-8931-b86a-b1a818960d5b",
            "approval.refused": "2b51bbfe-1410-8484-8aba-96e270cb6418",
            "approval.given": "1cf65c18-a383-839c-a533-af413cb6fe75",
            "activated": "fa9261e9-41eb-82b2-8f41-20130ca7970f",
            "expired": "2d0448ff-cf95-8f49-9d7b-67c9f77be637",
            "approved": "491e52c4-a22e-88bb-b2ef-163a7f821865",
        },
    ),
    (
        ANALYSES,
        ANALYSIS,
        {
            "created": "6aa7ac84-3a51-83ec-be47-9f344390439c",
            "approving": "5fc8516a-25f8-8e7c-8c75-93df58c6ab93",
            "ready": "6c78233b-fba7-86b4-a444-5cb0e9201b5d",
        },
    ),
    (
        APPROVAL_REQUESTS,
        REQUEST,
        {
            "created": "18b420d4-27e2-85c7-ad78-2d37cbb79148",
            "recreated": "c454cbdf-2e8a-8e23-b54a-f30edf1908ac",
            "escalated": "22cd4b48-7a86-85d3-800e-08e653343beb",
            "approval.refused": "744c0bf8-a9cf-8606-8755-ad101d91bd6b",
            "approval.given": "b1352e4e-4df8-8499-a966-b47dd065b53d",
            "approved": "29c85aad-96af-856f-be1c-ca88656d0fdd",
        },
    ),
    (REMEDIATIONS, REMEDIATION, {"created": "c44cca16-7d7c-842b-83d0-18cc6d07b3b9"}),
)


def told(kind: Kind[Any], found: Object) -> dict[str, str]:
    return {one.action: one.id for one in events(kind, found)}


def next_status(found: Object, now: Instant) -> Any:
    """What the next pass makes of its status."""
    match found:
        case ScheduleException():
            return look(found, now=now).status
        case AIAnalysis():
            return aianalysis.decide(aianalysis.Seen(analysis=found), now).status
        case RemediationApprovalRequest():
            seen = Asked(request=found, person=Person("bob"))
            return remediationapprovalrequest.decide(seen, now).status
        case _:
            assert isinstance(found, RemediationRequest)
            return remediationrequest.decide(remediationrequest.Seen(remediation=found), now).status


@pytest.mark.parametrize(("kind", "found", "known"), KNOWN, ids=[kind.kind for kind, *_ in KNOWN])
def test_what_was_recorded_before_there_were_journals_keeps_its_ids(
    kind: Kind[Any], found: Any, known: dict[str, str]
) -> None:
    assert told(kind, found) == known
    status = next_status(found, NOW)
    again = told(kind, msgspec.structs.replace(found, status=status))
    assert again == known | ({"adopted": ADOPTED} if kind is ANALYSES else {})
    assert bool(status.journal) == (kind is ANALYSES), "nothing is written for the sake of the journal alone"


def test_a_later_change_goes_on_from_what_was_recorded_before_there_were_journals() -> None:
    edited = msgspec.structs.replace(
        EXCEPTION, metadata=msgspec.structs.replace(EXCEPTION.metadata, generation=3)
    )
    status = look(edited).status
    assert status is not None
    assert [one.number for one in status.journal] == [*range(1, 9)]
    assert [status.journal[-1].type, status.journal[-1].data] == ["changed", {"generation": 3}]


def test_the_journal_of_an_exception_tells_what_its_history_tells() -> None:
    drafted = after(exception(draft=True, **BOTH), on_record=False)
    asked = after(changed(drafted, draft=False), on_record=False)
    refused = after(said(asked, "approve", "mallory"), on_record=False)
    agreed = after(said(said(refused, "approve", "bob"), "approve", "carol"), on_record=False)
    active = after(agreed)
    over = after(active, now=Instant("2026-03-01T00:00:00Z"))
    without = msgspec.structs.replace(over, status=msgspec.structs.replace(over.status, journal=()))
    assert told(EXCEPTIONS, over) == told(EXCEPTIONS, without)
    assert [one.type for one in over.status.journal] == [
        "drafted",
        "requested",
        "approval.refused",
        "approval.given",
        "approval.given",
        "approved",
        "activated",
        "expired",
    ]


def test_what_is_on_record_leaves_the_journal_and_stays_in_the_history() -> None:
    asked = after(exception(**BOTH), on_record=False)
    recorded = frozenset(one.number for one in asked.status.journal)
    agreed = look(said(asked, "approve", "bob"), on_record=False, recorded=recorded).status
    assert agreed is not None
    assert [one.type for one in agreed.journal] == ["approval.given"]
    assert [entry.action for entry in agreed.history] == ["requested", "approved"]


def test_why_a_decision_was_not_counted_is_the_message_and_how_people_were_known_is_data() -> None:
    known = {"issuer": "https://id.company.com", "subject": "42", "email": "bob@company.com"}
    refused = after(said(after(exception(**BOTH), on_record=False), "approve", "mallory"), on_record=False)
    agreed = after(said(refused, "approve", "bob", channel="link", knownBy=known), on_record=False)
    journal = {one.type: one for one in agreed.status.journal}
    assert journal["approval.refused"].message.startswith("NotAsked: ")
    assert journal["approval.given"].message == ""
    assert known.items() <= journal["approval.given"].data.items()
    assert "issuer" not in journal["requested"].data

    rejected = after(said(refused, "reject", "carol", reason="freeze"), on_record=False)
    last = rejected.status.journal[-1]
    assert (last.type, last.message, last.data["reason"]) == ("rejected", "", "freeze")


def test_a_remediation_is_recorded_with_who_made_it_and_who_changed_it() -> None:
    by = msgspec.structs.replace(REMEDIATION.metadata, annotations={CHANGED_BY: note(1, "alice")})
    new = RemediationRequest(spec=REMEDIATION.spec).status
    made = msgspec.structs.replace(REMEDIATION, metadata=by, status=new)
    [created] = next_status(made, NOW).journal
    assert created.data == {"user": "alice", "signal": "OOM"}
    edited = msgspec.structs.replace(
        REMEDIATION,
        metadata=msgspec.structs.replace(by, generation=2, annotations={CHANGED_BY: note(2, "bob")}),
    )
    assert next_status(edited, NOW).journal[-1].data == {"generation": 2, "user": "bob"}
