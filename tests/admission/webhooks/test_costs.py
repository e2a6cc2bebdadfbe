"""Reviews of objects of any shape: there is an answer, and it costs next to nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from hibernator.admission.review import admission
from hibernator.admission.webhooks.validation import validation
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from support.clock import ManualClock
from support.costs import at_most
from support.kubeconfigs import write_kubeconfig
from support.plan_scenes import noop, plan

ENOUGH = 1_000_000  # lines; a twentieth of a second
DEPTHS = (100, 400, 900, 9_000)  # API servers let ten thousand in


def nested(depth: int) -> str:
    """A plan with parameters of that depth, which no encoder of Python would write."""
    text = json.dumps(plan({**noop("nothing"), "parameters": {"x": "HERE"}}))
    return text.replace('"HERE"', '{"a":' * depth + "1" + "}" * depth)


def body(new: str, old: str = "null") -> bytes:
    request = {
        "uid": "1",
        "operation": "CREATE" if old == "null" else "UPDATE",
        "resource": {"group": "hibernator.ardikabs.com", "version": "v1alpha1", "resource": "hibernateplans"},
        "userInfo": {"username": "alice"},
        "object": "NEW",
        "oldObject": "OLD",
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).replace('"NEW"', new).replace('"OLD"', old).encode()


async def answer(tmp_path: Path, review: bytes) -> dict[str, Any]:
    server = {"server": "https://127.0.0.1:9"}  # never asked about a plan
    config = write_kubeconfig(tmp_path / "config", cluster=server, user={"token": "none"})
    judge = validation(Client(find(str(config))), ManualClock(), lambda *_plan: ())
    with at_most(ENOUGH):
        answered = await admission(judge)(review)
    found: dict[str, Any] = json.loads(answered)["response"]
    return found


@pytest.mark.parametrize("depth", DEPTHS)
async def test_a_plan_of_any_depth_is_answered(tmp_path: Path, depth: int) -> None:
    found = await answer(tmp_path, body(nested(depth)))
    assert found["allowed"] is False
    assert found["status"]["code"] == 422
    assert len(found["status"]["message"]) < 1000


async def test_a_plan_that_is_too_deep_can_be_put_right(tmp_path: Path) -> None:
    mended = json.dumps(plan(noop("nothing")))
    assert (await answer(tmp_path, body(mended, nested(9_000))))["allowed"] is True
