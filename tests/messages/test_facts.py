"""What a request says in words, for those who decide."""

from typing import Any

import msgspec
import pytest
from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.messages.facts import ApproverLine, facts_of_exception, facts_of_remediation
from hibernator.pictures.pairs import legend, pairs

DAYS = ["MON", "TUE", "WED", "THU", "FRI"]
PLAN = msgspec.convert(
    {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "HibernatePlan",
        "metadata": {"name": "dev-plan", "namespace": "team-a"},
        "spec": {
            "schedule": {
                "timezone": "Europe/Berlin",
                "offHours": [{"start": "20:00", "end": "06:00", "daysOfWeek": DAYS}],
            },
            "targets": [],
        },
    },
    HibernatePlan,
)


def exception(status: dict[str, Any] | None = None, **spec: Any) -> ScheduleException:
    wanted = {
        "planRef": {"name": "dev-plan"},
        "validFrom": "2026-11-20T12:00:00Z",
        "validUntil": "2026-11-22T12:00:00Z",
        "type": "suspend",
        "windows": [{"start": "20:00", "end": "23:00", "daysOfWeek": ["FRI"]}],
        "reason": "Release <b>night</b>",
        "approvalRequired": True,
        "approverEmails": ["maria@corp.example"],
        "approvalRequiredRoles": ["head"],
    }
    document = {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "ScheduleException",
        "metadata": {"name": "release", "namespace": "team-a", "uid": "u-1"},
        "spec": wanted | spec,
        "status": {"requestedBy": "alice", "state": "Pending", "approvalProgress": "1/2"} | (status or {}),
    }
    return msgspec.convert(document, ScheduleException)


def test_an_exception_says_who_asks_for_what_why_and_when() -> None:
    facts = facts_of_exception(exception(), PLAN)
    assert facts.title == "Keep team-a/dev-plan awake"
    assert facts.ask == "alice asks to keep the plan dev-plan awake."
    assert facts.reason == "Release <b>night</b>"  # as written: who shows it escapes it
    rows = {row.title: row.text for row in facts.rows}
    assert rows["From"] == "Fri 20 Nov 2026, 13:00 (Europe/Berlin)"
    assert rows["Awake"] == "Fri 20:00 to 23:00"


def test_what_changes_is_told_in_hours_and_on_the_clock_of_the_plan() -> None:
    facts = facts_of_exception(exception(), PLAN)
    assert facts.hours == (16.0, 13.0)
    assert facts.change_words() == ("Fri 20 Nov, 20:00 until 23:00: awake instead of asleep",)


def test_a_day_on_which_it_ends_at_midnight_is_not_counted() -> None:
    facts = facts_of_exception(exception(validUntil="2026-11-20T23:00:00Z"), PLAN)  # midnight in Berlin
    assert facts.hours == (10.0, 7.0)


@pytest.mark.parametrize(
    ("kind", "title"),
    [("extend", "More sleep for team-a/dev-plan"), ("replace", "Another schedule for team-a/dev-plan")],
)
def test_each_type_has_its_words(kind: str, title: str) -> None:
    assert facts_of_exception(exception(type=kind), PLAN).title == title


def test_without_its_plan_an_exception_is_still_described_but_not_drawn() -> None:
    facts = facts_of_exception(exception(), None)
    assert (facts.comparison, facts.hours, facts.changes, facts.zone) == (None, None, (), "UTC")


def test_those_who_are_asked_are_listed_with_what_was_said_for_them() -> None:
    at = "2026-11-16T12:00:00Z"
    status = {
        "requiredApprovals": [
            {"email": "maria@corp.example", "status": "approved"},
            {"role": "head", "status": "pending"},
        ],
        "approvals": [{"approvedBy": "oidc:maria", "approvedAt": at, "email": "maria@corp.example"}],
        "history": [{"action": "approved", "actor": "oidc:maria", "timestamp": at, "reason": "fine"}],
    }
    facts = facts_of_exception(exception(status), PLAN)
    assert facts.progress == "1 of 2 approvals"
    assert facts.voices == (
        ApproverLine("maria@corp.example", "approved", "oidc:maria", Instant(at), "fine"),
        ApproverLine("a member of the role head", "pending"),
    )


