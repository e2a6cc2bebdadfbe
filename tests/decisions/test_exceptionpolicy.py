"""What policies ask of an exception: who must agree, when nobody has to, and what is not allowed."""

from typing import Any

import msgspec
import pytest
from whenever import Instant

from decisions.exception_seen import NOW, exception
from decisions.policies import MANAGER, asked, plan, policy
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.exceptionpolicy import foretold
from hibernator.decisions.person import Person

SHORT: dict[str, Any] = {"validFrom": "2026-02-02T08:00:00Z", "validUntil": "2026-02-02T12:00:00Z"}
ALL_DAY = {"start": "00:00", "end": "23:59", "daysOfWeek": ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]}


def at(number: int, since: str, until: str) -> ScheduleException:
    """One of many, each a minute younger than the one before."""
    times = {"validFrom": f"2026-02-{since}:00Z", "validUntil": f"2026-02-{until}:00Z"}
    found: ScheduleException = exception(f"e{number}", created=f"2026-01-29T09:{number:02}:00Z", **times)
    return found


def test_a_policy_asks_for_its_people_with_its_name_beside_each() -> None:
    found = asked(exception(), policy(require={"emails": ["bob@company.com"], "roles": ["manager"]}))
    assert [(seat.kind, seat.name, seat.policy) for seat in found.places] == [
        ("email", "bob@company.com", "four-eyes"),
        ("role", "manager", "four-eyes"),
    ]
    assert found.needs == (("four-eyes", 2),)


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({"matchLabels": {"tier": "production"}}, True),
        ({"matchLabels": {"tier": "test"}}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["production"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["production"]}]}, False),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["shop"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
        ({}, True),
    ],
)
def test_a_policy_is_about_the_plans_that_it_selects(selector: dict[str, Any], *, matches: bool) -> None:
    found = asked(exception(), policy(planSelector=selector, **MANAGER), plan=plan({"tier": "production"}))
    assert bool(found.each) == matches


def test_a_policy_with_a_namespace_selector_counts_only_from_the_namespace_of_the_operator() -> None:
    everywhere = {"namespaceSelector": {"matchLabels": {"env": "prod"}}, **MANAGER}
    mine = policy(namespace="elsewhere", **everywhere)
    assert not asked(exception(), mine, home="hibernator-system", namespace_labels={"env": "prod"}).each
    theirs = policy(namespace="hibernator-system", **everywhere)
    found = asked(exception(), theirs, home="hibernator-system", namespace_labels={"env": "prod"})
    assert [one.policy for one in found.each] == ["hibernator-system/four-eyes"]
    assert not asked(exception(), theirs, home="hibernator-system", namespace_labels={"env": "dev"}).each


def test_every_policy_counts_for_a_plan_that_is_missing() -> None:
    one = policy(planSelector={"matchLabels": {"tier": "production"}}, **MANAGER)
    assert asked(exception(), one, plan=None).each


def test_a_policy_that_matched_once_stays_when_the_plan_is_relabelled() -> None:
    one = policy(planSelector={"matchLabels": {"tier": "production"}}, **MANAGER)
    assert asked(exception(), one, plan=plan(), matched=frozenset({"four-eyes"})).places


@pytest.mark.parametrize(
    ("unless", "spec", "why"),
    [
        ({"types": ["extend"]}, {}, "its type is extend"),
        ({"types": ["suspend"]}, {}, ""),
        ({"wakesOnly": True}, {"type": "suspend"}, "it only wakes workloads"),
        ({"wakesOnly": True}, {"type": "replace"}, ""),
        ({"durationAtMost": "4h"}, SHORT, "it lasts at most 4h"),
        ({"durationAtMost": "3h59m"}, SHORT, ""),
        ({"requesterRoles": ["on-call"]}, {}, "alice is in the role on-call"),
        ({"requesterRoles": ["manager"]}, {}, ""),
        ({"types": ["extend"], "durationAtMost": "1h"}, SHORT, ""),
        (
            {"withinHours": [{"start": "06:00", "end": "12:00", "daysOfWeek": ["MON"]}]},
            SHORT,
            "it is valid only within the agreed hours",
        ),
        ({"withinHours": [{"start": "06:00", "end": "11:00", "daysOfWeek": ["MON"]}]}, SHORT, ""),
    ],
)
def test_no_one_has_to_agree_in_the_cases_that_the_policy_names(
    unless: dict[str, Any], spec: dict[str, Any], why: str
) -> None:
    alice = Person("alice", roles=frozenset({"on-call"}))
    found = asked(exception(**spec), policy(unless=[unless], **MANAGER), requester=alice)
    assert (found.each[0].unless, bool(found.places)) == (why, not why)


