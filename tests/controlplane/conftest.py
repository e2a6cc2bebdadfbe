"""A stand-in for Go, the real binaries, and commands that use them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernator.controlplane.binaries import Binaries, find_or_build
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from support.controlplane import Command, Up, Workshop, install_fake_go


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    (tmp_path / "orders").mkdir()
    (tmp_path / "log").touch()
    install_fake_go(tmp_path / "path" / "go")
    environment = {
        "PATH": str(tmp_path / "path"),
        "HOME": str(tmp_path),
        "HIBERNATOR_CACHE": str(tmp_path / "cache"),
        "FAKE_GO_LOG": str(tmp_path / "log"),
        "FAKE_GO_DIR": str(tmp_path / "orders"),
    }
    return Workshop(tmp_path, environment)


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The real ones."""
    return find_or_build(needed(nodes=False), PlainReporter())


@pytest.fixture
def command(binaries: Binaries, tmp_path: Path) -> Command:
    """On the real binaries, with a cache of its own."""
    folders = {str(path.parent) for path in binaries.paths.values()}
    environment = {name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"}
    environment["PATH"] = os.pathsep.join((*sorted(folders), environment["PATH"]))
    return Command({**environment, "HIBERNATOR_CACHE": str(tmp_path / "cache")})


@pytest.fixture
def up(command: Command) -> Iterator[Up]:
    """Runs `up` in the foreground and returns once it says that the control plane is up."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command.line("up", *arguments),
            env=command.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("A control plane is up at https://127.0.0.1:"), process.communicate()[1]
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
