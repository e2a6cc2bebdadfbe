"""A request for approval of a remediation under ExceptionPolicies: who must agree besides those it names."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from decisions.policies import policy
from decisions.test_remediationapprovalrequest import LEVELS, NOW, condition, request
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.decisions.exceptionpolicy_remediations import Governance, noted
from hibernator.decisions.person import Person
from hibernator.decisions.remediationapprovalrequest import Decision, decide
from hibernator.decisions.remediationapprovalrequest_votes import Seen

PEOPLE = {
    "bob": Person("bob", "bob@company.com", frozenset({"sre"})),
    "carol": Person("carol", "carol@company.com", frozenset({"owner"})),
    "dora": Person("dora", "dora@company.com", frozenset({"owner", "sre"})),
}
ALL: dict[str, Any] = {"remediationSelector": {}}
OWNER: dict[str, Any] = ALL | {"require": {"roles": ["owner"]}}


def look(found: RemediationApprovalRequest, *policies: Any, labels: Any = None, **more: Any) -> Decision:
    governance = Governance(
        policies=tuple(replace(one, metadata=replace(one.metadata, namespace="shop")) for one in policies),
        labels={} if labels is None else labels,
    )
    person = PEOPLE.get(found.status.decided_by, Person(found.status.decided_by))
    seen: dict[str, Any] = {"request": found, "person": person, "people": PEOPLE, "governance": governance}
    return decide(Seen(**(seen | {k: v for k, v in more.items() if k != "now"})), more.get("now", NOW))


def after(found: RemediationApprovalRequest, *policies: Any, **more: Any) -> RemediationApprovalRequest:
    """As it is stored after all passes that are due at once."""
    for _ in range(5):
        decision = look(found, *policies, **more)
        assert decision.status is not None
        if decision.status == found.status:
            return found
        found = replace(found, status=decision.status)
    raise AssertionError("it does not come to rest")


def said(found: RemediationApprovalRequest, word: str, by: str, via: str = "kubectl") -> Any:
    status = msgspec.to_builtins(found.status)
    status |= {"conditions": [*status.get("conditions", []), condition(word, "fine")]}
    document = msgspec.to_builtins(found) | {"status": status | {"decidedBy": by, "decidedVia": via}}
    return msgspec.convert(document, RemediationApprovalRequest)


def named(**spec: Any) -> RemediationApprovalRequest:
    return request(spec={"approvers": LEVELS} | spec)


def test_a_policy_asks_for_its_people_besides_those_of_the_analysis() -> None:
    found = after(named(), policy("owners", **OWNER))
    assert [(one.role, one.policy, one.needed) for one in found.status.required_approvals] == [
        ("owner", "owners", 1)
    ]
    assert "Waits for the approval of owner by ExceptionPolicy owners." in found.status.message
    counted = look(said(found, "Approved", "bob"), policy("owners", **OWNER))
    assert (counted.after, [one.reason for one in counted.notices]) == (0.0, ["ApprovalCounted"])
    one = after(said(found, "Approved", "bob"), policy("owners", **OWNER))
    assert (one.status.decision, [yes.approved_by for yes in one.status.approvals]) == ("", ["bob"])
    assert not one.status.decided_by
    both = after(said(one, "Approved", "carol"), policy("owners", **OWNER))
    assert (both.status.decision, both.status.decided_by) == ("Approved", "carol")
    given = [one.data["user"] for one in both.status.journal if one.type == "approval.given"]
    assert given == ["bob", "carol"]


def test_one_person_may_satisfy_both() -> None:
    found = after(said(named(), "Approved", "dora"), policy("owners", **OWNER))
    assert found.status.decision == "Approved"


def test_the_threshold_of_a_policy_is_met_by_so_many_people() -> None:
    two = policy("two", **ALL, require={"roles": ["owner", "sre"], "threshold": 2})
    found = after(said(request(), "Approved", "dora"), two)
    assert not found.status.decision
    again = after(said(found, "Approved", "dora"), two)
    assert (again.status.decision, again.status.refused[-1].reason) == ("", "AlreadyDecided")
    assert after(said(again, "Approved", "bob"), two).status.decision == "Approved"


def test_a_rejection_of_anybody_who_is_asked_ends_it() -> None:
    found = after(said(named(), "Approved", "bob"), policy("owners", **OWNER))
    assert after(said(found, "Rejected", "carol"), policy("owners", **OWNER)).status.decision == "Rejected"


def test_a_channel_that_does_not_count_is_refused_in_words() -> None:
    one = policy("owners", **OWNER, channels=["link"])
    found = after(said(named(), "Approved", "carol", via="slack"), one)
    assert (found.status.decision, found.status.refused[0].reason) == ("", "WrongChannel")
    assert found.status.channels == ("link",)


def test_after_a_while_others_may_agree_in_place_of_those() -> None:
    one = policy("owners", **OWNER, escalateAfter={"after": "4m", "roles": ["sre"]})
    found = msgspec.convert(
        msgspec.to_builtins(named())
        | {"metadata": {"name": "oom-1", "namespace": "shop", "creationTimestamp": "2026-03-02T08:05:00Z"}},
        RemediationApprovalRequest,
    )
    assert look(found, one).after == 240
    assert not after(said(found, "Approved", "bob"), one).status.decision
    later = after(said(found, "Approved", "bob"), one, now=NOW.add(minutes=4))
    assert later.status.decision == "Approved"


@pytest.mark.parametrize(
    ("spec", "labels", "matches"),
    [
        ({"remediationSelector": {}}, {}, True),
        ({}, {}, False),
        ({"remediationSelector": {"matchLabels": {"tier": "prod"}}}, {"tier": "prod"}, True),
        ({"remediationSelector": {"matchLabels": {"tier": "prod"}}}, {"tier": "test"}, False),
    ],
)
def test_a_policy_is_about_the_remediations_that_it_selects(
    spec: dict[str, Any], labels: dict[str, str], *, matches: bool
) -> None:
    found = after(named(), policy("owners", require={"roles": ["owner"]}, **spec), labels=labels)
    assert bool(found.status.required_approvals) == matches


def test_who_relabels_the_analysis_after_the_request_gains_nothing() -> None:
    one = policy(
        "owners", remediationSelector={"matchLabels": {"tier": "prod"}}, require={"roles": ["owner"]}
    )
    found = after(named(), one, labels={"tier": "prod"})
    assert after(said(found, "Approved", "bob"), one, labels={}).status.decision == ""


def test_a_policy_that_cannot_be_read_holds_it_until_it_is_gone() -> None:
    broken = policy("owners", **ALL, require={})
    found = after(said(named(), "Approved", "bob"), broken)
    assert not found.status.decision
    assert "cannot be read" in found.status.message
    freed = after(found)
    assert (freed.status.decision, freed.status.decided_by) == ("Approved", "bob")


def test_what_is_decided_stays_when_a_policy_appears() -> None:
    found = after(said(named(), "Approved", "bob"))
    assert after(found, policy("owners", **OWNER)).status == found.status


def test_no_time_runs_out_into_an_approval() -> None:
    found = after(said(named(), "Approved", "bob"), policy("owners", **OWNER))
    assert after(found, policy("owners", **OWNER), now=NOW.add(minutes=10)).status.decision == "Expired"


_REQUIRE = st.fixed_dictionaries(
    {"roles": st.lists(st.sampled_from(["owner", "sre"]), min_size=1, max_size=2, unique=True)}
).flatmap(
    lambda some: st.sampled_from(["all", *range(1, len(some["roles"]) + 1)]).map(
        lambda threshold: some | {"threshold": threshold}
    )
)
_POLICIES = st.lists(_REQUIRE, max_size=3).map(
    lambda found: [policy(f"p{number}", **ALL, require=one) for number, one in enumerate(found)]
)
_VOTES = st.permutations(sorted(PEOPLE)).flatmap(
    lambda users: st.integers(0, 3).map(lambda most: users[:most])
)


def lived(votes: list[str], policies: list[Any]) -> str:
    found = after(named(), *policies)
    for user in votes:
        if not found.status.decision:
            found = after(said(found, "Approved", user), *policies)
    return found.status.decision


@settings(max_examples=100, deadline=None)
@given(_VOTES, _POLICIES, _POLICIES)
def test_one_more_policy_approves_nothing_that_was_held(
    votes: list[str], policies: list[Any], more: list[Any]
) -> None:
    more = [replace(one, metadata=replace(one.metadata, name=f"more-{one.metadata.name}")) for one in more]
    if lived(votes, [*policies, *more]) == "Approved":
        assert lived(votes, policies) == "Approved"
    assert lived(votes, policies) == lived(votes, policies[::-1])


@settings(max_examples=100, deadline=None)
@given(_VOTES, _POLICIES)
def test_nothing_is_approved_without_what_each_policy_asks(votes: list[str], policies: list[Any]) -> None:
    if lived(votes, policies) != "Approved":
        return
    for one in policies:
        require = one.spec.require
        able = [PEOPLE[user] for user in votes if PEOPLE[user].roles & {*require.roles}]
        assert len(able) >= (len(require.roles) if require.threshold == "all" else require.threshold)


@pytest.mark.parametrize(
    ("number", "threshold", "held"), [(100, 1, False), (101, 1, True), (20, "all", False), (21, "all", True)]
)
def test_policies_ask_for_as_many_people_as_can_be_noted_down(
    number: int, threshold: int | str, *, held: bool
) -> None:
    require = {"emails": [f"p{one}@company.com" for one in range(number)], "threshold": threshold}
    found = after(named(), policy("a", **ALL, require=require), policy("b", **ALL))
    message = "ExceptionPolicy a: It asks for more people than can be written down."
    assert (message in found.status.message) is held


def test_policies_that_leave_no_channel_together_are_held_in_the_name_of_the_first() -> None:
    found = after(
        named(), policy("a", **OWNER, channels=["link"]), policy("b", **OWNER, channels=["kubectl"])
    )
    assert "ExceptionPolicy a: It leaves no channel together with other policies." in found.status.message


def test_the_web_process_reads_who_is_asked_from_the_status() -> None:
    two = policy("two", **ALL, require={"roles": ["owner", "sre"], "threshold": 2})
    found = after(named(), two, policy("owners", **OWNER))
    asked = noted(found)
    assert asked.needs == (("owners", 1), ("two", 2))
    assert [len(one.places) for one in asked.each] == [1, 2]
    alone = replace(found.status.required_approvals[0], policy=None, needed=None)
    before = replace(found, status=replace(found.status, required_approvals=(alone,)))
    assert noted(before).needs == (("", 1),)
