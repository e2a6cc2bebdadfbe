"""What policies and namespaces may say about approvals."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hibernator.api.people import ApproverLevel
from hibernator.decisions.rego import (
    NO_WISHES,
    Answer,
    Broken,
    Wishes,
    read_answer,
    read_namespace,
    read_timeout,
)


def test_a_policy_says_who_is_asked_and_for_how_long() -> None:
    said = {
        "require_approval": True,
        "reason": "production",
        "timeout": "1h30m",
        "approvers": {"L1": ["oncall@company.com", "sre"], "L2": ["cto@company.com"]},
        "escalate_after": 0.25,
    }
    assert read_answer(said) == Answer(
        required=True,
        reason="production",
        wishes=Wishes(
            seconds=5400.0,
            approvers=(
                ApproverLevel(level="L1", emails=("oncall@company.com",), roles=("sre",)),
                ApproverLevel(level="L2", emails=("cto@company.com",)),
            ),
            escalate_after=0.25,
        ),
    )


def test_a_policy_may_say_no_more_than_no() -> None:
    assert read_answer({"require_approval": False}) == Answer(required=False)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "missing required field `require_approval`"),
        ([1], "Expected `object`, got `array`"),
        ({"require_approval": "yes"}, "Expected `bool`, got `str` - at `$.require_approval`"),
        ({"require_approval": True, "timout": "5m"}, "unknown field `timout`"),
        ({"require_approval": True, "timeout": "soon"}, "'soon' is not a duration"),
        ({"require_approval": True, "timeout": "0s"}, "'0s' is no time to decide in"),
        ({"require_approval": True, "timeout": "99999999h"}, "up to a year"),
        ({"require_approval": True, "escalate_after": 1}, "Expected `float` < 1.0"),
        ({"require_approval": True, "approvers": {"L3": []}}, "unknown field `L3`"),
        ({"require_approval": True, "approvers": {"L1": ["a b"]}}, "'a b' is no role"),
        ({"require_approval": True, "approvers": {"L1": ["@"]}}, "'@' is no e-mail address"),
        ({"require_approval": True, "approvers": {"L1": [f"r{n}" for n in range(21)]}}, "more than 20"),
    ],
)
def test_an_answer_of_another_shape_is_broken_and_says_where(said: Any, why: str) -> None:
    found = read_answer(said)
    assert isinstance(found, Broken)
    assert why in found.why


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_a_policy_says_is_an_answer_or_broken(said: Any) -> None:
    assert isinstance(read_answer(said), Answer | Broken)


def test_a_namespace_has_wishes_of_its_own() -> None:
    wishes, problems = read_namespace(
        {
            "approvalTimeout": "30m",
            "approversL1": "- oncall@company.com\n- sre",
            "approversL2": "lead, lead",
            "escalateAfter": "0.75",
        }
    )
    assert not problems
    assert (wishes.seconds, wishes.escalate_after) == (1800.0, 0.75)
    assert [(level.level, level.emails, level.roles) for level in wishes.approvers] == [
        ("L1", ("oncall@company.com",), ("sre",)),
        ("L2", (), ("lead",)),
    ]


def test_what_a_namespace_cannot_wish_is_told_and_the_rest_is_used() -> None:
    wishes, problems = read_namespace({"approvalTimeout": "soon", "escalateAfter": "half", "aprovers": "x"})
    assert wishes == NO_WISHES
    assert problems == (
        "aprovers is none of approvalTimeout, approversL1, approversL2, escalateAfter.",
        "approvalTimeout: 'soon' is not a duration. Write a duration such as 15m.",
        "escalateAfter: 'half' is no part of the time. Write a number such as 0.5.",
    )


@given(
    st.dictionaries(
        st.sampled_from(["approvalTimeout", "approversL1", "approversL2", "escalateAfter"]), st.text()
    )
)
def test_whatever_a_namespace_says_is_understood_or_told(data: dict[str, str]) -> None:
    wishes, _ = read_namespace(data)
    assert wishes.seconds is None or wishes.seconds > 0
    assert wishes.escalate_after is None or 0 < wishes.escalate_after < 1


@given(st.integers(1, 366 * 24 * 60))
def test_a_timeout_in_minutes_is_that_many_seconds(minutes: int) -> None:
    assert read_timeout(f"{minutes}m") == 60.0 * minutes


@pytest.mark.parametrize(
    ("text", "part"), [("0.001", 0.001), ("0.999", 0.999), ("0", None), ("1", None), ("1.5", None)]
)
def test_a_part_of_the_time_is_neither_none_nor_all_of_it(text: str, part: float | None) -> None:
    wishes, problems = read_namespace({"escalateAfter": text})
    assert wishes.escalate_after == part
    assert len(problems) == (0 if part else 1)


@pytest.mark.parametrize(("length", "known"), [(254, True), (255, False)])
def test_an_address_is_as_long_as_addresses_can_be(length: int, *, known: bool) -> None:
    address = f"{'a' * 60}@{'.'.join(['b' * 60] * 3)}."
    address += "c" * (length - len(address))
    wishes, problems = read_namespace({"approversL1": address})
    assert (bool(wishes.approvers), not problems) == (known, known)


@pytest.mark.parametrize(("many", "known"), [(20, True), (21, False)])
def test_a_level_has_as_many_roles_as_the_crd_lets_it_have(many: int, *, known: bool) -> None:
    wishes, problems = read_namespace({"approversL1": ", ".join(f"role{number}" for number in range(many))})
    assert (bool(wishes.approvers), not problems) == (known, known)