@pytest.mark.parametrize(
    ("limits", "spec", "sentence"),
    [
        ({"maxDuration": "2h"}, SHORT, "It lasts 4h, and the limit is 2h"),
        ({"maxDuration": "4h"}, SHORT, ""),
        ({"types": ["suspend"]}, {}, "spec.type is extend: only suspend is allowed."),
        ({"minNotice": "24h"}, {"validFrom": "2026-01-30T09:59:59Z"}, "at least 24h after it is submitted"),
        ({"minNotice": "24h"}, {"validFrom": "2026-01-30T10:00:00Z"}, ""),
        ({"maxActivePerWeek": 0}, {}, "exception 1 of this plan within seven days, and the limit is 0"),
    ],
)
def test_a_limit_that_is_broken_is_a_sentence(
    limits: dict[str, Any], spec: dict[str, Any], sentence: str
) -> None:
    found = asked(exception(**spec), policy("office", limits=limits, message="Office plans rest at night."))
    assert bool(found.problems) == bool(sentence)
    if sentence:
        assert found.problems[0].startswith("ExceptionPolicy office: Office plans rest at night. ")
        assert sentence in found.problems[0]


def test_one_long_exception_in_ten_short_ones_is_caught_by_their_joined_duration() -> None:
    hours = [(f"02T{hour:02}:00", f"02T{hour + 1:02}:30") for hour in range(0, 20, 2)]
    ten = [at(number, *span) for number, span in enumerate(hours)]
    found = asked(ten[-1], policy(limits={"maxDuration": "8h"}), others=tuple(ten[:-1]))
    assert (
        "Together with the exceptions of this plan right before or after it, it lasts 19h30m"
        in found.problems[0]
    )
    assert not asked(ten[2], policy(limits={"maxDuration": "8h"}), others=tuple(ten)).problems


@pytest.mark.parametrize(("begins", "refused"), [("02T15:59", True), ("02T16:00", False)])
def test_exceptions_with_a_whole_hour_between_them_are_two(begins: str, *, refused: bool) -> None:
    """As the refusal says: leave an hour between them."""
    first, second = at(0, "02T08:00", "02T15:00"), at(1, begins, "02T20:00")
    assert bool(asked(second, policy(limits={"maxDuration": "8h"}), others=(first,)).problems) == refused


def test_ten_short_exceptions_with_pauses_are_caught_by_their_number() -> None:
    ten = [at(number, f"{number + 1:02}T08:00", f"{number + 1:02}T09:00") for number in range(7)]
    three = policy(limits={"maxActivePerWeek": 3})
    refused = [bool(asked(one, three, others=tuple(ten)).problems) for one in ten]
    assert refused == [False, False, False, True, True, True, True]


def test_exceptions_that_pretend_to_have_begun_long_ago_count_from_when_they_were_asked_for() -> None:
    old = [exception(f"e{n}", validFrom=f"2026-01-0{n + 1}T00:00:00Z") for n in range(3)]
    found = asked(old[-1], policy(limits={"maxActivePerWeek": 2}), others=tuple(old))
    assert "exception 3 of this plan" in found.problems[0]


