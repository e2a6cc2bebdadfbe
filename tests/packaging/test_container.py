"""The image, as far as it can be checked without a container engine: its steps, tried in a venv."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from support.helm import CHART, ROOT

RUNTIME = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Step:
    instruction: str
    rest: str


def stages() -> list[list[Step]]:
    """The steps of each stage, those before the first left out."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    found: list[list[Step]] = []
    for line in filter(str.strip, lines):
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            found.append([])
        if found:
            found[-1].append(Step(instruction, " ".join(rest.split())))
    return found


def only(steps: list[Step], instruction: str) -> str:
    (found,) = [step.rest for step in steps if step.instruction == instruction]
    return found


def test_what_runs_is_not_root_and_is_whom_the_chart_expects() -> None:
    _, last = stages()
    helpers = (CHART / "templates" / "_helpers.tpl").read_text(encoding="utf-8")
    user, group = only(last, "USER").split(":")
    assert f"runAsUser: {user}\nrunAsGroup: {group}\nfsGroup: {group}\n" in helpers
    assert int(user) > 0


def test_the_last_stage_installs_nothing_and_takes_only_what_was_built() -> None:
    _, last = stages()
    assert [step.rest for step in last if step.instruction in {"COPY", "ADD"}] == [
        "--from=build /opt/hibernator /opt/hibernator"
    ]
    assert [step.rest.split(" -")[1] for step in last if step.instruction == "RUN"] == [
        "m pip uninstall",
        "m compileall",
    ]


def test_nothing_is_compiled_at_a_start(tmp_path: Path) -> None:
    """Neither ours and our libraries' nor Python's own, whose bytecode the base image leaves out."""
    build, last = stages()
    *_, step = [step.rest for step in last if step.instruction == "RUN"]
    installed = [step.rest for step in build if " --python /opt/hibernator install " in step.rest]
    assert all("--no-compile" in each for each in installed)
    assert "PYTHONDONTWRITEBYTECODE=1" in only(last, "ENV")

    library, venv = tmp_path / "usr" / "python3.13", tmp_path / "venv" / "lib" / "package"
    for folder in (library, venv, library / "test"):
        folder.mkdir(parents=True)
        (folder / "module.py").write_text("A = 1\n" if folder.name != "test" else "no Python")
    here = step.replace("/usr/local/lib", str(library.parent)).replace(
        "/opt/hibernator", str(tmp_path / "venv")
    )
    subprocess.run(["sh", "-c", here.replace("python", sys.executable, 1)], check=True)
    assert {made.parent.parent for made in tmp_path.rglob("*.pyc")} == {library, venv}


@pytest.mark.parametrize(
    ("release", "base", "built"),
    [
        ("", "docker.io/library/python:3.13-slim", True),
        ("", f"python@sha256:{'0' * 64}", True),
        ("yes", f"python@sha256:{'0' * 64}", True),
        ("yes", "docker.io/library/python:3.13-slim", False),
    ],
)
def test_a_release_stands_on_a_base_image_that_no_one_can_move(
    release: str, base: str, *, built: bool
) -> None:
    build, _ = stages()
    assert [step.rest for step in build if step.instruction == "ARG"] == ["PYTHON", "RELEASE="]
    check, *_ = [step.rest for step in build if step.instruction == "RUN"]
    done = subprocess.run(
        ["sh", "-c", check],
        env={"RELEASE": release, "PYTHON": base},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is built
    assert built or "name the base image by digest" in done.stderr


def test_everything_is_installed_by_hash_or_from_what_was_just_built() -> None:
    build, _ = stages()
    installs = [step.rest for step in build if "pip" in step.rest and "install" in step.rest]
    assert len(installs) == 3
    assert all("--require-hashes" in each or "--no-index" in each for each in installs)


def test_what_is_copied_is_there_and_not_ignored() -> None:
    build, _ = stages()
    allowed = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line[:1] == "!"
    }
    for step in build:
        if step.instruction == "COPY":
            *sources, _ = step.rest.split()
            for source in sources:
                assert (ROOT / source).exists(), source
                assert source.split("/", maxsplit=1)[0] in allowed, source


def test_the_image_begins_with_what_the_chart_asks_of_it() -> None:
    _, last = stages()
    assert only(last, "ENTRYPOINT") == '["hibernator"]'
    deployment = (ROOT / "config" / "manager" / "deployment.yaml").read_text(encoding="utf-8")
    container = yaml.safe_load(deployment)["spec"]["template"]["spec"]["containers"][0]
    assert only(last, "CMD") == '["operator"]'
    assert container["args"] == ["operator"]
    assert only(last, "EXPOSE").split() == [str(port["containerPort"]) for port in container["ports"]]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The venv of the image, made of the same files by the same steps."""
    folder = tmp_path_factory.mktemp("image")
    source, venv = folder / "src", folder / "venv"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python")]
    into = [*pip, "install", "--quiet", "--no-compile", "--no-deps"]
    for command in (
        [sys.executable, "-m", "venv", "--without-pip", str(venv)],
        [
            *into,
            "--require-hashes",
            "--only-binary",
            ":all:",
            "-r",
            str(ROOT / "requirements" / "runtime.txt"),
        ],
        [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "--target",
            "wheel",
            "--directory",
            str(folder / "dist"),
        ],
    ):
        subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([*into, "--no-index", str(wheel)], check=True, capture_output=True)
    return venv


def run(image: Path, *arguments: str) -> str:
    """A command as in the image: no home, no shell's environment, zones from the lock only."""
    environment = {
        "PATH": f"{image}/bin:{os.defpath}",
        "PYTHONTZPATH": "",
        "HOME": "/nonexistent",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [image / "bin" / arguments[0], *arguments[1:]],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_run_with_nothing_but_the_runtime_lock(image: Path) -> None:
    assert "doctor" in run(image, "hibernator", "--help")
    assert "--webhook-listen" in run(image, "hibernator", "operator", "--help")
    assert "database: sqlite:////var/lib/hibernator/audit.db" in run(image, "hibernator", "config")
    assert "kind: ValidatingAdmissionPolicy" in run(image, "hibernator", "manifests")


def test_time_zones_are_found_without_those_of_the_system(image: Path) -> None:
    sample = ROOT / "docs" / "examples" / "office-hours.yaml"
    told = run(image, "hibernator", "explain", "-f", str(sample), "--at", "2026-03-06T22:30:00Z")
    assert told
    where = run(
        image, "python", "-c", "import zoneinfo; print(zoneinfo.TZPATH, zoneinfo.ZoneInfo('Asia/Tokyo'))"
    )
    assert where == "() Asia/Tokyo\n"


def test_nothing_that_only_developers_need_is_in_it(image: Path) -> None:
    listed = run(
        image,
        "python",
        "-c",
        "import importlib.metadata as m; print(*{d.name.lower() for d in m.distributions()})",
    )
    locked = set(re.findall(r"^([a-z0-9._-]+)==", RUNTIME, re.MULTILINE))
    normal = {re.sub(r"[-_.]+", "-", name) for name in listed.split()}
    assert normal - locked == {"hibernator"}
