"""Terminals that are narrow, without colours, or without Unicode: all is readable, and nothing crashes."""

import io
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from hibernator.cli.exits import Exit
from hibernator.cli.plain import forgive
from support.controlplane import install_fake_go

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "hibernator.cli.main"]
NARROW = {"COLUMNS": "60", "LINES": "24", "TERM": "dumb", "NO_COLOR": "1"}
ASCII = NARROW | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
SAID_C = NARROW | {"LC_ALL": "C"}
TEAM = ("-f", str(ROOT / "docs" / "examples" / "team.yaml"))
COMMANDS = [
    ("simulate", *TEAM, "--from", "2026-03-23", "--to", "2026-04-06"),
    ("explain", *TEAM, "--at", "2026-03-31T20:30:00Z"),
    ("diff", *TEAM, "-f", str(ROOT / "docs" / "examples" / "office-hours.yaml"), "--from", "2026-03-23"),
    ("validate", *TEAM),
    ("doctor", "--kubeconfig", "nowhere"),
    ("demo", "--help"),
]


def piped(*arguments: str, folder: Path, env: dict[str, str]) -> tuple[int, bytes]:
    settings = {"PATH": os.environ["PATH"], "HOME": str(folder)} | env
    done = subprocess.run(
        [*COMMAND, *arguments], env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.returncode, done.stdout


def on_a_terminal(*arguments: str, folder: Path, env: dict[str, str]) -> bytes:
    ours, theirs = pty.openpty()
    settings = {"PATH": os.environ["PATH"], "HOME": str(folder)} | env
    with subprocess.Popen([*COMMAND, *arguments], env=settings, stdout=theirs, stderr=theirs):
        os.close(theirs)
        chunks = []
        with suppress(OSError):  # which is how a terminal ends
            while chunk := os.read(ours, 65_536):
                chunks.append(chunk)
    os.close(ours)
    return b"".join(chunks)


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_stream_without_unicode_gets_the_nearest_that_it_can_show(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    code, said = piped(*arguments, folder=tmp_path, env=ASCII)
    text = said.decode("ascii")
    assert text
    assert code in {Exit.OK, Exit.FOUND} if arguments[0] != "doctor" else code == Exit.UNAVAILABLE, text
    assert "Traceback" not in text


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_on_the_terminal_of_someone_who_says_c_everything_is_ascii(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    text = on_a_terminal(*arguments, folder=tmp_path, env=SAID_C).decode("ascii")
    assert text
    assert "Traceback" not in text
    assert "\x1b[3" not in text  # no colours


def test_a_pipe_gets_unicode_where_the_locale_is_c(tmp_path: Path) -> None:
    code, said = piped(*COMMANDS[0], folder=tmp_path, env=SAID_C)
    assert code == 0
    assert "█" in said.decode("utf-8")


def test_a_picture_fits_a_narrow_terminal(tmp_path: Path) -> None:
    _, said = piped(*COMMANDS[0], folder=tmp_path, env=ASCII)
    days = [line for line in said.decode("ascii").splitlines() if line[:3] in {"Mon", "Tue", "Sun"}]
    assert len(days) > 10
    assert max(map(len, days)) <= 60, max(days, key=len)


def test_the_demo_begins_without_unicode(tmp_path: Path) -> None:
    install_fake_go(tmp_path / "path" / "go")
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "etcd").write_text("fail", encoding="utf-8")
    settings = ASCII | {
        "PATH": str(tmp_path / "path"),
        "HIBERNATOR_CACHE": str(tmp_path / "cache"),
        "FAKE_GO_LOG": str(tmp_path / "log"),
        "FAKE_GO_DIR": str(tmp_path / "orders"),
    }
    code, said = piped("demo", folder=tmp_path, env=settings)
    text = said.decode("ascii")
    assert code == 3, text
    assert "HibernatePlan shop-core/nights  Europe/Berlin" in text
    assert "Building etcd" in text
    assert "error: etcd could not be built." in text


def test_what_fits_a_terminal_fits_it_without_unicode_too() -> None:
    cut = "front✓ → services… ●●○ Going to sl…"
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    forgive(stream)
    stream.write(cut)
    stream.seek(0)
    assert stream.read() == "front+ > services~ **o Going to sl~"
