"""Executors of other packages: the one of the guide works, and a broken one concerns its own targets only."""

import sys
import tomllib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from hibernator.api.checks import check_document
from hibernator.cli.doctoring import installed
from hibernator.executors.plugins import GROUP, plugins
from support.cluster import ClusterInTest
from support.pages import blocks
from support.plan_scenes import EVENING, MORNING, PlanScene, plan

PAGE = "docs/guides/write-an-executor.md"
[PROJECT] = blocks(PAGE, "toml")
[CODE] = blocks(PAGE, "python")
[PLAN] = blocks(PAGE, "yaml")


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return PlanScene(crds, namespace)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that packages are installed into."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def install(site: Path, name: str, version: str, entries: dict[str, str], module: str, code: str) -> None:
    """What an installer leaves behind: the module, and beside it what the package says about itself."""
    (site / f"{module}.py").write_text(code)
    about = site / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = "".join(f"{type_} = {target}\n" for type_, target in entries.items())
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}")


def install_lamps(site: Path) -> None:
    project = tomllib.loads(PROJECT.text)["project"]
    entries = project["entry-points"][GROUP]
    install(site, project["name"], project["version"], entries, "hibernator_lamps", CODE.text)


def install_broken(site: Path) -> None:
    entries = {
        "broken.example.com": "broken_parts:Missing",
        "odd.example.com": "broken_parts:odd",
        "noop": "broken_parts:odd",
    }
    install(site, "broken-parts", "0.1", entries, "broken_parts", "def odd(_connectors): return 7\n")


@pytest.fixture
async def bridge() -> AsyncIterator[tuple[str, dict[str, str]]]:
    """Lamps that are switched by HTTP."""
    lamps = {"desk": "dimmed", "hall": "off"}

    async def switch(request: web.Request) -> web.Response:
        if request.method == "PUT":
            lamps[request.match_info["name"]] = await request.text()
        return web.Response(text=lamps[request.match_info["name"]])

    app = web.Application()
    app.router.add_route("*", "/lamps/{name}", switch)
    runner = web.AppRunner(app)
    await runner.setup()
    server = web.TCPSite(runner, "127.0.0.1", 0)
    await server.start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}", lamps
    await runner.cleanup()


async def test_the_executor_of_the_guide_sleeps_and_wakes_beside_a_broken_one(
    scene: PlanScene, site: Path, bridge: tuple[str, dict[str, str]]
) -> None:
    address, lamps = bridge
    install_lamps(site)
    install_broken(site)
    target: dict[str, Any] = yaml.safe_load(PLAN.text)["spec"]["targets"][0]
    target["parameters"]["address"] = address
    scene.create(
        plan(target),
        plan({"name": "it", "type": "broken.example.com"}, name="broken"),
        plan({"name": "it", "type": "odd.example.com"}, name="odd"),
        plan({"name": "it", "type": "absent.example.com"}, name="absent"),
    )
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
        assert lamps == {"desk": "off", "hall": "off"}
        told = {
            name: scene.plan_status(name)["targets"][0]["message"] for name in ("broken", "odd", "absent")
        }
        await run.advance_to(MORNING)
        await run.until(lambda: lamps == {"desk": "dimmed", "hall": "off"})
    assert told["broken"].startswith(
        "The plug-in for targets of type broken.example.com cannot be used: Attr"
    )
    assert told["odd"].endswith("TypeError: it gave a int, which is no Executor.")
    assert told["absent"].startswith("Targets of type absent.example.com are not known to this operator")


async def test_the_doctor_lists_every_plug_in_and_what_is_wrong_with_it(site: Path) -> None:
    install_lamps(site)
    install_broken(site)
    found = [(one.level, one.saw) async for one in installed.plugins()]
    assert [(level, saw.split(":")[0]) for level, saw in found] == [
        ("fail", "broken.example.com of broken-parts 0.1 cannot be used"),
        ("ok", "lamps.example.com of hibernator-lamps 1.0"),
        ("fail", "noop of broken-parts 0.1 cannot be used"),
        ("ok", "odd.example.com of broken-parts 0.1"),
    ]


def test_a_type_that_two_packages_bring_is_used_from_neither(site: Path) -> None:
    install_lamps(site)
    install(site, "other-lamps", "2.0", {"lamps.example.com": "other:Lamps"}, "other", "class Lamps: ...\n")
    assert {one.package: one.factory for one in plugins()} == {
        "hibernator-lamps 1.0": None,
        "other-lamps 2.0": None,
    }


def test_the_plan_of_the_guide_is_accepted_and_a_misspelt_type_is_not() -> None:
    document = yaml.safe_load(PLAN.text)
    assert check_document(document) == []
    document["spec"]["targets"][0]["type"] = "workloadscalr"
    [problem] = check_document(document)
    assert problem.path == "spec.targets[0].type"
    assert "workloadscaler" in problem.fix
