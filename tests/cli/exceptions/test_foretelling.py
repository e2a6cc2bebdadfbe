"""What `exception create` and `policy explain` say of policies, before anything is filed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hibernator.api.exceptionpolicy import EXCEPTION_POLICIES
from hibernator.cli.offline.governed import HOME
from support.cluster import ClusterInTest
from support.command import hibernator
from support.exception_scenes import EVERY_DAY, ExceptionScene, exception, hours
from support.plan_scenes import noop, plan


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> Iterator[ExceptionScene]:
    """A plan in a namespace with a label, which a policy of the operator's namespace selects."""
    found = ExceptionScene(crds, namespace)
    found.apply(plan(noop("nothing"), name="nights"))
    crds.kubectl("label", "namespace", namespace, f"stage={namespace}")
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
    crds.kubectl("apply", "-f", "-", input=yaml.safe_dump(home))
    policy: dict[str, Any] = {
        "apiVersion": EXCEPTION_POLICIES.api_version,
        "kind": EXCEPTION_POLICIES.kind,
        "metadata": {"name": namespace, "namespace": HOME},
        "spec": {
            "message": "Production belongs to its owner.",
            "namespaceSelector": {"matchLabels": {"stage": namespace}},
            "require": {"emails": ["owner@company.com"]},
        },
    }
    crds.kubectl("apply", "-f", "-", input=yaml.safe_dump(policy))
    yield found
    crds.kubectl("delete", "exceptionpolicy", namespace, "-n", HOME)


def test_policies_of_the_operators_namespace_are_foretold(scene: ExceptionScene, tmp_path: Path) -> None:
    place = f"--kubeconfig={scene.cluster.kubeconfig}", "-n", scene.namespace
    expected = f"ExceptionPolicy {HOME}/{scene.namespace}: Production belongs to its owner."
    created = hibernator(
        "exception", "create", "late", "--plan", "nights", "--type", "suspend", "--for", "4h", *place
    )
    assert created.code == 0, created.err
    assert created.out.startswith(f"{expected} owner@company.com must agree.")
    valid = {"validFrom": "2026-03-02T00:00:00Z", "validUntil": "2026-03-03T00:00:00Z"}
    spec: dict[str, Any] = {"type": "extend", "windows": hours("12:00", "13:00", EVERY_DAY)}
    wish = exception("late", "nights", **spec, **valid)
    (tmp_path / "late.yaml").write_text(yaml.safe_dump(wish))
    explained = hibernator("policy", "explain", "-f", tmp_path / "late.yaml", *place)
    assert f"{HOME}/{scene.namespace}: matches." in explained.out
    assert "owner@company.com must agree" in explained.out
