"""One test run has one control plane, whatever the number of its workers, and takes it along when it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hibernator.controlplane.binaries import Binaries
from hibernator.controlplane.layout import Layout
from hibernator.controlplane.locks import wait_until_free
from support.controlplane import processes_in

TESTS = Path(__file__).parents[1]

SHARED = """
from pathlib import Path

def test_shared(cluster, namespace, worker_id):
    Path(worker_id).write_text(f"{cluster.layout.root} {namespace}")
"""

ENDLESS = """
import os

def test_endless(cluster):
    with open("fifo", "w") as told:
        told.write(str(cluster.layout.root))
    os.read(os.open("endless", os.O_RDWR), 1)
"""


@pytest.fixture
def pytest_run(binaries: Binaries, tmp_path: Path) -> list[str]:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["support.cluster"]\n', encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = cluster\n", encoding="utf-8")
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"]


def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "tmp").mkdir()
    return {**os.environ, "PYTHONPATH": str(TESTS), "TMPDIR": str(tmp_path / "tmp")}


def test_workers_share_one_control_plane_and_no_namespace(pytest_run: list[str], tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SHARED, encoding="utf-8")
    each_runs_all = ["-n", "2", "--dist", "each"]
    subprocess.run([*pytest_run, *each_runs_all], cwd=tmp_path, env=environment(tmp_path), check=True)
    (root, one), (same_root, another) = (
        (tmp_path / worker).read_text(encoding="utf-8").split() for worker in ("gw0", "gw1")
    )
    assert root == same_root
    assert one != another
    assert processes_in(Path(root)) == []
    assert list((tmp_path / "tmp").glob("hibernator-*")) == []


def test_a_killed_run_takes_its_control_plane_along(pytest_run: list[str], tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(ENDLESS, encoding="utf-8")
    os.mkfifo(tmp_path / "fifo")
    os.mkfifo(tmp_path / "endless")
    with subprocess.Popen(pytest_run, cwd=tmp_path, env=environment(tmp_path)) as run:
        root = Path((tmp_path / "fifo").read_text(encoding="utf-8"))
        assert "kube-apiserver" in processes_in(root)
        run.send_signal(signal.SIGKILL)
    wait_until_free(Layout(root).lock)
    assert processes_in(root) == []
    assert not root.exists()
