"""What the page about GitOps tells tools to leave alone is what Hibernator writes, in words they know."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from hibernator.controlplane.cluster import KubectlError
from hibernator.decisions.scaler_mark import ANNOTATION
from hibernator.decisions.scaling import Horizontal, Keda, ObjectRef, Patch, Workload, steps
from hibernator.decisions.sleepmark import LABEL, MARK, TRACE
from hibernator.executors.workloads.kinds import BUILT_IN
from support.cluster import ClusterInTest
from tools.gotools import ARGO_CD, FLUX_HELM, FLUX_KUSTOMIZE, crds

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "gitops.md").read_text(encoding="utf-8")
PLACE = ObjectRef(resource="any", namespace="shop", name="web", resource_version="1")


def block(name: str) -> Any:
    found = re.search(rf"^```yaml {name}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return yaml.safe_load(found[1])


def pointers(body: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for key, value in body.items():
        here = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        yield from pointers(value, here) if isinstance(value, Mapping) else [here]


def written() -> dict[str, set[str]]:
    """The fields that putting each kind to sleep, or scaling it, writes."""
    writes: dict[str, tuple[Patch, ...]] = {}
    for sort in BUILT_IN:
        workload = Workload(
            place=PLACE,
            replicas=1,
            running=1,
            by_node_selector=sort.by == "nodeSelector",
            by_suspension=sort.by == "suspend",
            path=sort.path,
        )
        writes[sort.label] = steps(workload, None, 0)
    workload = Workload(place=PLACE, replicas=1, running=1)
    writes["HorizontalPodAutoscaler"] = steps(workload, Horizontal(place=PLACE, minimum=1, maximum=9), 4)
    writes["ScaledObject"] = steps(workload, Keda(place=PLACE, paused_at=None), 4)
    return {
        kind: {found for patch in some for found in pointers(patch.body)} for kind, some in writes.items()
    }


@pytest.mark.parametrize(("kind", "fields"), sorted(written().items()))
def test_the_table_names_the_fields_of_each_kind(kind: str, fields: set[str]) -> None:
    rows = re.findall(r"^\| ([^|]+) \| `([^`]+)` \|", PAGE, re.MULTILINE)
    assert {field for kinds, field in rows if kind in kinds.split(", ")} == fields


def test_the_table_names_the_label_and_the_annotations() -> None:
    for annotation in (MARK, TRACE, ANNOTATION):
        assert f"`/metadata/annotations/{annotation.replace('/', '~1')}`" in PAGE
    assert f"`/metadata/labels/{LABEL.replace('/', '~1')}`" in PAGE


def in_git() -> dict[str, set[str]]:
    """Annotations and the node selector are not in Git, so that nobody puts them back."""
    return {kind: fields for kind, fields in written().items() if kind not in {"DaemonSet", "ScaledObject"}}


def test_argo_cd_is_told_to_leave_alone_what_could_be_in_git() -> None:
    rules = block("argocd.yaml")["spec"]["ignoreDifferences"]
    assert {rule["kind"]: set(rule["jsonPointers"]) for rule in rules} == in_git()


def test_flux_is_told_to_leave_alone_what_could_be_in_git() -> None:
    rules = block("flux.yaml")["spec"]["ignore"]
    told = {kind: set(rule["paths"]) for rule in rules for kind in rule["target"]["kind"].split("|")}
    assert told == in_git()


def argo_cd() -> Any:
    return block("argocd.yaml")


def flux() -> Any:
    return block("flux.yaml")


def helm_release() -> Any:
    """With the rules of the Kustomization, because the page says that they have the same form."""
    spec = {
        "interval": "10m",
        "chartRef": {"kind": "OCIRepository", "name": "shop"},
        "driftDetection": {"mode": "enabled", "ignore": flux()["spec"]["ignore"]},
    }
    named = {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "shop"}}
    return named | {"spec": spec}


def test_the_page_says_where_the_rules_of_a_helm_release_are() -> None:
    words = " ".join(PAGE.split())
    assert "where `spec.driftDetection.mode` is `enabled`" in words
    assert "rules of the same form under `spec.driftDetection.ignore`" in words


@pytest.fixture(scope="module")
def with_the_tools(cluster: ClusterInTest) -> ClusterInTest:
    """With the kinds of Argo CD and Flux, as they publish them."""
    for definitions in (ARGO_CD, FLUX_KUSTOMIZE, FLUX_HELM):
        cluster.install_crds(crds(definitions))
    return cluster


@pytest.mark.parametrize("document", [argo_cd(), flux(), helm_release()], ids=lambda one: one["kind"])
def test_the_tools_know_every_field_of_the_page(
    with_the_tools: ClusterInTest, namespace: str, document: Any
) -> None:
    with_the_tools.dry_run([in_namespace(document, namespace)])


@pytest.mark.parametrize(
    ("document", "mistake", "said"),
    [
        (argo_cd(), {"ignoreDifference": []}, r"\.spec\.ignoreDifference: field not declared"),
        (argo_cd(), {"ignoreDifferences": [{"kind": "Job", "paths": ["/spec/suspend"]}]}, "paths: field not"),
        (flux(), {"ignores": []}, r"\.spec\.ignores: field not declared"),
        (flux(), {"ignore": [{"target": {"kind": "Job"}}]}, r"spec\.ignore\[0\]\.paths: Required"),
        (
            helm_release(),
            {"driftDetection": {"mode": "on"}},
            r"spec\.driftDetection\.mode: Unsupported value",
        ),
        (helm_release(), {"ignore": []}, r"\.spec\.ignore: field not declared"),
    ],
)
def test_a_mistake_in_what_the_tools_read_would_be_found(
    with_the_tools: ClusterInTest, namespace: str, document: Any, mistake: dict[str, Any], said: str
) -> None:
    wrong = document | {"spec": document["spec"] | mistake}
    with pytest.raises(KubectlError, match=said):
        with_the_tools.dry_run([in_namespace(wrong, namespace)])


def in_namespace(document: Any, namespace: str) -> Any:
    return document | {"metadata": document["metadata"] | {"namespace": namespace}}