def test_what_was_deleted_counts_because_the_plan_remembers_it() -> None:
    past = [
        {
            "uid": f"gone-{n}",
            "name": "gone",
            "beganAt": f"2026-02-0{n}T08:00:00Z",
            "validUntil": f"2026-02-0{n}T09:00:00Z",
        }
        for n in (1, 2)
    ]
    found = asked(
        exception(**SHORT), policy(limits={"maxActivePerWeek": 2}), plan=plan(recentExceptions=past)
    )
    assert "exception 3 of this plan" in found.problems[0]


@pytest.mark.parametrize(
    ("freeze", "spec", "held"),
    [
        ({"firstDay": "2026-02-02", "lastDay": "2026-02-02"}, SHORT, True),
        ({"firstDay": "2026-02-03", "lastDay": "2026-02-10"}, SHORT, False),
        ({"firstDay": "2026-02-01", "lastDay": "2026-02-01"}, SHORT, False),
        ({"firstDay": "2026-02-02", "lastDay": "2026-02-02", "types": ["suspend"]}, SHORT, False),
        ({"windows": [{"start": "07:00", "end": "09:00", "daysOfWeek": ["MON"]}]}, SHORT, True),
        ({"windows": [{"start": "09:00", "end": "10:00", "daysOfWeek": ["MON"]}]}, SHORT, False),
    ],
)
def test_no_exception_begins_in_a_freeze(freeze: dict[str, Any], spec: dict[str, Any], *, held: bool) -> None:
    assert bool(asked(exception(**spec), policy(freeze=[freeze])).problems) == held


def test_no_window_of_an_exception_begins_in_a_freeze_either() -> None:
    """Otherwise an exception of ninety days that was valid since yesterday would get around it."""
    early = exception(validFrom="2026-01-29T00:00:00Z", windows=[ALL_DAY])
    freeze = {"firstDay": "2026-02-10", "lastDay": "2026-02-11"}
    assert asked(early, policy(freeze=[freeze])).problems
    assert not asked(early, policy(freeze=[{"firstDay": "2026-01-27", "lastDay": "2026-01-28"}])).problems


def test_an_exception_that_was_asked_for_in_time_does_not_begin_in_a_freeze_either() -> None:
    """Otherwise it is filed before the freeze, and approved in the middle of it."""
    waiting = exception(windows=[ALL_DAY | {"daysOfWeek": ["MON"]}])
    one = policy(freeze=[{"firstDay": "2026-02-03", "lastDay": "2026-02-04"}], **MANAGER)
    before, during = asked(waiting, one), asked(waiting, one, now=Instant.from_utc(2026, 2, 3, 12))
    assert not before.problems
    assert before.next_change(NOW) == Instant.from_utc(2026, 2, 3)
    assert "may begin before 2026-02-05T00:00:00Z: it is a freeze" in during.problems[0]
    assert during.next_change(Instant.from_utc(2026, 2, 3, 12)) == Instant.from_utc(2026, 2, 5)
    assert not asked(waiting, one, now=Instant.from_utc(2026, 2, 5)).problems


def test_an_exception_that_is_over_begins_in_no_freeze() -> None:
    one = policy(freeze=[{"firstDay": "2026-02-03", "lastDay": "2026-02-04"}], **MANAGER)
    assert not asked(exception(**SHORT), one, now=Instant.from_utc(2026, 2, 3, 12)).problems


