"""What people see when they press Tab, in the shells themselves."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.cluster import ClusterInTest
from support.exception_scenes import EVERY_DAY, ExceptionScene, exception, hours
from support.plan_scenes import noop, plan

_BASH = """
source <(hibernator completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
_hibernator_completion hibernator
printf '%s\\n' "${COMPREPLY[@]}"
"""
_FISH = 'hibernator completion fish | source; complete -C "$argv"'
# zsh completes only where somebody types, so it is given a terminal to type into.
_ZSH = r"""
zmodload zsh/zpty
zpty typed zsh -f -i
zpty -w typed 'PS1=; TERM=dumb; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D'
zpty -w typed 'eval "$(hibernator completion zsh)"; echo rea''dy'
zpty -r typed out '*ready*'
zpty -w -n typed "$*"$'\t'
zpty -r typed out "*$EXPECTED*" && print -r -- "$EXPECTED"
zpty -d typed
"""


def pressed(shell: str, *words: str, expected: str = "") -> list[str]:
    """What a shell makes of these words, the last one unfinished."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    scripts = {"bash": (_BASH, "bash"), "fish": (_FISH,), "zsh": (_ZSH, "zsh")}
    script, *name = scripts[shell]
    given = [" ".join(words)] if shell == "fish" else list(words)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [shell, "-c", script, *name, *given],
        env=os.environ | {"PATH": path, "EXPECTED": expected},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def named(crds: ClusterInTest) -> list[str]:
    """Words that lead to a namespace with a plan and an exception."""
    scene = ExceptionScene(crds, crds.create_namespace())
    valid = {"validFrom": "2026-03-02T00:00:00Z", "validUntil": "2026-03-03T00:00:00Z"}
    event = exception("evening", type="extend", windows=hours("12:00", "13:00", EVERY_DAY), **valid)
    scene.apply(plan(noop("nothing"), name="dev-plan"), event)
    return ["--kubeconfig", str(crds.kubeconfig), "-n", scene.namespace]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_command_is_completed(shell: str) -> None:
    assert pressed(shell, "hibernator", "exception", "appr", expected="approve") == ["approve"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_name_of_an_exception_is_completed_from_the_cluster(shell: str, named: list[str]) -> None:
    words = ["hibernator", "exception", "view", *named, "eve"]
    assert pressed(shell, *words, expected="evening") == ["evening"]


@pytest.mark.parametrize(
    "words", [["plan", "describe"], ["exception", "create", "x", "--plan"], ["plan", "suspend"]]
)
def test_the_name_of_a_plan_is_completed_from_the_cluster(words: list[str], named: list[str]) -> None:
    before, option = (words, []) if words[-1] != "--plan" else (words[:-1], ["--plan"])
    assert pressed("bash", "hibernator", *before, *named, *option, "dev") == ["dev-plan"]


def test_kubectl_completes_what_comes_after_its_own_name(crds: ClusterInTest, named: list[str]) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    asked = [crds.state.kubectl, "__complete", "hibernator", "exception", "view", *named, "eve"]
    done = subprocess.run(asked, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["evening", ":4"]
