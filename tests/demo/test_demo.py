"""The demo from start to summary, as a stranger runs it: in a pipe, on a terminal, and cut short."""

import asyncio
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest

from support.browser import Browser
from support.command import hibernator
from support.controlplane import install_fake_go

# In a process of its own, because it decides where that process logs to and what signals do.
COMMAND = [sys.executable, "-m", "hibernator.cli.main", "demo"]


@contextmanager
def demo(folder: Path, *arguments: str, out: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    """The demo in a folder of its own for temporary files, to see what it leaves there."""
    settings = os.environ | {"TMPDIR": str(folder), "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=out, stderr=subprocess.STDOUT, text=True, env=settings
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def until(lines: IO[str] | None, wanted: str, read: list[str]) -> str:
    """The first line that has the wanted words, be it read already or still to come; all lines are kept."""
    assert lines
    for line in read:
        if wanted in line:
            return line
    for line in lines:
        read.append(line.rstrip())
        if wanted in line:
            return line.rstrip()
    raise AssertionError(f"{wanted!r} was never said:\n" + "\n".join(read))


def typed(env: str, command: str) -> subprocess.CompletedProcess[str]:
    """A command in another terminal."""
    return subprocess.run(["bash", "-c", f". {env}; {command}"], capture_output=True, text=True, check=False)


def assert_nothing_is_left(folder: Path) -> None:
    """No file, and soon no process that was started with this folder for temporary files."""
    assert list(folder.iterdir()) == []
    deadline = time.monotonic() + 30
    while left := [command for environment, command in _processes() if f"TMPDIR={folder}" in environment]:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)  # the last one has let go of its lock and is about to end


def _processes() -> Iterator[tuple[list[str], str]]:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or it is not ours
            yield (
                (process / "environ").read_text("utf-8", "replace").split("\0"),
                (process / "comm").read_text(),
            )


def test_a_stranger_takes_part_in_the_demo_and_ends_it(tmp_path: Path) -> None:
    read: list[str] = []
    with demo(tmp_path) as process:
        env = until(process.stdout, "The shop is open", read).rpartition(" ")[2]
        for matter in ("exception approve", "remediation approve"):
            command = until(process.stdout, matter, read).partition("try")[2].partition("#")[0].strip()
            done = typed(env, f"{command} --yes")
            assert done.returncode == 0, done.stderr
        for words in (
            "carol@shop.example asks for it",
            "bob@shop.example agrees",
            "Overrides the schedule of HibernatePlan nights",
            "Approved by bob@shop.example",
            "Going to sleep (cycle 1).",
            "3 targets done, 0 failed",
        ):
            until(process.stdout, words, read)
        process.send_signal(signal.SIGINT)
        until(process.stdout, "Everything is gone again", read)
        assert process.wait() == 0
    said = "\n".join(read)
    order = [f"{target} is asleep" for target in ("front", "services", "database")]
    assert [said.index(words) for words in order] == sorted(said.index(words) for words in order), said
    assert "checkout-oom   approved" in said
    assert "every hash of their chain fits" in said
    assert_nothing_is_left(tmp_path)


def test_what_is_offered_shows_in_the_shop_at_the_time_of_the_shop(tmp_path: Path) -> None:
    read: list[str] = []
    with demo(tmp_path) as process:
        env = until(process.stdout, "The shop is open", read).rpartition(" ")[2]
        until(process.stdout, "hibernator doctor", read)
        health = typed(env, "hibernator doctor")
        assert health.returncode == 0, health.stdout
        until(process.stdout, "3 targets done, 0 failed", read)
        command = until(process.stdout, "plan wake", read).partition("try")[2].strip()
        woken = typed(env, command)
        assert woken.returncode == 0, woken.stderr
        for words in ("hibernator-admin asks for it", "database is awake", "front is awake"):
            until(process.stdout, words, read)
    health_of_the_clock = [line for line in health.stdout.splitlines() if "clock" in line]
    assert all(line.startswith("ok") for line in health_of_the_clock), health.stdout


def test_on_a_terminal_it_is_a_picture_that_ends_by_itself_with_a_summary(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with demo(tmp_path, "--for", "15s", "--speed", "1200", out=theirs) as process:
        os.close(theirs)
        shown = _everything(ours)
        assert process.wait() == 0, shown
    enter, leave = "\x1b[?1049h", "\x1b[?1049l"
    before, _, rest = shown.partition(enter)
    picture, _, after = rest.partition(leave)
    assert "Starting the control plane" in before
    assert "would be awake, if approved" in before
    assert "Waiting for people" in picture
    assert "What happened" in picture
    assert re.search(r"\d+ hours of a shop in", after), after
    assert_nothing_is_left(tmp_path)


def _everything(fd: int) -> str:
    """All that is written to a terminal until nobody has it open any more."""
    chunks = []
    with suppress(OSError):  # which is how a terminal ends
        while chunk := os.read(fd, 65_536):
            chunks.append(chunk)
    os.close(fd)
    return b"".join(chunks).decode(errors="replace")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_stopped_while_it_starts_leaves_nothing(
    number: signal.Signals, tmp_path: Path
) -> None:
    with demo(tmp_path) as process:
        until(process.stdout, "Starting the control plane", [])
        process.send_signal(number)
        assert process.wait() == 130
    assert_nothing_is_left(tmp_path)


def test_who_waits_for_the_first_build_sees_two_weeks_of_the_scene_meanwhile(tmp_path: Path) -> None:
    install_fake_go(tmp_path / "path" / "go")
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "etcd").write_text("fail", encoding="utf-8")
    settings = {
        "PATH": str(tmp_path / "path"),
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "HIBERNATOR_CACHE": str(tmp_path / "cache"),
        "FAKE_GO_LOG": str(tmp_path / "log"),
        "FAKE_GO_DIR": str(tmp_path / "orders"),
    }
    done = subprocess.run(
        COMMAND, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    timeline, _, rest = done.stdout.partition("Building etcd")
    assert "HibernatePlan shop-core/nights  Europe/Berlin" in timeline
    assert "Founders' day" in timeline
    assert "error: etcd could not be built." in rest
    assert done.returncode == 3


@pytest.mark.parametrize("text", ["soon", "3", "-1s", "5 fortnights"])
def test_a_duration_that_cannot_be_read_is_told_with_examples(text: str) -> None:
    done = hibernator("demo", f"--for={text}")
    assert done.code == 2
    assert "this is not a length of time" in done.err


async def _approve(base_url: str) -> str:
    """Log in as Bob, and approve what waits for him; returns what the provider's page showed."""
    async with Browser(base_url, base_url.replace("localhost", "127.0.0.1")) as browser:
        people = await browser.follow(await browser.get("/login"))
        home = await browser.follow(await browser.post(people.url, {"login": "bob"}))
        waiting = re.search(r'class="ask-card" href="(/approve/[^"]+)"', home.text)
        assert waiting, home.text
        page = await browser.get(waiting[1])
        fields = {name: page.field(name) for name in ("form_token", "spec_hash", "token")}
        done = await browser.follow(
            await browser.post(page.url, fields | {"verdict": "approve", "reason": ""})
        )
        assert done.status == 200, done.text
        plan = await browser.get("/plans/shop-core/nights")
        assert "What is asleep, and what it wakes to" in plan.text  # the operator says it
        assert "trailUrl" not in plan.text
        assert "The operator does not say it" not in plan.text
        return people.text


def test_a_visitor_approves_in_a_browser_and_a_sigterm_ends_it_as_ctrl_c_does(tmp_path: Path) -> None:
    read: list[str] = []
    with demo(tmp_path) as process:
        url = until(process.stdout, "http://localhost:", read).partition("try")[2].partition("#")[0].strip()
        until(process.stdout, "exception approve release-night", read)
        people = asyncio.run(_approve(url))
        assert all(f">{name}<" in people for name in ("Ann", "Bob", "Carol"))
        until(process.stdout, "bob@shop.example agrees", read)
        process.terminate()
        until(process.stdout, "Everything is gone again", read)
        assert process.wait() == 0
    assert_nothing_is_left(tmp_path)


def test_a_demo_that_no_one_reads_any_more_ends(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed", "3600") as process:
        until(process.stdout, "The shop is open", [])
        assert process.stdout
        process.stdout.close()
        process.wait()
    assert_nothing_is_left(tmp_path)
