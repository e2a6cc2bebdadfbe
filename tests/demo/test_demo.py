"""The demo from start to summary, as a stranger runs it."""

import subprocess
import sys

import pytest

from support.command import hibernator


def test_the_shop_passes_through_a_morning_and_leaves_nothing_behind() -> None:
    # In a process of its own, because it decides where that process logs to.
    command = [sys.executable, "-m", "hibernator.cli.main", "demo", "--for", "12s", "--speed", "3600"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'Scaled Deployment "web" from 3 to 1.' in done.stdout
    assert "the window 06:00-09:00 Mon-Fri" in done.stdout
    assert "Everything is gone again." in done.stdout


@pytest.mark.parametrize("text", ["soon", "3", "-1s", "5h"])
def test_a_duration_that_cannot_be_read_is_told_with_examples(text: str) -> None:
    done = hibernator("demo", f"--for={text}")
    assert done.code == 2
    assert "write a duration such as 90s, 3m or 2m30s" in done.err