def test_what_approvers_of_a_policy_said_is_listed_with_who_said_it_and_why() -> None:
    """Their entries name no person that the exception asks for."""
    at, known = "2026-11-16T12:00:00Z", {"issuer": "https://x", "subject": "1", "email": "boss@corp.example"}
    both = [("oidc:boss", {"knownBy": known}), ("Head@corp.example", {}), ("root", {})]
    status: dict[str, Any] = {
        "requiredApprovals": [
            {"email": "head@corp.example", "status": "approved", "policy": "office"},
            {"email": "Boss@corp.example", "status": "approved", "policy": "office"},
            {"email": "other@corp.example", "status": "approved", "policy": "office"},
        ],
        "approvals": [{"approvedBy": user, "approvedAt": at, **more} for user, more in both],
        "history": [
            {"action": "approved", "actor": user, "timestamp": at, "reason": f"said {user}"}
            for user, _ in both
        ],
    }
    voices = facts_of_exception(exception(status), PLAN).voices
    assert [voice.by for voice in voices] == ["Head@corp.example", "oidc:boss", ""]
    assert voices[0].reason == "said Head@corp.example"
    status["history"] = status["history"][2:]
    [*_, last] = facts_of_exception(exception(status), PLAN).voices
    assert last.by == "root"  # there is no other who could have said it


def test_who_is_asked_by_a_policy_is_shown_with_its_name() -> None:
    status = {"requiredApprovals": [{"email": "boss@corp.example", "status": "pending", "policy": "office"}]}
    facts = facts_of_exception(exception(status), PLAN)
    assert facts.voices == (ApproverLine("boss@corp.example", "pending", policy="office"),)
    assert facts.voices[0].asked == "boss@corp.example (by ExceptionPolicy office)"


def test_the_picture_has_a_lane_before_and_after_for_each_day_that_changes() -> None:
    comparison = facts_of_exception(exception(), PLAN).comparison
    assert comparison
    drawn = pairs(comparison, 'says "this" & <that>')
    assert drawn.svg.count('class="lane-name"') == 2
    assert "Friday 20 November" in drawn.svg
    assert 'aria-label="says &quot;this&quot; &amp; &lt;that&gt;"' in drawn.svg
    assert dict(legend(comparison))["awake-exception"] == "awake by this request"


def test_of_many_days_the_first_are_drawn_and_the_others_counted() -> None:
    window = {"start": "18:00", "end": "20:00", "daysOfWeek": DAYS}
    long = exception(type="extend", windows=[window], validUntil="2027-01-20T00:00:00Z")
    facts = facts_of_exception(long, PLAN)
    assert facts.comparison
    assert pairs(facts.comparison, "").more == 43 - 7
    assert facts.change_words()[-1] == "and 38 more"


def test_a_remediation_says_what_is_recommended_and_how_sure_the_analysis_is() -> None:
    document = {
        "apiVersion": "remediation.kubernaut.ai/v1alpha1",
        "kind": "RemediationApprovalRequest",
        "metadata": {"name": "checkout-oom", "namespace": "shop", "uid": "u-2"},
        "spec": {
            "aiAnalysisRef": {"name": "oom-3f"},
            "approvalContext": {
                "confidence": 0.72,
                "recommendedPlaybook": "raise-memory",
                "reason": "unsure",
            },
            "requiredBy": "2026-11-16T13:00:00Z",
            "approvers": [{"level": "L1", "emails": ["maria@corp.example"], "roles": ["sre"]}],
        },
    }
    request = msgspec.convert(document, RemediationApprovalRequest)
    analysis = msgspec.convert(
        {
            "apiVersion": "aianalysis.kubernaut.ai/v1alpha1",
            "kind": "AIAnalysis",
            "metadata": {"name": "oom-3f", "namespace": "shop"},
            "spec": {"analysis": {"confidence": 0.72, "signal": "OOMKilled", "reason": "leak"}},
        },
        AIAnalysis,
    )
    facts = facts_of_remediation(request, analysis)
    assert facts.title == "Run raise-memory in shop"
    assert facts.ask == "The analysis oom-3f recommends raise-memory and is 72% sure."
    assert {row.title: row.text for row in facts.rows}["Signal"] == "OOMKilled"
    assert [voice.who for voice in facts.voices] == ["maria@corp.example", "a member of the role sre"]
    assert facts.deadline == Instant("2026-11-16T13:00:00Z")
