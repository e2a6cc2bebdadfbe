"""Which patches are refused before anything sleeps by them."""

from typing import Any

import pytest

from hibernator.api.patching import patch_problems, refusal

PATH = "spec.targets[0].parameters.patch"


def told(patch: Any) -> list[str]:
    return [f"{one.path}: {one.message}. {one.fix}" for one in patch_problems(patch, PATH)]


@pytest.mark.parametrize(
    "path",
    [
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/ownerReferences",
        "/metadata/finalizers/0",
        "/metadata/annotations",
        "/metadata/annotations/hibernator.ardikabs.com~1exclude",
        "/metadata/labels/hibernator.ardikabs.com~1asleep",
        "/status/phase",
        "/data/key",
        "/spec",
        "/kind",
    ],
)
def test_a_patch_changes_nothing_but_spec_labels_and_annotations(path: str) -> None:
    (one,) = patch_problems([{"op": "add", "path": path, "value": "x"}], PATH)
    assert (one.path, one.value) == (f"{PATH}[0].path", path)
    assert one.fix == "Change a field of spec, a label or an annotation instead."
    (moved,) = patch_problems([{"op": "move", "from": path, "path": "/spec/x"}], PATH)
    assert moved.path == f"{PATH}[0].from"


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("a: list", "it is no list of operations"),
        ("- [", "it is no YAML that can be read"),
        ("- &a {op: remove, path: /spec/x}\n- *a", "it has YAML aliases"),
        (7, "it is no list of operations"),
        ("x" * 20_000, "it has 20000 characters"),
        ([], "it changes nothing"),
        ([{"op": "test", "path": "/spec/x", "value": 1}], "it changes nothing"),
        ([{"op": "remove", "path": "/spec/x"}] * 51, "it has 51 operations"),
        (["x"], "it is no operation"),
        ([{"op": "repalce", "path": "/spec/x", "value": 1}], "Did you mean replace?"),
        ([{"op": "replace", "path": "spec.x", "value": 1}], "it is no JSON pointer"),
        ([{"op": "replace", "path": "/spec/a~2", "value": 1}], "it is no JSON pointer"),
        ([{"op": "replace", "path": "/spec/x"}], "replace needs a value"),
        ([{"op": "copy", "path": "/spec/x"}], "it is no JSON pointer"),
    ],
)
def test_a_bad_patch_is_told_with_its_place_and_the_fix(patch: Any, said: str) -> None:
    assert any(said in one for one in told(patch))


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "replace", "path": "/spec/replicas", "value": 0}],
        "- op: add\n  path: /metadata/annotations/cnpg.io~1hibernation\n  value: 'on'\n",
        [{"op": "test", "path": "/status/phase", "value": "Up"}, {"op": "remove", "path": "/spec/x"}],
        [{"op": "add", "path": "/spec/x", "value": None}],
    ],
)
def test_a_good_patch_is_left_alone(patch: Any) -> None:
    assert told(patch) == []


@pytest.mark.parametrize(
    ("group", "resource"),
    [
        ("", "secrets"),
        ("", "serviceaccounts"),
        ("", "pods"),
        ("", "nodes"),
        ("", "configmaps"),
        ("rbac.authorization.k8s.io", "roles"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("coordination.k8s.io", "leases"),
        ("hibernator.ardikabs.com", "hibernateplans"),
        ("kyklos.io", "timewindowscalers"),
        ("remediation.kubernaut.ai", "remediationrequests"),
        ("constraints.gatekeeper.sh", "anything"),
        ("kyverno.io", "policies"),
        ("keda.sh", "scaledobjects"),
    ],
)
def test_a_patch_is_no_way_to_power(group: str, resource: str) -> None:
    assert refusal(group, resource)


def test_other_kinds_can_be_patched() -> None:
    assert refusal("postgresql.cnpg.io", "clusters") == ""
    assert refusal("apps", "deployments") == ""
    assert refusal("", "services") == ""
