"""A real helm, the kustomize base, and a control plane of these tests' own: they install into all of it."""

from collections.abc import Iterator

import pytest

from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from support.cluster import ClusterInTest
from support.helm import ROOT, Document, Helm, kustomize
from tools.gotools import HELM, tool


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(tool(HELM), tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="module")
def empty_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterInTest]:
    """A control plane on which nothing of ours is installed."""
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with running(tmp_path_factory.mktemp("plane") / "cluster", binaries) as up:
        yield ClusterInTest(up.layout, up.state)


@pytest.fixture(scope="session")
def kustomized() -> list[Document]:
    return kustomize(ROOT / "config")


@pytest.fixture(scope="session")
def kustomized_web() -> list[Document]:
    return kustomize(ROOT / "config" / "web")
