"""The Rego engine in its own process: what it answers, and what it survives."""

from collections.abc import AsyncIterator

import pytest

from hibernator.approvals.rego import Rego
from hibernator.decisions.rego import Answer, Broken

POLICY = """package remediation

default approval := {"require_approval": false}

approval := {"require_approval": true, "reason": reason} if input.remediation.environment == "production"

reason := sprintf("%s is production", [input.name])
"""


@pytest.fixture
async def rego() -> AsyncIterator[Rego]:
    async with Rego() as engine:
        yield engine


def one(text: str) -> dict[str, str]:
    return {"policy.rego": text}


async def why(rego: Rego, text: str) -> str:
    found = await rego.ask(one(text), {"x": True})
    assert isinstance(found, Broken), found
    return found.why


async def test_a_policy_answers_by_what_it_is_given(rego: Rego) -> None:
    given = {"name": "shop", "remediation": {"environment": "production"}}
    assert await rego.ask(one(POLICY), given) == Answer(required=True, reason="shop is production")
    assert await rego.ask(one(POLICY), {"name": "shop", "remediation": None}) == Answer(required=False)


async def test_a_policy_in_several_files_is_one(rego: Rego) -> None:
    data = {
        "a.rego": 'package remediation\napproval := {"require_approval": data.lists.risky[input.name]}',
        "b.rego": "package lists\nrisky := {input.name: true}",
        "README": "no policy at all",
    }
    assert await rego.ask(data, {"name": "shop"}) == Answer(required=True)


async def test_a_changed_policy_is_the_one_that_answers(rego: Rego) -> None:
    for required in (True, False, True):
        text = f'package remediation\napproval := {{"require_approval": {str(required).lower()}}}'
        assert await rego.ask(one(text), {}) == Answer(required=required)


async def test_a_policy_that_does_not_parse_is_broken_with_its_line(rego: Rego) -> None:
    broken = await rego.check(one("package remediation\n\napproval := "))
    assert broken == Broken("The policy is broken: policy.rego, line 3: Invalid assignment operator.")
    assert await rego.check(one(POLICY)) is None


async def test_a_policy_that_has_no_answer_is_broken(rego: Rego) -> None:
    assert "says nothing about this analysis" in await why(rego, "package elsewhere\nx := 1")
    both = 'approval := {"require_approval": %s} if input.x'
    assert "contradict" in await why(rego, f"package remediation\n{both % 'true'}\n{both % 'false'}")
    assert "Expected `bool`" in await why(rego, 'package remediation\napproval := {"require_approval": 1}')


async def test_a_config_map_without_a_policy_is_broken(rego: Rego) -> None:
    assert await rego.ask({"policy.txt": POLICY}, {}) == Broken(
        "The ConfigMap has no key that ends in .rego."
    )


async def test_what_ends_the_engine_does_not_end_us(rego: Rego) -> None:
    missing = 'package remediation\napproval := {"require_approval": no_such_function(1)}'
    assert "ended over it" in await why(rego, missing)
    assert await rego.ask(one(POLICY), {}) == Answer(required=False)


async def test_a_policy_without_end_is_given_up() -> None:
    text = """package remediation

import rego.v1

pairs := [1 | some i in numbers.range(1, 400); some j in numbers.range(1, 400); i * j > 0]

approval := {"require_approval": count(pairs) > 0}
"""
    async with Rego(patience=0.1) as rego:
        found = await rego.ask(one(text), {})
        assert found == Broken("The policy has not answered within 0.1 seconds.")


async def test_a_policy_finds_no_secrets_of_the_operator(rego: Rego, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIBERNATOR_TEST_SECRET", "hunter2")
    reason = 'sprintf("%v", [opa.runtime().env])'
    text = f'package remediation\napproval := {{"require_approval": true, "reason": {reason}}}'
    found = await rego.ask(one(text), {})
    assert isinstance(found, Answer)
    assert "hunter2" not in found.reason
