"""What an analysis comes to."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from whenever import Instant, TimeDelta

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.meta import LocalReference
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.decisions.aianalysis import Decision, Seen, _after, decide, needs_policy
from hibernator.decisions.conditions import find
from hibernator.decisions.rego import Answer, Broken, Wishes, read_answer, read_namespace

NOW = Instant("2026-03-02T08:00:00Z")
DEADLINE = Instant("2026-03-02T08:15:00Z")


def analysis(confidence: float | None = 0.7, **spec: Any) -> AIAnalysis:
    found = (
        {}
        if confidence is None
        else {"analysis": {"confidence": confidence, "recommendedPlaybook": "restart"}}
    )
    document = {
        "metadata": {"name": "oom", "namespace": "shop", "uid": "u1", "generation": 1},
        "spec": {"remediationRequestRef": {"name": "oom"}} | found | spec,
    }
    return msgspec.convert(document, AIAnalysis)


def judged(confidence: float | None = 0.7, *, now: Instant = NOW, spec: Any = None, **seen: Any) -> Decision:
    return decide(Seen(analysis=analysis(confidence, **(spec or {})), **seen), now)


def waiting(**spec: Any) -> AIAnalysis:
    """One that people are asked about."""
    found = analysis(**spec)
    return replace(found, status=decide(Seen(analysis=found), NOW).status)


def request(decision: str = "", **status: Any) -> RemediationApprovalRequest:
    document = {
        "metadata": {"name": "oom-1", "namespace": "shop", "uid": "r1"},
        "spec": {
            "aiAnalysisRef": {"name": "oom"},
            "approvalContext": {"confidence": 0.7},
            "requiredBy": "2026-03-02T08:15:00Z",
        },
        "status": {"decision": decision} | status,
    }
    return msgspec.convert(document, RemediationApprovalRequest)


def after(seen: Seen, now: Instant) -> tuple[str | None, str]:
    status = decide(seen, now).status
    return status.phase, status.reason


@pytest.mark.parametrize(
    ("confidence", "phase", "reason"),
    [
        (None, "Pending", "AwaitingAnalysis"),
        (0.0, "Rejected", "LowConfidence"),
        (0.59, "Rejected", "LowConfidence"),
        (0.60, "Approving", "MediumConfidence"),
        (0.79, "Approving", "MediumConfidence"),
        (0.80, "Ready", "Confident"),
        (1.0, "Ready", "Confident"),
        (1.5, "Approving", "MediumConfidence"),  # only an object that slipped past the CRD
    ],
)
def test_confidence_decides_where_no_policy_does(confidence: float | None, phase: str, reason: str) -> None:
    status = judged(confidence).status
    assert (status.phase, status.reason) == (phase, reason)
    assert status.approval_required is {"Approving": True, "Pending": None}.get(phase, False)


@pytest.mark.parametrize("confidence", [0.7999999, 0.5999999])
def test_a_confidence_a_little_too_low_is_not_rounded_up_in_the_sentence(confidence: float) -> None:
    status = judged(confidence).status
    told = status.approval_context.reason if status.approval_context else status.message
    assert f"confidence of {confidence} is below" in told


def test_a_policy_asks_for_approval_where_confidence_would_not() -> None:
    status = judged(0.95, policy=Answer(required=True, reason="Production.")).status
    assert (status.phase, status.reason) == ("Approving", "PolicyRequiresApproval")
    assert status.approval_context
    assert status.approval_context.reason == "Production."


def test_a_policy_that_wants_nothing_waives_nothing() -> None:
    assert judged(0.95, policy=Answer(required=False)).status.phase == "Ready"
    assert judged(0.7, policy=Answer(required=False)).status.phase == "Approving"
    assert judged(0.3, policy=Answer(required=True)).status.phase == "Rejected"


def test_a_broken_policy_is_told_and_everything_needs_approval() -> None:
    decision = judged(0.95, policy=Broken("p.rego, line 2: what?"))
    assert (decision.status.phase, decision.status.reason) == ("Approving", "PolicyBroken")
    evaluated = find(decision.status.conditions, "PolicyEvaluated")
    assert evaluated
    assert (evaluated.status, evaluated.message) == ("False", "p.rego, line 2: what?")
    assert [(tell.type, tell.reason) for tell in decision.notices] == [("Warning", "PolicyBroken")]


def test_a_policy_that_could_not_see_the_remediation_does_not_let_it_pass() -> None:
    decision = judged(0.95, policy=Answer(required=False), is_known=False)
    assert (decision.status.phase, decision.status.reason) == ("Approving", "RemediationUnknown")


@pytest.mark.parametrize(
    ("own", "policy", "namespace", "deadline", "source"),
    [
        ("5m", "10m", "20m", "2026-03-02T08:05:00Z", "Analysis"),
        (None, "10m", "20m", "2026-03-02T08:10:00Z", "Policy"),
        (None, None, "20m", "2026-03-02T08:20:00Z", "Namespace"),
        (None, None, None, "2026-03-02T08:15:00Z", "Default"),
        ("0s", None, None, "2026-03-02T08:15:00Z", "Default"),
        ("9999999h", "10m", None, "2026-03-02T08:10:00Z", "Policy"),
    ],
)
def test_the_first_who_says_how_long_people_have_is_right(
    own: str | None, policy: str | None, namespace: str | None, deadline: str, source: str
) -> None:
    answer = read_answer({"require_approval": True} | ({"timeout": policy} if policy else {}))
    wishes, _ = read_namespace({"approvalTimeout": namespace} if namespace else {})
    spec = {"approvalTimeout": own} if own else {}
    status = judged(spec=spec, policy=answer, namespace=wishes).status
    assert status.approval_deadline == Instant.parse_iso(deadline).to_stdlib()
    assert status.deadline_source == source


def test_levels_come_from_the_policy_and_else_from_the_namespace() -> None:
    wishes, _ = read_namespace({"approversL1": "sre", "approversL2": "lead", "escalateAfter": "0.8"})
    status = judged(namespace=wishes).status
    assert [level.roles for level in status.approvers] == [("sre",), ("lead",)]
    assert status.escalate_at == Instant("2026-03-02T08:12:00Z").to_stdlib()
    answer = read_answer({"require_approval": True, "approvers": {"L1": ["boss"]}})
    status = judged(policy=answer, namespace=wishes).status
    assert [level.roles for level in status.approvers] == [("boss",)]
    assert status.escalate_at is None


def test_the_next_level_is_asked_at_half_time_where_nothing_else_was_said() -> None:
    wishes, _ = read_namespace({"approversL1": "sre", "approversL2": "lead", "approvalTimeout": "10m"})
    assert judged(namespace=wishes).status.escalate_at == Instant("2026-03-02T08:05:00Z").to_stdlib()


@given(
    seconds=st.floats(0.001, 366 * 86400.0),
    part=st.floats(0.001, 0.999),
    micros=st.integers(0, 999_999),
)
def test_no_one_gets_less_time_than_was_promised(seconds: float, part: float, micros: int) -> None:
    now = NOW + TimeDelta(microseconds=micros)
    levels = read_namespace({"approversL1": "a", "approversL2": "b"})[0].approvers
    status = judged(now=now, namespace=Wishes(seconds=seconds, approvers=levels, escalate_after=part)).status
    assert status.approval_deadline
    assert status.escalate_at
    left = (Instant(status.approval_deadline) - now).total("seconds")
    assert seconds - 0.001 <= left < seconds + 1.001
    assert now < Instant(status.escalate_at) <= Instant(status.approval_deadline)


def test_what_the_namespace_says_wrongly_is_told() -> None:
    wishes, problems = read_namespace({"approvalTimeout": "soon"})
    decision = judged(namespace=wishes, problems=problems)
    assert [tell.reason for tell in decision.notices] == ["MediumConfidence", "InvalidConfiguration"]


@pytest.mark.parametrize(
    ("decision", "recorded", "phase", "reason"),
    [
        ("", True, "Approving", "MediumConfidence"),
        ("Approved", True, "Ready", "Approved"),
        ("Approved", False, "Approving", "AwaitingRecord"),
        ("Rejected", False, "Rejected", "Rejected"),
        ("Expired", False, "Rejected", "ApprovalTimeout"),
    ],
)
def test_the_request_decides(decision: str, *, recorded: bool, phase: str, reason: str) -> None:
    seen = Seen(analysis=waiting(), request=request(decision, decidedBy="bob"), on_record=recorded)
    assert after(seen, NOW) == (phase, reason)


def test_an_approval_that_came_in_time_counts_also_when_its_record_comes_late() -> None:
    seen = Seen(analysis=waiting(), request=request("Approved", decidedBy="bob"), on_record=False)
    late = DEADLINE.add(hours=1)
    assert after(seen, late) == ("Approving", "AwaitingRecord")
    assert decide(seen, late).after == 10.0


def test_without_a_request_time_runs_out_at_the_deadline() -> None:
    seen = Seen(analysis=waiting())
    assert decide(seen, NOW).after == 900.0
    assert after(seen, DEADLINE.subtract(seconds=1)) == ("Approving", "MediumConfidence")
    assert after(seen, DEADLINE) == ("Rejected", "ApprovalTimeout")


def test_with_a_request_its_decision_is_waited_for_half_a_minute_longer() -> None:
    seen = Seen(analysis=waiting(), request=request())
    assert after(seen, DEADLINE) == ("Approving", "MediumConfidence")
    assert decide(seen, NOW).after == 930.0
    assert after(seen, DEADLINE.add(seconds=30)) == ("Rejected", "ApprovalTimeout")


def test_what_is_over_stays_as_it_was() -> None:
    ready = analysis(0.9)
    ready = replace(ready, status=decide(Seen(analysis=ready), NOW).status)
    assert decide(Seen(analysis=ready, request=request("Rejected")), DEADLINE) == Decision(
        status=ready.status
    )


def test_one_that_names_no_remediation_says_that_no_one_can_be_asked() -> None:
    found = analysis(remediationRequestRef=None)
    assert "names no RemediationRequest" in decide(Seen(analysis=found), NOW).status.message


def test_a_second_look_changes_and_tells_nothing() -> None:
    found = waiting()
    again = decide(Seen(analysis=found), NOW.add(seconds=60))
    assert again.status == found.status
    assert again.notices == ()


@given(st.floats(0, 1), st.sampled_from([None, Answer(required=True), Answer(required=False), Broken("?")]))
def test_nothing_is_ready_below_eighty_percent_or_against_the_policy(confidence: float, policy: Any) -> None:
    phase = judged(confidence, policy=policy).status.phase
    allowed = policy is None or policy == Answer(required=False)
    assert (phase == "Ready") == (confidence >= 0.8 and allowed)
    assert (phase == "Rejected") == (confidence < 0.6)


@pytest.mark.parametrize(("seconds", "after_"), [(-5, 0.0), (0, 0.0), (5, 5.0)])
def test_what_is_overdue_is_looked_at_at_once(seconds: int, after_: float) -> None:
    assert _after(NOW.add(seconds=seconds), NOW) == after_


@pytest.mark.parametrize(("confidence", "needed"), [(None, False), (0.59, False), (0.6, True), (0.95, True)])
def test_a_policy_is_asked_where_its_answer_could_matter(confidence: float | None, *, needed: bool) -> None:
    assert needs_policy(analysis(confidence)) is needed


def test_a_policy_is_asked_once() -> None:
    assert not needs_policy(waiting())


def test_an_analysis_that_is_not_finished_says_nothing_of_approvals() -> None:
    assert [one.type for one in judged(None).status.conditions] == ["Ready"]


def test_a_request_that_was_deleted_is_missed_and_one_that_was_not_made_yet_is_not() -> None:
    found = waiting()
    assert "is gone" not in decide(Seen(analysis=found), NOW).status.message
    referring = replace(found.status, remediation_approval_request_ref=LocalReference(name="oom-1"))
    found = replace(found, status=referring)
    assert decide(Seen(analysis=found), NOW).status.message.endswith("The request that asked them is gone.")
    assert "is gone" not in decide(Seen(analysis=found, request=request()), NOW).status.message
