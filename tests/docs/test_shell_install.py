"""The page about the installation, typed into clusters with (made-up) nodes, with a real Helm.

On made-up nodes Pods are called running and nothing in them runs. So an operator beside the cluster stands in
for the one in the Pods, under the account that the chart has made.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from support.cluster import ClusterInTest
from support.installation import Installation
from support.pages import ROOT, Shell, blocks
from support.plan_scenes import noop, plan
from tools.gotools import HELM, tool

PAGE = "docs/guides/install.md"
VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 2Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /nowhere}
"""


@pytest.fixture
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterInTest]:
    binaries = find_or_build(needed(nodes=True), PlainReporter())
    with running(tmp_path_factory.mktemp("plane") / "cluster", binaries, nodes=1) as up:
        yield ClusterInTest(up.layout, up.state)


@pytest.fixture
def shell(plane: ClusterInTest, tmp_path: Path) -> Shell:
    """In a checkout."""
    for name in ("charts", "config"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "hibernator").symlink_to(ROOT)
    (tmp_path / "helm").symlink_to(tool(HELM))
    return Shell(plane, tmp_path)


def test_a_release_is_installed_looked_at_upgraded_and_removed(
    plane: ClusterInTest, shell: Shell, tmp_path: Path
) -> None:
    _image, install, postgres, remove, by_hand, _kustomize, _move, doctor = blocks(PAGE, "sh")
    plane.kubectl("apply", "-f", "-", input=VOLUME)
    *release, ask_the_doctor = install.text.replace("\\\n", " ").splitlines()
    shell.type("\n".join(release))
    plane.until_established()
    operator = Installation(plane, tmp_path)
    operator.start()
    try:
        said = shell.type(ask_the_doctor) + shell.type(doctor.text)
        assert "leads, lease renewed" in said
    finally:
        operator.stop()
    shell.type(postgres.text)
    assert "audit-database" in plane.kubectl("get", "deployments", "-A", "-o", "yaml").stdout
    shell.type(remove.text)
    assert "hibernator" not in plane.kubectl("get", "deployments", "-A", "-o", "name").stdout

    shell.type("\n".join(release))
    operator.start()
    operator.stop()
    assert "is no longer converted" in shell.type(by_hand.text)


def test_the_kustomize_base_is_applied_and_applied_again(plane: ClusterInTest, shell: Shell) -> None:
    *_, kustomize, _move, _doctor = blocks(PAGE, "sh")
    for _ in range(2):
        shell.type(kustomize.text)
    assert "hibernator" in plane.kubectl("get", "deployments", "-A", "-o", "name").stdout


def test_what_kustomize_has_installed_moves_to_helm_and_stays_what_it_is(
    plane: ClusterInTest, shell: Shell
) -> None:
    *_, kustomize, move, _doctor = blocks(PAGE, "sh")
    plane.kubectl("apply", "-f", "-", input=VOLUME)
    shell.type(kustomize.text)
    plane.until_established()
    plane.kubectl("apply", "-f", "-", input=json.dumps(plan(noop("drill"))))
    before = lives(plane)
    shell.type(move.text)
    after = lives(plane)
    assert {name: after.get(name) for name in before} == before
    assert "hibernator" in shell.type("helm list -n hibernator-system --deployed -q")
    for kind, name in (("deployment", "hibernator"), ("crd", "hibernateplans.hibernator.ardikabs.com")):
        found = plane.kubectl("get", kind, name, "-n", "hibernator-system", "-o", "json").stdout
        labels = json.loads(found)["metadata"]["labels"]
        assert labels["app.kubernetes.io/managed-by"] == "Helm"


def lives(plane: ClusterInTest) -> dict[str, str]:
    """What must not be made anew, by what tells it from another of the same name."""
    kinds = "deployment,persistentvolumeclaim,service,serviceaccount,lease,hibernateplan"
    found = json.loads(plane.kubectl("get", kinds, "-A", "-o", "json").stdout)["items"]
    found += json.loads(plane.kubectl("get", "crd", "-o", "json").stdout)["items"]
    return {
        f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["uid"]
        for one in found
        if one["metadata"].get("namespace", "hibernator-system") in {"hibernator-system", "default"}
    }


def test_the_overlay_changes_the_image(shell: Shell, tmp_path: Path) -> None:
    overlay, *_ = blocks(PAGE, "yaml")
    (tmp_path / "kustomization.yaml").write_text(overlay.text, "utf-8")
    assert "image: registry.example.com/hibernator:" in shell.type("kubectl kustomize .")
