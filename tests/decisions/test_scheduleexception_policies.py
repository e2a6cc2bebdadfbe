"""An exception under policies, from the request to its end, whatever the requester wrote."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace
from whenever import Instant

from decisions.exception_seen import BOTH, NOW, PEOPLE, actions, after, changed, exception, look, said
from decisions.policies import MANAGER, plan, policy
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.person import Absence, Person

SUSPEND: dict[str, Any] = {
    "type": "suspend",
    "validFrom": "2026-02-02T18:00:00Z",
    "validUntil": "2026-02-02T20:00:00Z",
    "windows": [{"start": "18:00", "end": "20:00", "daysOfWeek": ["MON"]}],
}


def reason(found: ScheduleException) -> str:
    return found.status.conditions[0].reason


def test_a_policy_asks_for_an_approval_that_the_requester_did_not_ask_for() -> None:
    found = after(exception(), policies=(policy(**MANAGER),))
    assert (found.status.state, found.status.approval_progress) == ("Pending", "0/1")
    assert found.status.message == "Waits for the approval of manager by ExceptionPolicy four-eyes."
    assert [(one.role, one.policy, one.needed) for one in found.status.required_approvals] == [
        ("manager", "four-eyes", 1)
    ]
    agreed = after(said(found, "approve", "carol"), policies=(policy(**MANAGER),))
    assert (agreed.status.state, agreed.status.approval_state) == ("Active", "Approved")


def test_the_friend_whom_the_requester_names_is_not_enough() -> None:
    friend: dict[str, Any] = {"approvalRequired": True, "approverEmails": ["bob@company.com"]}
    policies = (policy(**MANAGER),)
    found = after(said(after(exception(**friend), policies=policies), "approve", "bob"), policies=policies)
    assert (found.status.state, found.status.approval_progress) == ("Pending", "1/2")
    assert after(said(found, "approve", "carol"), policies=policies).status.state == "Active"


def test_one_person_may_satisfy_several_policies_and_each_must_be_satisfied() -> None:
    policies = (
        policy("a", **MANAGER),
        policy("b", **MANAGER),
        policy("c", require={"emails": ["bob@company.com"]}),
    )
    found = after(exception(), policies=policies)
    found = after(said(found, "approve", "carol"), policies=policies)
    assert (found.status.state, found.status.approval_progress) == ("Pending", "2/3")
    assert found.status.message == "Waits for the approval of bob@company.com by ExceptionPolicy c."


def test_what_a_limit_forbids_is_held_without_asking_anybody_and_may_be_corrected() -> None:
    policies = (policy("office", limits={"maxDuration": "8h"}, message="Not all week.", **MANAGER),)
    found = after(exception(), policies=policies)
    assert (found.status.state, reason(found)) == ("Pending", "PolicyRefused")
    assert found.status.message.startswith("ExceptionPolicy office: Not all week. It lasts 743h59m59s")
    assert not found.status.required_approvals
    corrected = after(changed(found, **SUSPEND), policies=policies)
    assert reason(corrected) == "AwaitingApproval"


def test_what_waited_into_a_freeze_waits_for_its_end_and_keeps_its_approvals() -> None:
    freeze: dict[str, Any] = {"firstDay": "2026-01-30", "lastDay": "2026-02-04"}
    both: dict[str, Any] = {"require": {"emails": ["bob@company.com"], "roles": ["manager"]}}
    policies = (policy("prod", freeze=[freeze], **both),)
    asked = exception(windows=[{"start": "06:00", "end": "11:00", "daysOfWeek": ["THU"]}])
    decision = look(asked, policies=policies)
    assert decision.after == 14 * 3600
    found = after(said(after(asked, policies=policies), "approve", "carol"), policies=policies)
    during = NOW.add(hours=24)
    held = after(found, policies=policies, now=during)
    assert (held.status.state, reason(held)) == ("Pending", "PolicyRefused")
    assert look(held, policies=policies, now=NOW.add(hours=154)).after == 4 * 3600
    found = after(held, policies=policies, now=NOW.add(hours=158))
    assert (reason(found), found.status.approval_progress) == ("AwaitingApproval", "1/2")
    found = after(said(found, "approve", "bob"), policies=policies, now=NOW.add(hours=158))
    assert found.status.state == "Active"


def test_the_approval_of_a_manager_in_a_freeze_is_not_that_of_the_director() -> None:
    freeze: dict[str, Any] = {
        "firstDay": "2026-01-30",
        "lastDay": "2026-02-04",
        "override": {"emails": ["bob@company.com"]},
    }
    policies = (policy("prod", freeze=[freeze], **MANAGER),)
    asked = exception(windows=[{"start": "06:00", "end": "11:00", "daysOfWeek": ["THU"]}])
    found, during = after(asked, policies=policies), NOW.add(hours=24)
    found = after(said(found, "approve", "carol"), policies=policies, now=during)
    assert (found.status.state, found.status.approval_progress) == ("Pending", "1/2")
    found = after(said(found, "approve", "bob"), policies=policies, now=during)
    assert found.status.state == "Active"


def test_who_corrects_a_request_does_not_gain_notice_by_it() -> None:
    policies = (policy(limits={"minNotice": "24h"}),)
    found = after(exception(**(SUSPEND | {"validFrom": "2026-01-29T11:00:00Z"})), policies=policies)
    assert reason(found) == "PolicyRefused"
    later = NOW.add(hours=48)
    moved = replace(
        changed(found, validFrom="2026-01-31T11:00:00Z"), metadata=replace(found.metadata, generation=2)
    )
    assert reason(after(moved, policies=policies, now=later)) == "PolicyRefused"


def test_what_is_let_through_by_itself_is_active_and_says_why() -> None:
    policies = (policy(unless=[{"wakesOnly": True, "durationAtMost": "2h"}], **MANAGER),)
    found = after(exception(**SUSPEND), policies=policies)
    assert found.status.state == "Active"
    assert found.status.policies[0].unless == "it only wakes workloads, it lasts at most 2h"


def test_a_policy_that_appears_counts_for_what_is_not_decided_and_is_in_the_history() -> None:
    found = after(exception(**BOTH))
    found = after(found, policies=(policy(**MANAGER),), now=NOW.add(hours=1))
    assert found.status.approval_progress == "0/3"
    assert actions(found)[-1] == ("policy", "hibernator")
    assert found.status.history[-1].reason == "ExceptionPolicy four-eyes counts from now on."
    found = after(found, policies=(policy(require={"roles": ["director"]}),), now=NOW.add(hours=2))
    assert found.status.history[-1].reason.startswith("ExceptionPolicy four-eyes was changed")
    found = after(found, now=NOW.add(hours=3))
    assert found.status.history[-1].reason.startswith("ExceptionPolicy four-eyes no longer exists")
    assert found.status.approval_progress == "0/2"


def test_each_of_several_policies_that_change_at_once_is_told_to_the_trail() -> None:
    """What names a transition there must tell them apart, or only the first is kept."""
    escalating = {"after": "1h", "roles": ["director"]}
    policies = tuple(policy(name, escalateAfter=escalating, **MANAGER) for name in ("a", "b"))
    found = after(exception(**BOTH))
    found = after(found, policies=policies)
    found = after(found, policies=policies, now=NOW.add(hours=2))
    found = after(found, now=NOW.add(hours=3))
    told = [(row.type, row.identity or row.number) for row in found.status.journal]
    assert [kind for kind, _ in told].count("policy.changed") == 4
    assert [kind for kind, _ in told].count("escalated") == 2
    assert len({*told}) == len(told)


def test_what_was_approved_or_is_active_stays_when_a_policy_appears() -> None:
    active = after(exception())
    assert after(active, policies=(policy(**MANAGER),)).status == active.status
    approved = after(exception(**BOTH))
    for user in ("bob", "carol"):
        approved = after(said(approved, "approve", user))
    assert after(approved, policies=(policy(require={"roles": ["director"]}),)).status == approved.status


def test_what_is_active_and_then_changed_is_judged_anew() -> None:
    active = after(exception(**SUSPEND))
    longer = changed(active, validUntil="2026-02-28T00:00:00Z")
    longer = replace(longer, metadata=replace(longer.metadata, generation=2))
    assert after(longer).status.state == "Active"
    held = after(longer, policies=(policy(**MANAGER),))
    assert (held.status.state, reason(held)) == ("Pending", "AwaitingApproval")


def test_who_relabels_the_plan_after_the_request_gains_nothing() -> None:
    policies = (policy(planSelector={"matchLabels": {"tier": "production"}}, **MANAGER),)
    found = after(exception(), policies=policies, plan=plan({"tier": "production"}))
    assert after(found, policies=policies, plan=plan({"tier": "none"})).status.state == "Pending"


def test_an_approval_through_a_channel_that_does_not_count_is_refused_in_words() -> None:
    policies = (policy(channels=["link"], **MANAGER),)
    found = after(exception(), policies=policies)
    assert found.status.channels == ("link",)
    slack = after(said(found, "approve", "carol", channel="slack"), policies=policies)
    assert slack.status.state == "Pending"
    assert "WrongChannel: An approval through slack does not count here" in slack.status.history[-1].reason
    no = after(said(found, "reject", "carol", channel="slack"), policies=policies)
    assert no.status.state == "Rejected"


def test_after_a_while_the_next_level_may_agree_and_it_is_in_the_history() -> None:
    policies = (policy(escalateAfter={"after": "4h", "emails": ["bob@company.com"]}, **MANAGER),)
    first = look(exception(), policies=policies)
    assert first.after == 4 * 3600
    found = after(exception(), policies=policies)
    found = after(found, policies=policies, now=NOW.add(hours=4))
    assert actions(found)[-1] == ("escalated", "hibernator")
    assert (
        after(said(found, "approve", "bob"), policies=policies, now=NOW.add(hours=4)).status.state == "Active"
    )


def test_policies_that_change_all_the_time_crowd_no_decision_out_of_the_history() -> None:
    found = after(exception(**BOTH))
    found = after(said(found, "approve", "bob"))
    for hour in range(210):
        changing = policy(limits={"maxActivePerWeek": 1 + hour % 2}, **MANAGER)
        found = after(found, policies=(changing,), now=NOW.add(hours=hour))
    heard = [entry for entry in found.status.history if entry.action == "approved"]
    assert [entry.actor for entry in heard] == ["bob"]
    assert len(found.status.history) == 200
    assert actions(found)[0] == ("requested", "alice")


def test_a_requester_no_one_knows_is_held_where_a_policy_asks_for_approval() -> None:
    nameless = replace(exception(), metadata=replace(exception().metadata, annotations={}))
    assert reason(after(nameless, policies=(policy(**MANAGER),))) == "RequesterUnknown"


@pytest.mark.parametrize("draft", [True, False])
def test_no_one_is_asked_about_a_draft(*, draft: bool) -> None:
    found = after(exception(draft=draft), policies=(policy(**MANAGER),))
    assert bool(found.status.required_approvals) != draft


def test_a_deputy_decides_for_who_is_away_and_the_history_names_both() -> None:
    away = Absence(PEOPLE["carol"], "dave", NOW.subtract(hours=1), NOW.add(hours=48))
    people = PEOPLE | {"dave": Person("dave", "dave@company.com", deputy_for=(away,))}
    more: dict[str, Any] = {"policies": (policy(**MANAGER),), "people": people}
    found = after(said(after(exception(), **more), "approve", "dave"), **more)
    assert found.status.state == "Active"
    entry = next(one for one in found.status.history if one.action == "approved")
    assert (entry.actor, entry.on_behalf_of, entry.role) == ("dave", "carol@company.com", "manager")
    row = next(one for one in found.status.journal if one.type == "approval.given")
    assert row.data["onBehalfOf"] == "carol@company.com"


def test_what_a_deputy_said_too_early_does_not_count_once_the_other_is_away() -> None:
    away = Absence(PEOPLE["carol"], "dave", NOW.add(hours=2), NOW.add(hours=48))
    people = PEOPLE | {"dave": Person("dave", "dave@company.com", deputy_for=(away,))}
    more: dict[str, Any] = {"policies": (policy(**MANAGER),), "people": people}
    found = after(said(after(exception(), **more), "approve", "dave"), **more)
    assert actions(found)[-1] == ("refused", "dave")
    assert after(found, **more, now=NOW.add(hours=3)).status.state == "Pending"


def test_who_gets_the_role_later_has_approved_when_they_did() -> None:
    more: dict[str, Any] = {"policies": (policy(**MANAGER),)}
    found = after(said(after(exception(), **more), "approve", "bob"), **more)
    bob = Person("bob", "bob@company.com", frozenset({"manager"}))
    found = after(found, **more, people=PEOPLE | {"bob": bob}, now=NOW.add(hours=3))
    assert found.status.state == "Active"
    assert next(e for e in found.status.history if e.action == "approved").timestamp == NOW.to_stdlib()


# Properties, over random policies, people, votes and times.

_USERS = ("alice", "bob", "carol", "dora")
_ROLES = ("manager", "director", "on-call")
_NAMED = st.fixed_dictionaries(
    {"emails": st.lists(st.sampled_from([f"{user}@company.com" for user in _USERS]), max_size=2, unique=True)}
).flatmap(
    lambda some: st.lists(st.sampled_from(_ROLES), min_size=1, max_size=2, unique=True).map(
        lambda roles: some | {"roles": roles}
    )
)
_RELIEF = st.sampled_from(
    [{"types": ["suspend"]}, {"wakesOnly": True}, {"durationAtMost": "3h"}, {"requesterRoles": ["on-call"]}]
)
_SPEC = st.fixed_dictionaries(
    {},
    optional={
        "limits": st.sampled_from(
            [{"maxDuration": "3h"}, {"types": ["extend"]}, {"minNotice": "1h"}, {"maxActivePerWeek": 1}]
        ),
        "freeze": st.sampled_from(
            [
                [{"firstDay": "2026-02-02", "lastDay": "2026-02-02", "override": {"roles": ["director"]}}],
                [{"firstDay": "2026-01-29", "lastDay": "2026-01-29"}],
            ]
        ),
        "channels": st.sampled_from([["link"], ["slack", "cli"], ["cli"]]),
        "reasonRequired": st.just(True),
    },
)


@st.composite
def _policies(draw: st.DrawFn) -> tuple[Any, ...]:
    found = []
    for number in range(draw(st.integers(0, 3))):
        spec: dict[str, Any] = draw(_SPEC)
        if draw(st.booleans()):
            require = draw(_NAMED)
            most = len(require["emails"]) + len(require["roles"])
            spec |= {"require": require | {"threshold": draw(st.sampled_from(["all", *range(1, most + 1)]))}}
            spec |= {"unless": draw(st.lists(_RELIEF, max_size=1))}
            if draw(st.booleans()):
                spec |= {"escalateAfter": {"after": "2h", "roles": ["director"]}}
        found.append(policy(f"p{number}", **spec))
    return tuple(found)


_AWAY = st.lists(st.tuples(*[st.sampled_from(_USERS)] * 2, st.integers(0, 4), st.integers(0, 5)), max_size=2)


@st.composite
def _people(draw: st.DrawFn) -> dict[str, Person]:
    found = {
        user: Person(user, f"{user}@company.com", draw(st.frozensets(st.sampled_from(_ROLES), max_size=2)))
        for user in _USERS
    }
    deputies = dict(found)
    for away, deputy, since, until in draw(_AWAY):
        if away != deputy:
            absence = Absence(found[away], deputy, NOW.add(hours=since), NOW.add(hours=until))
            mine = deputies[deputy]
            deputies[deputy] = dataclasses.replace(mine, deputy_for=(*mine.deputy_for, absence))
    return deputies


_PEOPLE = _people()
_WISHES = st.sampled_from(
    [exception(), exception(**SUSPEND), exception(**SUSPEND, reason="OPS-1"), exception(**BOTH)]
)
_VOTES = st.lists(
    st.tuples(st.sampled_from(_USERS), st.sampled_from(["link", "slack", "cli"])),
    max_size=4,
    unique_by=lambda vote: vote[0],
)


def lived(
    found: ScheduleException,
    votes: list[tuple[str, str]],
    policies: tuple[Any, ...],
    people: dict[str, Person],
    hours: int,
) -> ScheduleException:
    """The exception after everybody has approved who did, some hours after it was asked for."""
    more: dict[str, Any] = {"policies": policies, "people": people}
    found = after(found, **more)
    if not found.spec.approval_required and not found.status.required_approvals:
        votes = []  # no door is open
    for user, channel in votes:
        found = after(said(found, "approve", user, channel=channel), **more, now=NOW.add(hours=hours))
    return after(found, **more, now=NOW.add(hours=hours))


@settings(max_examples=150)
@given(_WISHES, _VOTES, _policies(), _policies(), _PEOPLE, st.integers(0, 5))
def test_one_more_policy_never_lets_something_through_that_was_held(
    wish: ScheduleException, votes: Any, policies: Any, more: Any, people: Any, hours: int
) -> None:
    more = tuple(
        replace(one, metadata=replace(one.metadata, name=f"more-{one.metadata.name}")) for one in more
    )
    if lived(wish, votes, (*policies, *more), people, hours).status.state == "Active":
        assert lived(wish, votes, policies, people, hours).status.state == "Active"


@settings(max_examples=50)
@given(_WISHES, _VOTES, _policies(), _PEOPLE, st.randoms(use_true_random=False))
def test_the_order_of_policies_does_not_matter(
    wish: ScheduleException, votes: Any, policies: Any, people: Any, chance: Any
) -> None:
    shuffled = list(policies)
    chance.shuffle(shuffled)
    assert (
        lived(wish, votes, policies, people, 3).status
        == lived(wish, votes, tuple(shuffled), people, 3).status
    )


@settings(max_examples=150)
@given(_WISHES, _VOTES, _policies(), _PEOPLE, st.integers(0, 5))
def test_there_is_no_way_to_active_without_every_required_approval(
    wish: ScheduleException, votes: Any, policies: Any, people: Any, hours: int
) -> None:
    """Worked out once more, by hand: for each policy, the people who agreed and are named must be enough."""
    found = lived(wish, votes, policies, people, hours)
    if found.status.state == "Active":
        _assert_satisfied(found, policies, people, [user for user, _ in votes], hours)


_STEPS = st.lists(st.one_of(st.tuples(st.sampled_from(_USERS), st.just("cli")), _policies()), max_size=6)


@settings(max_examples=150)
@given(_WISHES, _policies(), _STEPS, _PEOPLE)
def test_of_policies_that_come_and_go_those_count_that_are_there_when_it_is_decided(
    wish: ScheduleException, policies: Any, steps: Any, people: Any
) -> None:
    found, voted, later = after(wish, policies=policies, people=people), [], NOW.add(hours=3)
    for step in steps:
        before = found.status.state
        if before == "Active":
            return
        is_vote = bool(step) and isinstance(step[0], str)
        if is_vote:
            if step[0] in voted or not (found.spec.approval_required or found.status.required_approvals):
                continue
            voted.append(step[0])
            found = said(found, "approve", step[0], channel=step[1])
        else:
            policies = step
        found = after(found, policies=policies, people=people, now=later)
        if found.status.state == "Active":
            _assert_satisfied(found, policies, people, voted, 3)


def _assert_satisfied(
    found: ScheduleException, policies: Any, people: Any, voted: list[str], hours: int
) -> None:
    agreed = {user: people[user] for user in voted if user != "alice"}
    for one in policies:
        matched = next(noted for noted in found.status.policies if noted.name == one.metadata.name)
        if one.spec.require is None or matched.unless:
            continue
        further = one.spec.escalate_after if hours >= 2 else None
        emails = {*one.spec.require.emails, *(further.emails if further else ())}
        roles = {*one.spec.require.roles, *(further.roles if further else ())}
        able = [who for who in agreed.values() if _may_fill(who, emails, roles, NOW.add(hours=hours))]
        threshold = one.spec.require.threshold
        needed = (
            len(one.spec.require.emails) + len(one.spec.require.roles) if threshold == "all" else threshold
        )
        assert len(able) >= needed


def _may_fill(who: Person, emails: set[str], roles: set[str], at: Instant) -> bool:
    away = [one.away for one in who.deputy_for if one.since <= at < one.until and one.away.user != "alice"]
    return any(one.email in emails or one.roles & roles for one in (who, *away))


def test_one_that_was_active_before_there_were_policies_counts_from_when_it_was_asked_for() -> None:
    active = after(exception())
    status = replace(active.status, judged=None)
    later = look(replace(active, status=status), now=NOW.add(hours=5)).status
    assert later
    assert later.judged
    assert (later.judged.since, later.judged.let_through) == (active.status.requested_at, True)
