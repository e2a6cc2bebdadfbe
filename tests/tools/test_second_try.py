"""What becomes of tests that fail beside others: a few are tried once more, and none is forgotten."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.second_try import FEW

ROOT = Path(__file__).resolve().parents[2]
UNLUCKY = """
def test_unlucky():
    with open("tries", "a") as tries:
        tries.write("x")
    assert len(open("tries").read()) > 1
"""
BROKEN = "def test_broken_{0}(): assert 'the moon' == 'a cheese'"


def tried(folder: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text("\n".join(["def test_good(): pass", *tests]))
    command = [sys.executable, "-m", "tools.second_try", "1", "-p", "no:cov", "test_some.py"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_test_that_passes_alone_does_not_fail_the_run_and_is_named(tmp_path: Path) -> None:
    ended = tried(tmp_path, UNLUCKY)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "passed alone. Look at them:\ntest_some.py::test_unlucky" in ended.stdout
    assert (tmp_path / "tries").read_text() == "xx"


def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    ended = tried(tmp_path, UNLUCKY, BROKEN.format(0))
    assert ended.returncode == 1
    assert "Look at them" not in ended.stdout
    assert "1 failed, 1 passed" in ended.stdout


@pytest.mark.parametrize("tests", [[BROKEN.format(number) for number in range(FEW + 1)], ["import moon"]])
def test_many_failures_and_files_that_cannot_be_read_are_not_tried_again(
    tmp_path: Path, tests: list[str]
) -> None:
    ended = tried(tmp_path, *tests)
    assert ended.returncode != 0
    assert "Once more" not in ended.stdout


def test_a_run_without_failures_is_one_run(tmp_path: Path) -> None:
    ended = tried(tmp_path)
    assert (ended.returncode, ended.stdout.count("passed")) == (0, 1)
