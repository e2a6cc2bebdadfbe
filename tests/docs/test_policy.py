"""The approval policy in the guide is the one in the examples, and does what the guide says."""

import re
from pathlib import Path

from hibernator.approvals.rego import Rego
from hibernator.decisions.rego import Answer

DOCS = Path(__file__).parents[2] / "docs"
POLICY = (DOCS / "examples" / "remediation-policy.rego").read_text("utf-8")


def test_the_guide_shows_the_example() -> None:
    guide = (DOCS / "guides" / "remediation-approvals.md").read_text("utf-8")
    found = re.search(r"```rego remediation-policy\.rego\n(.*?)```", guide, re.DOTALL)
    assert found
    assert found[1] == POLICY


async def test_the_example_asks_people_about_production_only() -> None:
    data = {"remediation-policy.rego": POLICY}
    async with Rego() as rego:
        answer = await rego.ask(data, {"remediation": {"environment": "production"}})
        assert isinstance(answer, Answer)
        assert answer.required
        assert answer.wishes.seconds == 600
        assert [level.level for level in answer.wishes.approvers] == ["L1", "L2"]
        assert await rego.ask(data, {"remediation": {"environment": "staging"}}) == Answer(required=False)
        assert await rego.ask(data, {"remediation": None}) == Answer(required=False)
