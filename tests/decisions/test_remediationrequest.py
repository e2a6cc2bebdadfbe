"""What the orchestrator does about a RemediationRequest."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.meta import OBJECT_NAME, LocalReference, ObjectMeta
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.remediationrequest import RemediationRequest
from hibernator.decisions.remediationrequest import (
    Adopt,
    AnalysisCase,
    Ask,
    Decision,
    Drop,
    Refer,
    Seen,
    asks_about,
    decide,
    owned_by,
    request_names,
    request_spec,
)

NOW = Instant("2026-03-02T08:00:00Z")
REMEDIATION = RemediationRequest(metadata=ObjectMeta(name="oom", namespace="shop", uid="rr", generation=1))
APPROVING: dict[str, Any] = {
    "phase": "Approving",
    "message": "Somebody must approve it.",
    "approvalContext": {"confidence": 0.7},
    "approvalDeadline": "2026-03-02T08:15:00Z",
}


def analysis(*, owner: RemediationRequest | None = REMEDIATION, uid: str = "a1", **status: Any) -> AIAnalysis:
    document = {
        "metadata": {"name": "oom", "namespace": "shop", "uid": uid},
        "spec": {"remediationRequestRef": {"name": "oom"}},
        "status": status or APPROVING,
    }
    found = msgspec.convert(document, AIAnalysis)
    owners = (owned_by(owner),) if owner else ()
    return replace(found, metadata=replace(found.metadata, owner_references=owners))


def request(about: AIAnalysis, name: str = "", **metadata: Any) -> RemediationApprovalRequest:
    spec = request_spec(about)
    assert spec
    made = ObjectMeta(
        name=name or request_names(about)[0], namespace="shop", owner_references=(owned_by(REMEDIATION),)
    )
    return RemediationApprovalRequest(metadata=replace(made, **metadata), spec=spec)


def referring(found: AIAnalysis, name: str) -> AIAnalysis:
    return replace(
        found, status=replace(found.status, remediation_approval_request_ref=LocalReference(name=name))
    )


def orchestrated(found: AIAnalysis, *requests: RemediationApprovalRequest) -> Decision:
    return decide(Seen(remediation=REMEDIATION, analyses=(AnalysisCase(found, requests),)), NOW)


def reasons(decision: Decision) -> list[str]:
    return [tell.reason for tell in decision.notices]


def test_an_analysis_is_adopted_before_anybody_is_asked_about_it() -> None:
    adopt, ask = orchestrated(analysis(owner=None)).steps
    assert isinstance(adopt, Adopt)
    assert isinstance(ask, Ask)


def test_an_analysis_that_belongs_to_something_else_is_left_to_it() -> None:
    other = RemediationRequest(metadata=ObjectMeta(name="other", uid="else"))
    decision = orchestrated(analysis(owner=other))
    assert not any(isinstance(step, Adopt) for step in decision.steps)
    assert "AdoptionRefused" in reasons(decision)


@pytest.mark.parametrize("phase", [None, "Pending", "Ready", "Rejected"])
def test_no_one_is_asked_about_an_analysis_that_needs_no_one(phase: str | None) -> None:
    assert orchestrated(analysis(phase=phase)).steps == ()


def test_people_are_asked_exactly_what_the_analysis_says() -> None:
    found = analysis()
    [ask] = orchestrated(found).steps
    assert ask == Ask(found, request_names(found)[0], request(found).spec)


def test_a_request_that_is_there_is_referred_to_and_not_made_again() -> None:
    found = analysis()
    decision = orchestrated(found, request(found))
    assert decision.steps == (Refer(found, request_names(found)[0]),)
    assert "ApprovalRequested" in reasons(decision)
    assert orchestrated(referring(found, request_names(found)[0]), request(found)).steps == ()


def test_a_deleted_request_is_made_again_once() -> None:
    first, second = request_names(analysis())
    found = referring(analysis(), first)
    [ask] = orchestrated(found).steps
    assert isinstance(ask, Ask)
    assert (ask.name, ask.instead_of) == (second, first)
    again = orchestrated(found, request(found, second))
    assert again.steps == (Refer(found, second),)
    assert "ApprovalRequestedAgain" in reasons(again)
    twice = orchestrated(referring(found, second))
    assert twice.steps == ()
    assert "RequestDeletedTwice" in reasons(twice)


def test_a_request_that_is_still_going_is_not_made_again_yet() -> None:
    found = referring(analysis(), request_names(analysis())[0])
    assert orchestrated(found, request(found, deletion_timestamp=NOW.to_stdlib())).steps == ()


def test_a_stranger_under_the_right_name_is_not_taken_for_ours() -> None:
    found = analysis()
    asked = request(found)
    for stranger in (
        replace(asked, spec=replace(asked.spec, required_by=NOW.to_stdlib())),
        replace(asked, metadata=replace(asked.metadata, owner_references=())),
    ):
        decision = orchestrated(found, stranger)
        assert decision.steps == ()
        assert "NameTaken" in reasons(decision)


def test_a_request_about_an_earlier_analysis_of_the_same_name_is_not_about_this_one() -> None:
    assert not asks_about(request(analysis(uid="before")), analysis(uid="now"))


def test_a_request_that_no_one_waits_for_is_dropped_unless_it_was_decided() -> None:
    orphan = request(analysis())
    assert decide(Seen(remediation=REMEDIATION, orphans=(orphan,)), NOW).steps == (Drop(orphan),)
    decided = replace(orphan, status=replace(orphan.status, decision="Approved"))
    assert decide(Seen(remediation=REMEDIATION, orphans=(decided,)), NOW).steps == ()


def test_nothing_is_begun_while_all_of_it_is_going() -> None:
    going = replace(REMEDIATION, metadata=replace(REMEDIATION.metadata, deletion_timestamp=NOW.to_stdlib()))
    assert decide(Seen(remediation=going, analyses=(AnalysisCase(analysis()),)), NOW) == Decision()


@pytest.mark.parametrize(
    ("status", "phase"),
    [
        ({"phase": "Pending"}, "Pending"),
        (APPROVING, "AwaitingApproval"),
        ({"phase": "Ready"}, "Ready"),
        ({"phase": "Rejected"}, "Rejected"),
    ],
)
def test_its_phase_is_that_of_the_newest_analysis(status: dict[str, Any], phase: str) -> None:
    created = {"name": "old", "creationTimestamp": "2026-03-01T00:00:00Z"}
    old = msgspec.convert({"metadata": created, "spec": {}}, AIAnalysis)
    new = analysis(**status)
    new = replace(new, metadata=replace(new.metadata, creation_timestamp=NOW.to_stdlib()))
    decision = decide(Seen(remediation=REMEDIATION, analyses=(AnalysisCase(new), AnalysisCase(old))), NOW)
    assert decision.status
    assert (decision.status.phase, decision.status.ai_analysis_ref) == (phase, LocalReference(name="oom"))


def test_without_an_analysis_it_waits_for_one() -> None:
    status = decide(Seen(remediation=REMEDIATION), NOW).status
    assert status
    assert (status.phase, status.message) == ("Pending", "Waits for an AIAnalysis that names it.")


@given(st.from_regex(OBJECT_NAME, fullmatch=True).filter(lambda name: len(name) <= 253), st.uuids())
def test_names_of_requests_are_names_and_differ_by_analysis(name: str, uid: Any) -> None:
    found = analysis(uid=str(uid))
    found = replace(found, metadata=replace(found.metadata, name=name))
    first, second = request_names(found)
    assert re.match(OBJECT_NAME, first)
    assert re.match(OBJECT_NAME, second)
    assert max(len(first), len(second)) <= 253
    other = replace(found, metadata=replace(found.metadata, uid="another"))
    assert not {first, second} & set(request_names(other))


@pytest.mark.parametrize(
    ("phase", "type_", "reason"),
    [
        ("Rejected", "Warning", "Rejected"),
        ("Ready", "Normal", "Ready"),
        ("Approving", "Normal", "AwaitingApproval"),
    ],
)
def test_a_new_phase_is_told_once_and_a_rejection_as_a_warning(phase: str, type_: str, reason: str) -> None:
    found = analysis(**(APPROVING | {"phase": phase}))
    decision = orchestrated(found)
    assert decision.status is not None
    assert [(one.type, one.message) for one in decision.notices if one.reason == reason] == [
        (type_, decision.status.message)
    ]
    before = replace(REMEDIATION, status=decision.status)
    again = decide(Seen(remediation=before, analyses=(AnalysisCase(found, ()),)), NOW)
    assert reason not in reasons(again)


@pytest.mark.parametrize("missing", ["approvalContext", "approvalDeadline"])
def test_no_one_is_asked_without_a_context_and_a_deadline(missing: str) -> None:
    assert request_spec(analysis(**{name: APPROVING[name] for name in APPROVING if name != missing})) is None