def test_the_week_that_counts_is_the_one_in_which_an_exception_really_begins() -> None:
    """Otherwise one that waits for three weeks seems to have begun long ago, and another comes besides."""
    long: dict[str, Any] = {"validFrom": "2026-01-29T10:00:00Z", "validUntil": "2026-03-20T10:00:00Z"}
    now, one = Instant.from_utc(2026, 2, 20), policy(limits={"maxActivePerWeek": 1})
    status = {"state": "Active", "requestedAt": "2026-01-29T10:00:00Z", "appliedAt": "2026-02-19T10:00:00Z"}
    waited = msgspec.convert(
        msgspec.to_builtins(exception("a", **long)) | {"status": status}, ScheduleException
    )
    late = exception("b", **long)
    assert "exception 2 of this plan" in asked(late, one, others=(waited,), now=now).problems[0]
    past = {
        "uid": "gone",
        "name": "gone",
        "beganAt": "2026-02-18T08:00:00Z",
        "validUntil": "2026-02-18T09:00:00Z",
    }
    found = asked(late, one, plan=plan(recentExceptions=[past]), now=now)
    assert found.problems
    assert found.next_change(now) == Instant.from_utc(2026, 2, 25, 8)
    over = Instant.from_utc(2026, 2, 25, 8)
    assert not asked(late, one, plan=plan(recentExceptions=[past]), now=over).problems


def test_who_may_override_a_freeze_is_asked_besides_all_others() -> None:
    freeze = {"firstDay": "2026-02-02", "lastDay": "2026-02-02", "override": {"roles": ["director"]}}
    found = asked(exception(**SHORT), policy("prod", freeze=[freeze], **MANAGER))
    assert not found.problems
    assert found.needs == (("prod", 1), ("prod (freeze 1)", 1))


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [(None, "spec.reason is empty"), ("because", "must contain"), ("for OPS-12", "")],
)
def test_a_reason_is_required_and_names_a_ticket(reason: str | None, sentence: str) -> None:
    one = policy(reasonRequired=True, reasonPattern="[A-Z]+-[0-9]+")
    found = asked(exception(**({"reason": reason} if reason else {})), one).problems
    assert sentence in found[0] if sentence else not found


def test_after_a_while_others_may_agree_too_and_no_fewer_must() -> None:
    one = policy(
        require={"roles": ["manager", "owner"]}, escalateAfter={"after": "4h", "roles": ["director"]}
    )
    before, later = asked(exception(), one), asked(exception(), one, now=NOW.add(hours=4))
    assert before.next_change(NOW) == NOW.add(hours=4)
    assert [seat.name for seat in later.places] == ["manager", "owner", "director"]
    assert before.needs == later.needs == (("four-eyes", 2),)


def test_the_channels_that_count_are_those_of_every_policy() -> None:
    one, other = policy("a", channels=["link", "cli"]), policy("b", channels=["cli", "kubectl"])
    assert asked(exception(), one, other, policy("c")).channels == frozenset({"cli"})
    clash = asked(exception(), one, policy("b", channels=["kubectl"]))
    assert "leave no channel" in clash.problems[0]


@pytest.mark.parametrize(
    "broken",
    [
        {"reasonRequired": True, "reasonPattern": "(a"},
        {"limits": {"maxDuration": "a while"}},
        {"require": {}},
        {"require": {"roles": ["manager"], "threshold": 0}},
        {"require": {"roles": ["manager"], "threshold": 2}},
        {"freeze": [{"firstDay": "2026-02-31", "lastDay": "2026-02-31"}]},
        {"freeze": [{"windows": [{"start": "25:00", "end": "09:00", "daysOfWeek": ["MON"]}]}]},
    ],
)
def test_a_policy_that_cannot_be_read_holds_what_it_is_about(broken: dict[str, Any]) -> None:
    found = asked(exception(reason="because"), policy(**broken))
    assert "The policy cannot be read, so nothing passes it" in found.problems[0]


def test_more_policies_than_can_be_noted_down_hold_everything() -> None:
    found = asked(exception(), *(policy(f"p{number:02}", **MANAGER) for number in range(17)))
    assert len(found.each) == 16
    assert "17 policies are about this exception" in found.problems[0]


def test_an_unknown_requester_is_in_no_role() -> None:
    nobody = Person("", roles=frozenset({"on-call"}))
    found = asked(exception(), policy(unless=[{"requesterRoles": ["on-call"]}], **MANAGER), requester=nobody)
    assert found.places


