"""The real control plane of a test run: one for all workers, started when the first test asks for it.

The main pytest process holds a FIFO open for as long as it lives, and the control plane lives as long as
that: it goes down at the end of the run, and also when the run is killed.
"""

import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from hibernator.controlplane.access import RequestError
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import Cluster, start, wait_until_down
from hibernator.controlplane.locks import FileLock
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed

CRDS = Path(__file__).parents[2] / "config" / "crd"

# What has finalizers of ours: it waits for an operator before it goes.
_HELD = (
    "/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{}/hibernateplans",
    "/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{}/scheduleexceptions",
    "/api/v1/namespaces/{}/configmaps",
)
_RUN = pytest.StashKey[Path]()
_LIFELINE = pytest.StashKey[int]()
_WORKER_INPUT = "hibernator_run"


@dataclass(frozen=True, slots=True)
class ClusterInTest(Cluster):
    """The control plane with what only tests want of it."""

    def install_crds(self, crds: Path = CRDS) -> None:
        """Apply CRDs (ours, if none are named) and wait until they are served; cheap after the first time."""
        _apply_crds(self, crds)

    def dry_run(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Let the API server judge documents; KubectlError names the first field that it does not know."""
        text = "\n---\n".join(map(json.dumps, documents))
        self.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", input=text)

    def create_namespace(self, name: str = "") -> str:
        """A new namespace in which Pods can be made at once."""
        name = name or f"test-{uuid.uuid4().hex[:12]}"
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        with _unless(HTTPStatus.CONFLICT):  # the controller manager makes the same one a moment later
            accounts = f"/api/v1/namespaces/{name}/serviceaccounts"
            self.request("POST", accounts, {"metadata": {"name": "default"}})
        return name

    def delete_namespace(self, name: str) -> None:
        """Ask for its deletion, and let go of what would wait for an operator that is gone.

        The controller manager looks after each namespace that cannot go, again and again: after some hundred
        tests it would do little else.
        """
        self.request("DELETE", f"/api/v1/namespaces/{name}")
        for path in _HELD:
            where = path.format(name)
            # A control plane without our CRDs, or one that is just being given others.
            # What is nested deeper than Python reads waits for the end of the control plane.
            with suppress(RecursionError), _unless(HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS):
                found = [one["metadata"] for one in self.request("GET", where)["items"]]
                for held in (one["name"] for one in found if one.get("finalizers")):
                    with _unless(HTTPStatus.NOT_FOUND):  # gone meanwhile
                        self.request("PATCH", f"{where}/{held}", {"metadata": {"finalizers": None}})


@contextmanager
def _unless(*statuses: HTTPStatus) -> Iterator[None]:
    """Go on where the API server answers one of these."""
    try:
        yield
    except RequestError as error:
        if error.code not in statuses:
            raise


@cache
def _apply_crds(cluster: ClusterInTest, crds: Path) -> None:
    with FileLock(cluster.layout.root / "crds.lock"):
        cluster.kubectl(
            "apply", "--server-side", "--force-conflicts", "--field-manager=tests", "-f", str(crds)
        )
        cluster.until_established()


def pytest_configure(config: pytest.Config) -> None:
    worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker_input is not None:
        config.stash[_RUN] = Path(worker_input[_WORKER_INPUT])
        return
    run = Path(tempfile.mkdtemp(prefix="hibernator-tests-"))
    os.mkfifo(run / "lifeline")
    config.stash[_RUN] = run
    # Open for reading too, because opening for writing alone would wait for a reader.
    config.stash[_LIFELINE] = os.open(run / "lifeline", os.O_RDWR | os.O_CLOEXEC)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker which run it belongs to."""
    node.workerinput[_WORKER_INPUT] = str(node.config.stash[_RUN])


def pytest_unconfigure(config: pytest.Config) -> None:
    if _LIFELINE in config.stash:
        run = config.stash[_RUN]
        os.close(config.stash[_LIFELINE])
        wait_until_down(run / "cluster")
        shutil.rmtree(run)


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> ClusterInTest:
    """A real API server, controller manager and etcd; shared, so keep to a namespace of your own."""
    run = pytestconfig.stash[_RUN]
    with FileLock(run / "starting.lock"):
        up = Cluster.at(run / "cluster") or _start(run)
    return ClusterInTest(up.layout, up.state)


@pytest.fixture
def namespace(cluster: ClusterInTest) -> Iterator[str]:
    """A fresh namespace; its deletion is asked for at the end and not waited for."""
    name = cluster.create_namespace()
    yield name
    cluster.delete_namespace(name)


@pytest.fixture(scope="session")
def crds(cluster: ClusterInTest) -> ClusterInTest:
    """The cluster with the project's CRDs."""
    cluster.install_crds()
    return cluster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)


def _start(run: Path) -> Cluster:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    # Without waiting for the main process, should that be gone already.
    lifeline = os.open(run / "lifeline", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return start(run / "cluster", binaries, lifeline=lifeline)
    finally:
        os.close(lifeline)
