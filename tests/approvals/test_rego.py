"""The Rego engine in its own process: what it answers, and what it survives."""

import os
import signal
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

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


async def test_a_policy_that_calls_what_does_not_exist_is_told_so(rego: Rego) -> None:
    text = 'package remediation\napproval := {"require_approval": no_such_function(1)}'
    assert await why(rego, text) == "The policy is broken: Function not found: no_such_function."
    assert await rego.ask(one(POLICY), {}) == Answer(required=False)


async def test_a_config_map_without_a_policy_is_broken(rego: Rego) -> None:
    assert await rego.ask({"policy.txt": POLICY}, {}) == Broken(
        "The ConfigMap has no key that ends in .rego."
    )


async def test_a_policy_without_end_is_given_up() -> None:
    text = """package remediation

import rego.v1

many := numbers.range(1, 1000)

found := [1 | some i in many; some j in many; some k in many; i * j * k < 0]

approval := {"require_approval": count(found) > 0}
"""
    async with Rego(patience=1) as rego:
        found = await rego.ask(one(text), {})
        assert found == Broken("The policy has no answer after 1 s of computing.")


@pytest.mark.parametrize("size", [10_000, 1_500_000, 4_000_000])
async def test_an_input_may_be_large(rego: Rego, size: int) -> None:
    given = {"name": "shop", "remediation": {"environment": "staging", "log": "x" * size}}
    assert await rego.ask(one(POLICY), given) == Answer(required=False)


async def test_one_engine_lives_through_many_policies(rego: Rego) -> None:
    processes = set()
    for number in range(100):
        lists = f"package lists\nrisky := {list(range(number))}"
        policy = {"policy.rego": POLICY, "lists.rego": lists}
        assert await rego.ask(policy, {"name": "x" * number}) == Answer(required=False)
        processes.add(rego._child.pid)
    assert len(processes) == 1


async def test_a_policy_that_takes_all_memory_ends_the_engine_and_not_us(rego: Rego) -> None:
    doubled = "\n".join(f'a{n + 1} := concat("", [a{n}, a{n}])' for n in range(34))
    text = f'package remediation\na0 := "x"\n{doubled}\napproval := {{"require_approval": count(a34) > 0}}'
    with capture_logs() as logs:
        assert "The Rego engine ended over it" in await why(rego, text)
    assert -signal.SIGKILL not in {log["code"] for log in logs}  # it is told what it really ended with
    assert await rego.ask(one(POLICY), {}) == Answer(required=False)


async def test_an_answer_that_is_far_too_long_is_broken(rego: Rego) -> None:
    reason = 'concat("", [input.x, input.x])'
    text = f'package remediation\napproval := {{"require_approval": true, "reason": {reason}}}'
    found = await rego.ask(one(text), {"x": "x" * 1_000_000})
    assert found == Broken("data.remediation.approval is far too long, or no JSON.")
    assert await rego.ask(one(POLICY), {}) == Answer(required=False)


async def test_an_engine_that_was_killed_between_two_questions_is_replaced(rego: Rego) -> None:
    assert await rego.ask(one(POLICY), {}) == Answer(required=False)
    process = rego._child._process
    assert process
    process.kill()
    assert await rego.ask(one(POLICY), {}) == Answer(required=False)


async def test_what_is_typed_to_stop_the_operator_does_not_stop_the_engine(rego: Rego) -> None:
    await rego.check(one(POLICY))
    assert rego._child.pid
    assert os.getpgid(rego._child.pid) != os.getpgid(0)


async def test_a_policy_finds_no_secrets_of_the_operator(rego: Rego, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIBERNATOR_TEST_SECRET", "hunter2")
    reason = 'sprintf("%v", [opa.runtime().env])'
    text = f'package remediation\napproval := {{"require_approval": true, "reason": {reason}}}'
    found = await rego.ask(one(text), {})
    assert isinstance(found, Answer)
    assert "hunter2" not in found.reason