def test_who_will_have_to_agree_is_said_before_anything_is_filed() -> None:
    freeze = {"firstDay": "2026-02-02", "lastDay": "2026-02-02", "override": {"roles": ["director"]}}
    people = {"emails": ["bob@company.com", "carol@company.com", "dave@company.com"], "threshold": 2}
    found = asked(
        exception(**SHORT),
        policy("four-eyes", require=people, freeze=[freeze], message="Payments are careful."),
        policy("office", unless=[{"types": ["extend"]}], channels=["link", "cli"], **MANAGER),
    )
    assert list(foretold(found)) == [
        (
            "ExceptionPolicy four-eyes: Payments are careful. 2 of these must agree: bob@company.com, "
            "carol@company.com, dave@company.com."
        ),
        "ExceptionPolicy four-eyes (freeze 1): Payments are careful. director must agree.",
        "ExceptionPolicy office: no approval is needed, because its type is extend.",
        "Approvals count through cli, link only.",
    ]


def test_an_escalation_that_has_come_is_not_ahead() -> None:
    one = policy(escalateAfter={"after": "4h", "roles": ["director"]}, **MANAGER)
    found = asked(exception(), one)
    assert found.next_change(NOW.add(hours=4)) is None


def test_an_exception_may_begin_when_a_freeze_ends() -> None:
    freeze = {"windows": [{"start": "07:00", "end": "08:00", "daysOfWeek": ["MON"]}]}
    early = SHORT | {"validFrom": "2026-02-02T06:00:00Z"}
    begins = {"start": "08:00", "end": "09:00", "daysOfWeek": ["MON"]}
    assert not asked(exception(**early, windows=[begins]), policy(freeze=[freeze])).problems
    assert asked(exception(**early, windows=[begins | {"start": "07:59"}]), policy(freeze=[freeze])).problems


def test_a_neighbour_that_never_was_in_force_makes_nothing_longer() -> None:
    past = {
        "name": "gone",
        "uid": "gone",
        "type": "extend",
        "beganAt": "2026-02-02T07:30:00Z",
        "validUntil": "2026-02-02T07:30:00Z",
    }
    four_hours = policy(limits={"maxDuration": "4h"})
    assert not asked(exception(**SHORT), four_hours, plan=plan(recentExceptions=[past])).problems
    longer = past | {"validUntil": "2026-02-02T07:40:00Z"}
    assert asked(exception(**SHORT), four_hours, plan=plan(recentExceptions=[longer])).problems


def test_of_several_roles_that_relieve_the_first_by_name_is_said() -> None:
    dora = Person("dora", roles=frozenset({"on-call", "sre", "intern"}))
    one = policy(unless=[{"requesterRoles": ["sre", "on-call"]}], **MANAGER)
    assert list(foretold(asked(exception(), one, requester=dora))) == [
        "ExceptionPolicy four-eyes: no approval is needed, because dora is in the role on-call."
    ]


@pytest.mark.parametrize(
    ("since", "until", "within"),
    [
        ("2026-03-28T23:00:00Z", "2026-03-29T04:00:00Z", True),  # six hours on the clock, five in truth
        ("2026-03-28T23:00:00Z", "2026-03-29T04:00:01Z", False),
        ("2026-10-24T22:00:00Z", "2026-10-25T05:00:00Z", True),  # and seven in autumn
        ("2026-10-24T22:00:00Z", "2026-10-25T05:00:01Z", False),
        ("2026-10-24T21:59:59Z", "2026-10-25T05:00:00Z", False),
    ],
)
def test_the_hours_of_a_policy_are_those_of_the_plans_clock_also_when_it_is_changed(
    since: str, until: str, *, within: bool
) -> None:
    document = msgspec.to_builtins(plan())
    document["spec"]["schedule"]["timezone"] = "Europe/Berlin"
    berlin = msgspec.convert(document, HibernatePlan)
    hours = [{"start": "00:00", "end": "06:00", "daysOfWeek": ["SUN"]}]
    one = policy(unless=[{"withinHours": hours}], **MANAGER)
    found = asked(exception(validFrom=since, validUntil=until), one, plan=berlin)
    assert bool(found.places) != within


