"""What a newcomer meets: help that teaches, mistakes in the command line, and the real process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.offline import samples
from hibernator.cli.commands import COMMANDS as EVERY_COMMAND
from hibernator.cli.exits import Exit
from support.command import hibernator

COMMANDS = ("simulate", "validate", "explain", "diff", "convert")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_an_example(command: str) -> None:
    ran = hibernator(command, "--help", env={"COLUMNS": "200"})
    assert ran.code == 0
    assert f"hibernator {command} " in ran.out.replace(f"Usage: hibernator {command}", "")
    assert "-f" in ran.out


def test_the_list_of_commands_says_what_each_is_for() -> None:
    listed = " ".join(hibernator("--help", env={"COLUMNS": "200"}).out.split())
    for entry in EVERY_COMMAND.values():
        assert entry.help.endswith(".")
        assert entry.help in listed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["validate"], "Missing option '-f' / '--filename'"),
        (["simulate", "-f", "-", "-o", "png"], "'png' is not one of"),
        (["simulate", "-f", "-", "--width", "7"], "7 is not in the range 40<=x<=400"),
        (["convert", "-f", "-", "--to", "systemd"], "'systemd' is not one of"),
        (["convert", "-f", "-"], "Missing option '--to'"),
    ],
)
def test_a_wrong_command_line_is_told(arguments: list[str], words: str) -> None:
    ran = hibernator(*arguments, stdin="", env={"COLUMNS": "200"})
    assert ran.code == 2
    assert words in ran.err


def test_a_kind_that_is_misspelt_is_not_silently_left_out() -> None:
    misspelt = samples.plan() | {"kind": "HibernatPlan"}
    ran = hibernator("simulate", "-f", "-", stdin=samples.text(misspelt, samples.scaler()))
    assert ran.code == 1
    assert (
        "kind: hibernator.ardikabs.com/v1alpha1 has no kind HibernatPlan. Did you mean HibernatePlan?"
        in ran.err
    )


def test_the_real_command_ends_in_a_sentence_and_a_code() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "hibernator.cli.main", "simulate", "-f", "-", "--from", "soon"],
        input=samples.text(samples.plan()).encode(),
        env=dict(os.environ),
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.startswith(b"error: --from soon: this is not a time.\n")
    assert b"Traceback" not in ran.stderr


def test_an_output_that_is_full_ends_in_a_sentence_too() -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "hibernator.cli.main", "crds"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ran.returncode == Exit.UNAVAILABLE
    assert ran.stderr.splitlines() == [
        b"error: No space left on device",
        b"Nothing more could be written. Make room, and run it again.",
    ]
