"""What the pages say to type on a cluster is typed, by whom it names, on a control plane of these tests' own.

Each test takes all shell blocks of its page: one that is added there needs something that runs it here.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hibernator.admission.pathsecret import NAME
from hibernator.api.approvaldelivery import DELIVERIES
from hibernator.api.planrequest import PLAN_REQUESTS
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import KubectlError, running as control_plane
from hibernator.controlplane.ports import free_port
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from support.account import HOME, operator_kubeconfig
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.command import hibernator
from support.foreign_kinds import SCALE, definition
from support.operators import Running, running
from support.pages import PAGES, Block, Shell, blocks
from support.plan_scenes import noop, plan
from support.rights import may, until

# Objects that no command of their page reads.
NO_MANIFESTS = {
    f"docs/guides/{name}.md" for name in ("install", "webhooks", "single-sign-on", "saml", "slack")
}
BARE = [
    block
    for page in PAGES
    for block in blocks(page, "yaml")
    if not block.name and block.page not in NO_MANIFESTS
]
ADMIN = "hibernator-admin"
NAMESPACES = ("hibernator-system", "shop", "stage", "team-a")
RAR = "remediationapprovalrequests.remediation.kubernaut.ai"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterInTest]:
    """With all that is shipped but a running operator, and with the namespaces that the pages name."""
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with control_plane(tmp_path_factory.mktemp("plane") / "cluster", binaries) as up:
        made = ClusterInTest(up.layout, up.state)
        for name in NAMESPACES:
            made.kubectl("create", "namespace", name)
        made.kubectl("apply", "--server-side", "-f", "-", input=hibernator("manifests").out)
        made.until_established()
        operator_kubeconfig(made.kubeconfig)
        yield made


def everybody(plane: ClusterInTest, role: str, namespace: str, *users: str) -> None:
    names = (f"--user={user}" for user in users)
    plane.kubectl("create", "rolebinding", role, f"--clusterrole={role}", "-n", namespace, *names)


def test_the_operator_may_scale_a_kind_of_your_own_once_it_is_bound(
    plane: ClusterInTest, tmp_path: Path
) -> None:
    [bind] = blocks("docs/security.md", "sh")
    plane.kubectl(
        "apply", "-f", "-", input=json.dumps(definition("example.com", "Fleet", "v1", subresources=SCALE))
    )
    plane.until_established()
    Shell(plane, tmp_path).type(bind.text)
    until(lambda: may(plane, "shop", HOME.user, "patch", "fleets.example.com"))


def test_the_operator_may_read_secrets_where_its_role_for_them_is_bound(
    plane: ClusterInTest, tmp_path: Path
) -> None:
    [bind] = blocks("docs/guides/cloud-resources.md", "sh")
    assert not may(plane, "team-a", HOME.user, "get", "secrets/key")
    Shell(plane, tmp_path).type(bind.text)
    until(lambda: may(plane, "team-a", HOME.user, "get", "secrets/key"))
    assert not may(plane, "shop", HOME.user, "get", "secrets/key")


async def test_grace_agrees_and_heidi_does_not(plane: ClusterInTest, tmp_path: Path) -> None:
    wish, grace, heidi = blocks("docs/guides/approvals.md", "yaml", "sh")
    clock = ManualClock("2026-03-29T12:00:00Z")
    everybody(plane, "hibernator-approver", "team-a", "grace@example.com", "heidi@example.com")
    plane.kubectl("apply", "-n", "team-a", "-f", "-", input=json.dumps(plan(noop("nothing"), name="dev")))
    shell = Shell(plane, tmp_path, clock)
    port = free_port()
    address = f"127.0.0.1:{port}"
    webhooks: dict[str, Any] = {"webhook_listen": address, "webhook_url": f"https://{address}"}
    async with running(plane.kubeconfig, "team-a", clock, home="hibernator-system", **webhooks) as run:
        await run.until(lambda: is_asked(plane, wish.text, by="alice@example.com"))
        await run.until(lambda: state(plane) == "Pending")
        assert "0/2" in await typed(run, shell, grace, "example.com")
        await run.until(lambda: "1/2" in state(plane, "approvalProgress"))
        await typed(run, shell, heidi, "example.com")
        await run.until(lambda: state(plane) == "Rejected")


async def test_bob_refuses_the_emergency(plane: ClusterInTest, tmp_path: Path) -> None:
    ask, *others, refuse = blocks("docs/guides/emergency-exception.md", "sh")
    assert {block.name for block in (ask, *others)} == {"alice", "bob"}  # lived through in test_journey
    clock = ManualClock("2026-03-06T12:00:00Z")
    dev = plan(noop("nothing"), name="dev-plan")
    plane.kubectl("apply", "-n", "default", "-f", "-", input=json.dumps(dev))
    everybody(plane, "hibernator-requester", "default", "alice@company.com")
    everybody(plane, "hibernator-approver", "default", "bob@company.com")
    shell = Shell(plane, tmp_path, clock)
    async with running(plane.kubeconfig, "default", clock, home="hibernator-system") as run:
        await typed(run, shell, ask, "company.com")
        await typed(run, shell, refuse, "company.com", by="bob")
        await run.until(lambda: state(plane, name="demo-night", namespace="default") == "Rejected")


async def test_bob_decides_about_remediations(plane: ClusterInTest, tmp_path: Path) -> None:
    page = "docs/guides/remediation-approvals.md"
    *by_bob, make_policy = blocks(page, "sh")
    incident, settings, policy = blocks(page, "yaml", "rego")
    everybody(plane, "hibernator-approver", "shop", "bob@company.com")
    clock = ManualClock("2026-03-02T08:00:00Z")
    shell = Shell(plane, tmp_path, clock)
    async with running(plane.kubeconfig, "shop", clock, home="hibernator-system") as run:
        decided = []
        for block in by_bob:
            plane.kubectl("apply", "-f", "-", input=incident.text)
            await run.until(lambda: bool(requests(plane)))
            [asked] = requests(plane)
            name = asked["metadata"]["name"]
            await run.settle()
            text = re.sub(r"checkout-oom-[0-9a-f]{10}", name, block.text)
            await typed(run, shell, block, "company.com", text=text)
            await run.until(lambda: all(each["status"].get("decision") for each in requests(plane)))
            decided.append(requests(plane)[0]["status"]["decision"])
            await asyncio.to_thread(
                plane.kubectl, "delete", "--ignore-not-found", "-f", "-", input=incident.text
            )
            await run.until(lambda: requests(plane) == [])
        assert decided == ["Approved", "Rejected", "Approved"]

        plane.kubectl("apply", "-f", "-", input=settings.text)
        (tmp_path / policy.name).write_text(policy.text, "utf-8")
        shell.type(make_policy.text)
        await run.settle()
        plane.kubectl("apply", "-f", "-", input=incident.text)
        await run.until(lambda: bool(requests(plane)))
        [asked] = requests(plane)
        assert asked["spec"]["requiredBy"] == "2026-03-02T08:10:00Z"  # as the policy says


def is_asked(plane: ClusterInTest, wish: str, by: str) -> bool:
    """Whether the API server took it; it takes a moment until it asks the webhook who that was."""
    try:
        plane.kubectl("apply", "-f", "-", input=wish, as_user=by, as_groups=("system:masters",))
    except KubectlError as error:
        if "webhook" not in str(error):
            raise
        return False
    return True


def state(
    plane: ClusterInTest, what: str = "state", name: str = "night-shift", namespace: str = "team-a"
) -> str:
    path = f"/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{namespace}/scheduleexceptions/{name}"
    return str(plane.request("GET", path).get("status", {}).get(what, ""))


def requests(plane: ClusterInTest) -> list[dict[str, dict[str, str]]]:
    path = "/apis/remediation.kubernaut.ai/v1alpha1/namespaces/shop/remediationapprovalrequests"
    found: list[dict[str, dict[str, str]]] = plane.request("GET", path)["items"]
    return [{"status": {}} | each for each in found]


async def typed(
    run: Running, shell: Shell, block: Block, domain: str, *, by: str = "", text: str = ""
) -> str:
    """What somebody sees who types this while the operator, which is in this process, goes on."""
    said = await asyncio.to_thread(shell.type, text or block.text, by=f"{by or block.name}@{domain}")
    await run.settle()
    return said


def test_old_files_are_converted_and_looked_at(plane: ClusterInTest, tmp_path: Path) -> None:
    convert, _ = blocks("docs/guides/migrating.md", "sh")
    (tmp_path / "old").mkdir()
    for block in blocks("docs/guides/migrating.md", "yaml"):
        (tmp_path / "old" / block.name).write_text(block.text, "utf-8")
    assert "HibernatePlan team-a/nights" in Shell(plane, tmp_path).type(convert.text)


def test_what_lives_in_a_cluster_is_converted_and_applied(plane: ClusterInTest, tmp_path: Path) -> None:
    _, convert = blocks("docs/guides/migrating.md", "sh")
    plane.kubectl("annotate", "namespace", "stage", "downscaler/uptime=Mon-Fri 07:00-20:00 Europe/Berlin")
    Shell(plane, tmp_path).type(convert.text)
    plane.kubectl("delete", "hibernateplan", "downscaler", "-n", "stage")
    plane.kubectl("annotate", "namespace", "stage", "downscaler/uptime-")


@pytest.mark.parametrize("block", BARE, ids=str)
def test_the_api_server_takes_what_a_page_shows(plane: ClusterInTest, block: Block) -> None:
    apply = ("apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-")
    # What only the web process writes is applied in its name.
    is_webs = any(f"kind: {kind.kind}\n" in block.text for kind in (DELIVERIES, PLAN_REQUESTS))
    who, groups = (HOME.web_user, ("system:masters",)) if is_webs else (None, ())
    plane.kubectl(*apply, input=_asked_for(block.text), as_user=who, as_groups=groups)


def _asked_for(text: str) -> str:
    """As the webhook would leave it, which nobody serves here; in a namespace that nothing else uses."""
    documents = list(yaml.safe_load_all(text))
    for each in documents:
        each["metadata"].setdefault("namespace", "stage")
        if each["kind"] == "ScheduleException":
            each["metadata"].setdefault("annotations", {})["hibernator.ardikabs.com/requested-by"] = ADMIN
    return str(yaml.safe_dump_all(documents))


async def test_a_key_that_leaked_is_replaced_by_deleting_its_secret(
    plane: ClusterInTest, tmp_path: Path
) -> None:
    [remove] = blocks("docs/guides/webhooks.md", "sh")
    address = f"127.0.0.1:{free_port()}"

    def keys() -> str:
        found = (
            "get",
            "secret",
            NAME,
            "-n",
            HOME.namespace,
            "--ignore-not-found",
            "-o",
            "jsonpath={.data.keys}",
        )
        return plane.kubectl(*found).stdout

    webhooks: dict[str, Any] = {"webhook_listen": address, "webhook_url": f"https://{address}"}
    async with running(plane.kubeconfig, "shop", home=HOME.namespace, **webhooks) as run:
        await run.until(keys)
        leaked = await asyncio.to_thread(keys)
        await asyncio.to_thread(Shell(plane, tmp_path).type, remove.text)
        await run.until(lambda: keys() not in {"", leaked})


def test_the_setting_for_certificates_is_one(tmp_path: Path) -> None:
    [setting] = blocks("docs/guides/webhooks.md", "yaml")
    (tmp_path / "config.yaml").write_text(setting.text, "utf-8")
    shown = hibernator("config", "--config", tmp_path / "config.yaml")
    assert "/etc/hibernator/webhook" in shown.out, shown.err
