"""`--watch` with every way to print, for every list: what is there, then each change, then the end."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml

from support.cluster import ClusterInTest
from support.exception_scenes import ExceptionScene, exception, hours
from support.plan_scenes import noop, plan
from support.scaler_scenes import scaler

FIRST, SECOND = "2026-03-20T00:00:00Z", "2026-03-21T00:00:00Z"
REQUEST: dict[str, Any] = {
    "apiVersion": "remediation.kubernaut.ai/v1alpha1",
    "kind": "RemediationApprovalRequest",
    "metadata": {"name": "rar"},
    "spec": {
        "aiAnalysisRef": {"name": "analysis"},
        "approvalContext": {"confidence": 0.7, "recommendedPlaybook": "restart", "reason": "it leaks"},
        "requiredBy": "2026-03-02T10:00:00Z",
    },
}


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> ExceptionScene:
    return ExceptionScene(crds, namespace)


@asynccontextmanager
async def watching(scene: ExceptionScene, kind: str, *options: str) -> AsyncIterator[asyncio.StreamReader]:
    """What a watch prints, until somebody presses Ctrl-C."""
    place = (f"--kubeconfig={scene.cluster.kubeconfig}", "-n", scene.namespace)
    watch = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hibernator.cli.main", kind, "list", "--watch", *options, *place),
        stdout=asyncio.subprocess.PIPE,
    )
    assert watch.stdout
    try:
        async with asyncio.timeout(120):
            yield watch.stdout
    finally:
        watch.send_signal(signal.SIGINT)
        assert await watch.wait() == 130


async def document(printed: asyncio.StreamReader) -> Any:
    """The next JSON document; they follow each other as those of kubectl do."""
    text = ""
    while line := (await printed.readline()).decode():
        text += line
        if line == "}\n":
            return json.loads(text)
    raise AssertionError(f"It ended with {text!r}")


def extension(name: str, until: str) -> dict[str, Any]:
    more = {"type": "extend", "validFrom": "2026-03-02T00:00:00Z", "validUntil": until}
    return exception(name, windows=hours("12:00", "13:00", ["MON"]), **more)


@pytest.mark.parametrize(
    ("kind", "resource", "made"),
    [
        ("exception", "schedex", extension("event", FIRST)),
        ("plan", "hplan", plan(noop("nothing"), name="nights")),
        ("scaler", "tws", scaler()),
        ("remediation", "rar", REQUEST),
    ],
)
async def test_every_list_goes_on_with_one_document_for_each_change(
    scene: ExceptionScene, kind: str, resource: str, made: dict[str, Any]
) -> None:
    call, name = asyncio.to_thread, made["metadata"]["name"]
    await call(scene.apply, made)
    async with watching(scene, kind, "-o", "json") as printed:
        first = await document(printed)
        assert (first["kind"], first["metadata"]["name"]) == (made["kind"], name)
        label = ("label", resource, name, "seen=yes", "-n", scene.namespace)
        await call(scene.cluster.kubectl, *label)
        assert (await document(printed))["metadata"]["labels"]["seen"] == "yes"
        await call(scene.delete, resource, name)
        assert (await document(printed))["metadata"]["name"] == name  # as it was at its end


async def test_yaml_documents_are_set_apart(scene: ExceptionScene) -> None:
    call = asyncio.to_thread
    await call(scene.apply, extension("one", FIRST), extension("two", FIRST))
    async with watching(scene, "exception", "-o", "yaml") as printed:
        assert await printed.readline() == b"---\n"
        one = await printed.readuntil(b"---\n")
        assert yaml.safe_load(one.removesuffix(b"---\n"))["metadata"]["name"] == "one"
        await call(scene.apply, extension("one", SECOND))
        two = await printed.readuntil(b"---\n")
        assert yaml.safe_load(two.removesuffix(b"---\n"))["metadata"]["name"] == "two"


async def test_a_name_is_printed_at_each_change(scene: ExceptionScene) -> None:
    await asyncio.to_thread(scene.apply, extension("event", FIRST))
    async with watching(scene, "exception", "-o", "name") as printed:
        name = b"scheduleexceptions.hibernator.ardikabs.com/event\n"
        assert await printed.readline() == name
        await asyncio.to_thread(scene.apply, extension("event", SECOND))
        assert await printed.readline() == name


@pytest.mark.parametrize(("output", "wide"), [("table", False), ("wide", True)])
async def test_a_table_gets_a_row_for_each_change_that_shows(
    scene: ExceptionScene,
    output: str,
    wide: bool,  # noqa: FBT001  a column of the table
) -> None:
    call = asyncio.to_thread
    await call(scene.apply, extension("event", FIRST))
    async with watching(scene, "exception", "-o", output) as printed:
        head = (await printed.readline()).decode().split()
        assert head[:6] == ["NAME", "PLAN", "TYPE", "STATE", "APPROVALS", "ENDS"]
        assert ("MESSAGE" in head) is wide
        row = ["event", "dev-plan", "extend", "-", "-"]
        assert (await printed.readline()).decode().split()[:5] == row
        await call(scene.cluster.kubectl, "label", "schedex", "event", "seen=yes", "-n", scene.namespace)
        await call(scene.apply, extension("event", SECOND))  # and nothing was said about the label
        assert (await printed.readline()).decode().split()[:5] == row


async def test_what_is_no_longer_wanted_is_told_once_more(scene: ExceptionScene) -> None:
    call = asyncio.to_thread
    await call(scene.apply, REQUEST)
    async with watching(scene, "remediation", "--pending") as printed:
        assert (await printed.readline()).decode().startswith("NAME")
        assert (await printed.readline()).decode().split()[-2] == "-"
        change = ("--subresource=status", "--type=merge", "-p", '{"status":{"decision":"Expired"}}')
        await call(scene.cluster.kubectl, "patch", "rar", "rar", "-n", scene.namespace, *change)
        assert (await printed.readline()).decode().split()[-2] == "Expired"


async def test_who_may_not_look_is_told_so_at_once(scene: ExceptionScene) -> None:
    path = scene.cluster.layout.root / f"{scene.namespace}.yaml"
    document = yaml.safe_load(scene.cluster.kubeconfig.read_text())
    document["users"][0]["user"] |= {"as": "nobody"}
    path.write_text(yaml.safe_dump(document))
    watch = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hibernator.cli.main", "plan", "list", "--watch"),
        *(f"--kubeconfig={path}", "-n", scene.namespace),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await watch.communicate()
    assert watch.returncode == 4
    hint = f"Ask an administrator for the ClusterRole hibernator-auditor in the namespace {scene.namespace}."
    assert hint in " ".join(said.decode().split())
