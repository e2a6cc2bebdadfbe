"""Runs the tests, and those few that failed once more, alone; `make test` and CI call it.

Thousands of tests share a small machine with real control planes, databases and browsers. A test that failed
beside them and passes alone is named at the end of the run and does not fail it: it has met the load of its
neighbours, or a race that users will meet as well, and wants to be looked at.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

FEW: Final = 5  # that may be bad luck; more of them are a mistake
_FAILED: Final = 1  # how pytest ends when tests have failed, and nothing worse
_LAST: Final = Path(".pytest_cache/v/cache/lastfailed")


def run(chosen: Sequence[str], beside: Sequence[str] = ()) -> int:
    """The exit code of pytest for these tests, with the options `beside` in the first run only."""
    pytest = [sys.executable, "-m", "pytest"]
    first = _call([*pytest, *beside, *chosen])
    failed = _last_failed() if first == _FAILED else []
    are_tests = all("::" in one for one in failed)  # and not files that cannot be imported
    if not (are_tests and 0 < len(failed) <= FEW):
        return first
    _say(f"Once more, alone: {len(failed)} of the tests")
    again = _call([*pytest, "--last-failed", "--last-failed-no-failures", "none", *chosen])
    if again == 0:
        _say("Failed beside other tests and passed alone. Look at them:", *failed)
    return again


def _last_failed() -> list[str]:
    try:
        return sorted(msgspec.json.decode(_LAST.read_bytes(), type=dict[str, bool]))
    except FileNotFoundError:
        return []


def _call(command: Sequence[str]) -> int:
    return subprocess.run(command, check=False).returncode  # noqa: S603  our own


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(("", *lines, "")))
    sys.stdout.flush()


if __name__ == "__main__":
    jobs, *chosen = sys.argv[1:]
    sys.exit(run(chosen, ("-n", jobs, "--dist", "worksteal")))
