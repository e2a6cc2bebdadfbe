"""A command imports what it needs and no more, because that is most of the time that it takes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from hibernator.cli.commands import COMMANDS
from hibernator.cli.lazy import loaded
from hibernator.cli.main import app
from support.cluster import ClusterInTest
from support.packages import others
from support.plan_scenes import PlanScene, noop, plan

_IMPORTED = """
import atexit, json, sys
known = set(sys.modules)
atexit.register(lambda: print(json.dumps(sorted(set(sys.modules) - known)), file=sys.stderr))
from hibernator.cli.main import main
main()
"""
TYPER = {"typer", "annotated_doc", "shellingham"}
HELP = TYPER | {"attr", "rich", "markdown_it", "mdurl", "pygments"}
KUBERNETES = {
    *("aiohappyeyeballs", "aiohttp", "aiosignal", "attr", "frozenlist", "idna", "msgspec", "multidict"),
    *("propcache", "typing_extensions", "whenever", "yaml", "yarl"),
}
FRONT = {"commands", "exits", "lazy", "main", "plain"}


def imported(*arguments: str) -> set[str]:
    """The modules that a command imports."""
    settings = {"PATH": os.environ["PATH"], "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTED, *arguments],
        env=settings,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def ours(modules: set[str]) -> set[str]:
    return {name.removeprefix("hibernator.cli.") for name in modules if name.startswith("hibernator.cli.")}


def rooms(modules: set[str]) -> set[str]:
    return {name.split(".")[1] for name in modules if name.startswith("hibernator.")}


def test_the_version_needs_the_front_door_only() -> None:
    found = imported("--version")
    assert others(found) <= TYPER
    assert ours(found) == FRONT
    assert rooms(found) == {"cli"}


def test_the_list_of_commands_needs_none_of_them() -> None:
    found = imported("--help")
    assert others(found) <= HELP
    assert ours(found) == FRONT


@pytest.mark.parametrize(
    ("group", "more"), [("plan", set()), ("scaler", set()), ("remediation", {"deciding"})]
)
def test_the_help_of_a_group_needs_no_cluster(group: str, more: set[str]) -> None:
    found = imported(group, "--help")
    assert others(found) <= HELP
    assert ours(found) == FRONT | {group, "cluster", "names", "options"} | more


def test_a_list_from_the_cluster_needs_a_client_and_the_kind(crds: ClusterInTest, namespace: str) -> None:
    PlanScene(crds, namespace).create(plan(noop("drill")))
    found = imported("plan", "list", f"--kubeconfig={crds.kubeconfig}", "-n", namespace)
    assert others(found) <= TYPER | KUBERNETES
    assert rooms(found) <= {"api", "cli", "decisions", "demo", "kube", "schedule"}
    assert not {"hibernator.kube.cache", "hibernator.kube.controller", "hibernator.schedule.plan"} & found


@pytest.mark.parametrize("name", COMMANDS)
def test_the_front_door_says_of_a_command_what_it_says_of_itself(name: str) -> None:
    entry = COMMANDS[name]
    command = loaded(name, entry.where)
    assert command.name == name
    assert " ".join(command.help.partition("\n\n")[0].split()) == entry.help


@pytest.mark.parametrize(
    "words", ["--help", "plan --help", "crds", "simulate -f docs/examples --from 2026-01-01 --to 2028-01-01"]
)
def test_a_reader_that_has_seen_enough_is_no_error(words: str) -> None:
    command = [sys.executable, "-m", "hibernator.cli.main", *words.split()]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_mistyped_command_is_guessed() -> None:
    root: Any = typer.main.get_command(app)
    assert [*root.commands] == [*COMMANDS]
    done = subprocess.run(
        [sys.executable, "-m", "hibernator.cli.main", "plam"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Did you mean 'plan'?" in done.stderr