def test_a_policy_for_remediations_is_about_plans_only_with_a_plan_selector() -> None:
    assert not asked(exception(), policy(remediationSelector={}, **MANAGER)).places
    assert asked(exception(), policy(remediationSelector={}, planSelector={}, **MANAGER)).places


def _emails(number: int) -> list[str]:
    return [f"p{one}@company.com" for one in range(number)]


@pytest.mark.parametrize(
    ("own", "policies", "why"),
    [
        (0, [MANAGER] * 16, ""),
        (0, [{"require": {"emails": _emails(200), "threshold": 1}}], ""),
        (
            1,
            [{"require": {"emails": _emails(200), "threshold": 1}}],
            "More than 200 people and roles would be",
        ),
        (0, [{"require": {"emails": _emails(40)}}], ""),
        (1, [{"require": {"emails": _emails(40)}}], "More than 40 approvals would be needed."),
    ],
)
def test_policies_ask_for_as_much_as_can_be_noted_down(
    own: int, policies: list[dict[str, Any]], why: str
) -> None:
    found = exception(approvalRequired=True, approverEmails=_emails(own))
    demands = asked(found, *(policy(f"p{number:02}", **one) for number, one in enumerate(policies)))
    assert bool(demands.problems) == bool(why)
    assert why in "".join(demands.problems)


def test_what_is_too_much_together_is_said_once_and_first() -> None:
    too_many: dict[str, Any] = {"require": {"emails": _emails(201), "threshold": 1}}
    found = asked(exception(), policy("a", **too_many), policy("b", limits={"types": ["suspend"]}))
    assert [len(one.problems) for one in found.each] == [1, 1]
    assert "More than 200" in found.problems[0]
    assert "only suspend is allowed" in found.problems[1]
    own = asked(exception(), policy("a", limits={"types": ["suspend"]}, **too_many))
    assert ["More than 200" in one for one in own.problems] == [True, False]


@pytest.mark.parametrize(
    ("other", "counts"),
    [
        ({"status": {"state": "Pending"}}, True),
        ({"status": {"state": "Pending"}, "spec": {"draft": True}}, False),
        ({"status": {"state": "Pending"}, "spec": {"cancelled": True}}, False),
        ({"status": {"state": "Rejected"}}, False),
        ({"status": {"state": "Pending"}, "refused": True}, False),
        ({"status": {"state": "Pending"}, "created": "2026-01-29T09:30:00Z"}, False),
        ({"status": {"state": "Approved"}, "created": "2026-01-29T09:30:00Z"}, True),
        ({"status": {"state": "Active"}, "created": "2026-01-29T09:30:00Z"}, True),
    ],
)
def test_what_was_let_through_or_asked_for_earlier_counts_for_the_limits(
    other: dict[str, Any], *, counts: bool
) -> None:
    found = exception("other", created=other.get("created", "2026-01-29T08:00:00Z"), **other.get("spec", {}))
    status = dict(other["status"])
    if "refused" in other:
        refused = {"type": "Ready", "status": "False", "reason": "PolicyRefused"}
        status["conditions"] = [refused | {"lastTransitionTime": "2026-01-29T09:00:00Z"}]
    found = msgspec.convert(msgspec.to_builtins(found) | {"status": status}, ScheduleException)
    one = policy(limits={"maxActivePerWeek": 1})
    assert bool(asked(exception("mine"), one, others=(found,)).problems) is counts


@pytest.mark.parametrize(("mine", "other"), [("02", "09"), ("09", "02")])
def test_what_begins_seven_days_apart_does_not_begin_within_seven_days(mine: str, other: str) -> None:
    others = tuple(at(number, f"{other}T08:00", f"{other}T09:00") for number in range(2))
    found = asked(
        at(2, f"{mine}T08:00", f"{mine}T09:00"), policy(limits={"maxActivePerWeek": 1}), others=others
    )
    assert not found.problems
