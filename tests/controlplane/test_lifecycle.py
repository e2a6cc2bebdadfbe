"""A control plane goes when its owner goes, in whatever way, and leaves neither processes nor files."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hibernator.controlplane.binaries import Binaries, find_or_build
from hibernator.controlplane.cluster import Cluster, running, start, stop
from hibernator.controlplane.errors import ControlPlaneError
from hibernator.controlplane.layout import Layout
from hibernator.controlplane.locks import wait_until_free
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.protocol import Spec
from hibernator.controlplane.versions import needed
from support.controlplane import Command, Up, processes_in

EVERYTHING = ["etcd", "kube-apiserver", "kube-controller"]  # the kernel keeps 15 characters of a name


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_up_ends(number: signal.Signals, up: Up, tmp_path: Path) -> None:
    directory = tmp_path / "here"
    process = up("--dir", str(directory))
    assert processes_in(directory) == EVERYTHING
    process.send_signal(number)
    process.communicate()
    wait_until_free(Layout(directory).lock)  # after SIGKILL nobody else waits for the supervisor
    assert process.returncode == (-number if number == signal.SIGKILL else 0)
    assert not directory.exists()
    assert processes_in(directory) == []


def test_a_detached_one_stays_and_a_killed_one_is_cleared_away(command: Command, up: Up) -> None:
    assert command.run("up", "--detach").returncode == 0
    lines = command.run("env").stdout
    kubectl = 'eval "$LINES_OF_ENV" && "$KUBEBUILDER_ASSETS/kubectl" get namespace default -o name'
    shell = {**command.environment, "LINES_OF_ENV": lines}
    told = subprocess.run(["sh", "-c", kubectl], env=shell, capture_output=True, text=True, check=True)
    assert told.stdout == "namespace/default\n"

    second = command.run("up")
    assert second.returncode == 3
    assert "already up" in second.stderr

    directory = Path(command.environment["HIBERNATOR_CACHE"]) / "controlplane" / "up"
    os.kill(_supervisor(directory), signal.SIGKILL)
    wait_until_free(Layout(directory).lock)
    gone = command.run("env")
    assert "KUBECONFIG" not in gone.stdout
    assert "note: no control plane is up, so that KUBECONFIG stays what it is." in gone.stderr

    again = up()
    assert processes_in(directory) == EVERYTHING
    assert "is gone" in command.run("down").stdout
    again.communicate()
    assert again.returncode == 0
    assert not directory.exists()
    assert "No control plane is up" in command.run("down").stdout


def test_a_process_that_fails_takes_the_rest_down_and_its_log_stays(
    command: Command, up: Up, tmp_path: Path
) -> None:
    directory = tmp_path / "here"
    process = up("--dir", str(directory))
    etcd = next(
        path
        for path in Path("/proc").glob("[0-9]*")
        if _reads(path / "comm") == "etcd\n" and _works_in(path, directory)
    )
    os.kill(int(etcd.name), signal.SIGKILL)
    _, stderr = process.communicate()
    assert process.returncode == 3
    assert "etcd ended by itself" in stderr
    assert processes_in(directory) == []
    assert Layout(directory).log("etcd").exists()
    command.run("down", "--dir", str(directory))
    assert not directory.exists()


def test_an_interrupted_start_leaves_nothing(binaries: Binaries, tmp_path: Path) -> None:
    directory = tmp_path / "here"
    seen: list[list[str]] = []

    def interrupt(step: str) -> None:
        if "controller-manager" in step:
            seen.append(processes_in(directory))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(directory, binaries, lifeline=None, on_step=interrupt)
    assert "kube-apiserver" in seen[0]
    assert processes_in(directory) == []
    assert not directory.exists()


def test_a_port_that_someone_takes_first_is_given_up_for_another(binaries: Binaries, tmp_path: Path) -> None:
    directory = tmp_path / "here"
    paths = {name: str(path) for name, path in binaries.paths.items()}
    spec = msgspec.json.encode(Spec(str(directory), paths, outlives_owner=True)).decode()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        unlucky = (
            "from hibernator.controlplane import supervisor\n"
            f"ports = iter([{port}, supervisor.free_port()])\n"
            "supervisor.free_port = lambda: next(ports)\n"
            "supervisor.main()\n"
        )
        subprocess.run([sys.executable, "-c", unlucky, spec], check=True, stdout=subprocess.DEVNULL)
    cluster = Cluster.at(directory)
    assert cluster is not None
    assert not cluster.url.endswith(f":{port}")
    assert stop(directory)


def test_pods_run_on_made_up_nodes(tmp_path: Path) -> None:
    binaries = find_or_build(needed(nodes=True), PlainReporter())
    with running(tmp_path / "here", binaries, nodes=2) as cluster:
        cluster.kubectl("create", "deployment", "web", "--image=example.org/web", "--replicas=4")
        cluster.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        pods = json.loads(cluster.kubectl("get", "pods", "-o", "json").stdout)["items"]
        assert {pod["spec"]["nodeName"] for pod in pods} == {"node-1", "node-2"}
        assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    assert not (tmp_path / "here").exists()


def test_a_directory_with_other_files_is_neither_used_nor_removed(binaries: Binaries, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ControlPlaneError, match="not of a control plane"):
        start(tmp_path, binaries, lifeline=None)
    assert not stop(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_env_before_anything_is_there_says_what_to_do(command: Command, tmp_path: Path) -> None:
    done = Command({"PATH": str(tmp_path), "HIBERNATOR_CACHE": str(tmp_path)}).run("env")
    assert done.returncode == 3
    assert done.stdout == ""
    assert "hibernator controlplane build" in done.stderr


def _supervisor(directory: Path) -> int:
    order = f'"directory":"{directory}"'
    return next(int(path.name) for path in Path("/proc").glob("[0-9]*") if order in _reads(path / "cmdline"))


def _reads(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _works_in(process: Path, directory: Path) -> bool:
    return (process / "cwd").resolve() == directory
