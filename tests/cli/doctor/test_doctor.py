"""`hibernator doctor` on a real installation: healthy, and with each part broken in turn."""

import asyncio
import contextlib
import http.server
import json
import re
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from whenever import Instant

from hibernator.admission.certificates import first, to_data
from hibernator.admission.keyrings import NAME as CERTIFICATES
from hibernator.api.timewindowscaler import SCALERS
from hibernator.cli.doctoring import leading, reach, webhooks
from hibernator.cli.doctoring.asking import Asker
from hibernator.cli.doctoring.findings import Check, Finding, Findings, InstalledOperator, Level
from hibernator.kube import credentials
from hibernator.operator.roles import Home
from support.command import hibernator
from support.installation import Installation
from support.kubeconfigs import write_kubeconfig
from support.plan_scenes import plan

MEND = "hibernator manifests -n hibernator-system --service-account hibernator | kubectl apply"


def examine(check: Check, kubeconfig: Path, *, now: Instant | None = None) -> list[Finding]:
    """One check, at any time."""

    async def run() -> list[Finding]:
        async with Asker(credentials.find(str(kubeconfig))) as asker:
            moment = now or Instant.now()
            patient = InstalledOperator(asker, Home(), "", now=lambda: moment)
            return [finding async for finding in check(patient)]

    return asyncio.run(run())


def test_all_is_well(installation: Installation) -> None:
    code, findings = installation.findings()
    assert [finding for finding in findings if finding["level"] != "ok"] == []
    assert [finding["about"] for finding in findings] == [
        "cluster",
        "version",
        "clock",
        "crds",
        "policies",
        "permissions",
        "leader",
        "leader clock",
        "strays",
        "webhooks",
        "certificates",
        "database",
        "audit chain",
    ]
    assert code == 0


def test_people_read_a_line_for_each_and_an_arrow_to_the_fix(installation: Installation) -> None:
    ran = hibernator("doctor", "--kubeconfig", installation.plane.kubeconfig, "-n", "nowhere")
    assert ran.code == 1
    assert "ok    version       Kubernetes v1." in ran.out
    assert "fail  leader        there is no Lease hibernator in nowhere\n" in ran.out
    assert "→ hibernator manifests -n nowhere" in ran.out
    assert ran.out.splitlines()[-1].endswith("fail")


def test_a_cluster_that_does_not_answer_is_all_that_is_said(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", cluster={"server": "https://127.0.0.1:1"}, user={})
    ran = hibernator("doctor", "--kubeconfig", kubeconfig, "-o", "json")
    (finding,) = json.loads(ran.out)["findings"]
    assert (ran.code, finding["about"], finding["level"]) == (3, "cluster", "fail")
    assert finding["saw"] == "the API server at 127.0.0.1:1 cannot be reached: Connection refused"


def test_a_stranger_is_told_to_log_in(installation: Installation, tmp_path: Path) -> None:
    plane = installation.plane
    cluster = {"server": plane.url, "certificate-authority": str(plane.ca)}
    stranger = write_kubeconfig(tmp_path / "k", cluster=cluster, user={"token": "nobody"})
    code, (finding,) = installation.findings(kubeconfig=stranger)
    assert (code, finding["level"]) == (3, "fail")
    assert "Log in again" in finding["fix"]


def test_someone_without_rights_learns_what_could_not_be_looked_at_and_no_lies(
    installation: Installation,
) -> None:
    installation.plane.kubectl("create", "serviceaccount", "visitor", "-n", "default")
    visitor = installation.account("visitor", "default")
    code, findings = installation.findings(kubeconfig=visitor)
    levels = {finding["about"]: finding["level"] for finding in findings}
    for about in ("crds", "policies", "permissions", "leader", "webhooks", "certificates"):
        assert levels[about] == "skip", about
    assert levels["cluster"] == levels["version"] == "ok"
    assert code == 0, "what could not be looked at is no failure"


def test_the_operator_itself_finds_its_own_rights_in_order(installation: Installation) -> None:
    """As in its pod, where the doctor can see the database, too."""
    code, findings = installation.findings(kubeconfig=installation.account())
    levels = {finding["about"]: finding["level"] for finding in findings}
    looked_at = ("cluster", "crds", "permissions", "leader", "certificates", "database", "audit chain")
    assert {levels[about] for about in looked_at} == {"ok"}
    assert code == 0


@pytest.mark.parametrize(("server", "level"), [("v1.29.9", "fail"), ("v1.30.0", "ok"), ("v2.0.1", "ok")])
def test_clusters_before_1_30_are_too_old(tmp_path: Path, server: str, level: str) -> None:
    with api_server(tmp_path, {"gitVersion": server}) as kubeconfig:
        (finding,) = examine(reach.version, kubeconfig)
    assert finding.level == level
    assert server in finding.saw


@pytest.mark.parametrize(
    ("seconds", "level", "said"),
    [(0, "ok", "agree"), (-30, "warn", "behind"), (30, "warn", "ahead"), (3600, "fail", "ahead")],
)
def test_a_clock_that_is_off_is_told_by_how_much(tmp_path: Path, seconds: int, level: str, said: str) -> None:
    with api_server(tmp_path, {"gitVersion": "v1.36.0"}) as kubeconfig:
        (finding,) = examine(reach.clock, kubeconfig, now=Instant.now().add(seconds=seconds))
    assert finding.level == level
    assert said in finding.saw


def test_a_crd_that_is_missing_or_changed_is_named_with_the_place(installation: Installation) -> None:
    plane = installation.plane
    change = [
        {"op": "replace", "path": "/spec/versions/0/additionalPrinterColumns/0/description", "value": "other"}
    ]
    plane.kubectl("delete", "crd", "k8sclusters.hibernator.ardikabs.com")
    plane.kubectl(
        "patch",
        "crd",
        "cloudproviders.hibernator.ardikabs.com",
        "--type=json",
        f"--patch={json.dumps(change)}",
    )
    found = {finding["saw"]: finding for finding in installation.about("crds")}
    missing = found["k8sclusters.hibernator.ardikabs.com is not installed"]
    assert missing["level"] == "fail"
    assert missing["fix"].startswith(MEND)
    changed = "spec.versions[0].additionalPrinterColumns[0].description"
    assert [each["level"] for saw, each in found.items() if changed in saw] == ["warn"]
    installation.apply()
    installation.until(lambda: installation.levels("crds") == ["ok"])


def test_a_policy_that_is_not_bound_is_named(installation: Installation) -> None:
    installation.plane.kubectl("delete", "validatingadmissionpolicybinding", "hibernator-exception-decisions")
    (finding,) = installation.about("policies")
    assert finding["level"] == "fail"
    assert "hibernator-exception-decisions is not installed" in finding["saw"]
    installation.apply()
    assert installation.levels("policies") == ["ok"]


def test_policies_that_except_someone_else_do_not_pass(installation: Installation) -> None:
    found = installation.about("policies", "--service-account", "impostor")
    assert found
    assert all("impostor" in finding["saw"] for finding in found)


def test_a_right_that_the_operator_lacks_is_named(installation: Installation) -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/hibernator-operator-cluster"
    installation.plane.request("DELETE", path)
    installation.until(lambda: set(installation.levels("permissions")) == {"fail"})
    found = installation.about("permissions")
    right = " may not patch customresourcedefinitions.apiextensions.k8s.io timewindowscalers.kyklos.io"
    assert [each["fix"] for each in found if each["saw"].endswith(right)] == [found[0]["fix"]]
    assert found[0]["fix"].startswith(MEND)
    installation.apply()
    installation.until(lambda: installation.levels("permissions") == ["ok"])


def test_a_right_that_only_a_patch_needs_is_named_with_its_own_fix(installation: Installation) -> None:
    parameters = {
        "namespace": {"literals": ["default"]},
        "apiVersion": "postgresql.cnpg.io/v1",
        "resource": "clusters",
        "patch": [{"op": "replace", "path": "/spec/instances", "value": 0}],
    }
    target = {"name": "db", "type": "patches", "parameters": parameters}
    place = "/apis/hibernator.ardikabs.com/v1alpha1/namespaces/default/hibernateplans"
    installation.plane.request("POST", place, plan(target, name="patching", suspend=True))
    found = installation.about("permissions")
    assert [each["saw"].partition(" may not ")[2] for each in found] == [
        f"{verb} clusters.postgresql.cnpg.io in default" for verb in ("get", "list", "watch", "patch")
    ]
    assert {each["fix"] for each in found} == {
        "Bind a role for clusters to it, as the guide on patches shows: a target of type patches needs it."
    }
    installation.plane.request("DELETE", f"{place}/patching")


def test_without_an_operator_no_one_leads_and_no_one_converts(installation: Installation) -> None:
    installation.stop()
    _, findings = installation.findings()
    found = {finding["about"]: finding for finding in findings}
    assert found["leader"]["saw"] == "no replica leads"
    assert found["webhooks"]["level"] == "fail"
    assert "127.0.0.1" in found["webhooks"]["saw"]
    assert not re.search("[0-9a-f]{64}", found["webhooks"]["saw"]), "the path is for API servers only"
    assert hibernator("detach", "--kubeconfig", installation.plane.kubeconfig).code == 0
    (detached,) = installation.about("webhooks")
    assert detached["level"] == "warn"
    installation.start()


def test_a_service_with_no_one_behind_it_is_told_apart(installation: Installation) -> None:
    installation.stop()
    plane = installation.plane
    service = {
        "name": "hibernator-webhook",
        "namespace": "hibernator-system",
        "path": "/convert",
        "port": 443,
    }
    patch = {"spec": {"conversion": {"webhook": {"clientConfig": {"service": service, "url": None}}}}}
    plane.kubectl("patch", "crd", SCALERS.resource, "--type=merge", f"--patch={json.dumps(patch)}")
    (finding,) = installation.about("webhooks")
    assert finding["level"] == "fail"
    assert finding["fix"].startswith("Nothing answers behind Service hibernator-system/hibernator-webhook.")
    assert "hibernator detach" in finding["fix"]
    installation.start()


@pytest.mark.parametrize(
    ("renewed", "level", "said"),
    [
        ("2020-01-01T00:00:00.000000Z", "fail", "behind the"),
        ("2120-01-01T00:00:00.000000Z", "fail", "ahead of the"),
    ],
)
def test_the_leaders_clock_is_compared_with_the_api_servers_own_notes(
    installation: Installation, renewed: str, level: str, said: str
) -> None:
    plane, namespace = installation.plane, f"clocks-{said.split(maxsplit=1)[0]}"
    plane.kubectl("create", "namespace", namespace)
    lease(installation, namespace, {"holderIdentity": "pod-a", "renewTime": renewed})
    (finding,) = installation.about("leader clock", "-n", namespace)
    assert finding["level"] == level
    assert f"s {said} API server's" in finding["saw"]


def test_a_leader_that_is_silent_is_no_leader(tmp_path: Path) -> None:
    renewed = Instant.now().subtract(minutes=5).format_iso(unit="second")
    fields = {"manager": "hibernator", "time": renewed, "fieldsV1": {"f:spec": {"f:renewTime": {}}}}
    seen = {
        "metadata": {"managedFields": [fields]},
        "spec": {"holderIdentity": "pod-a", "renewTime": renewed},
    }
    with api_server(tmp_path, seen) as kubeconfig:
        (finding,) = examine(leading.leader, kubeconfig)
    assert finding.level == "fail"
    assert finding.saw.startswith("pod-a led, but last renewed its lease 30")


def test_who_looks_as_the_operators_own_user_learns_that_their_writes_are_not_checked(
    installation: Installation,
) -> None:
    async def look(installed: InstalledOperator) -> Findings:
        yield Finding("webhooks", Level.OK, str(await webhooks.skips_you(installed)))

    [you] = examine(look, installation.plane.kubeconfig)
    [operator] = examine(look, installation.account())
    assert (you.saw, operator.saw) == ("False", "True")


@pytest.mark.parametrize(("days", "level"), [(0, "ok"), (70, "warn"), (91, "fail")])
def test_certificates_that_were_not_replaced_in_time_are_told(
    installation: Installation, days: int, level: str
) -> None:
    later = Instant.now().add(hours=24 * days)
    found = examine(webhooks.certificates, installation.plane.kubeconfig, now=later)
    assert [finding.level for finding in found] == [level]


def test_a_secret_without_certificates_in_it_is_told(installation: Installation) -> None:
    plane = installation.plane
    plane.kubectl("create", "namespace", "broken")
    plane.kubectl("create", "secret", "generic", CERTIFICATES, "-n", "broken", "--from-literal=tls.crt=x")
    (finding,) = installation.about("certificates", "-n", "broken")
    assert (finding["level"], finding["saw"][-17:]) == ("fail", "ca.crt is missing")


def test_certificates_that_the_api_server_does_not_trust_are_told(installation: Installation) -> None:
    """Another installation's, say, that was restored from a backup."""
    plane = installation.plane
    plane.kubectl("create", "namespace", "restored")
    foreign = to_data(first(["127.0.0.1"], Instant.now()))
    files = [f"--from-literal={name}={value.decode()}" for name, value in foreign.items()]
    plane.kubectl("create", "secret", "generic", CERTIFICATES, "-n", "restored", *files)
    found = installation.about("certificates", "-n", "restored")
    assert [finding["level"] for finding in found] == ["ok", "fail"]
    assert "does not trust" in found[1]["saw"]


def test_a_database_is_named_or_skipped(installation: Installation, tmp_path: Path) -> None:
    (missing,) = installation.about("database", "--database", f"sqlite:///{tmp_path}/none.db")
    assert (missing["level"], "There is no audit database" in missing["saw"]) == ("fail", True)
    (wrong,) = installation.about("database", "--database", "mysql://host/name")
    assert (wrong["level"], "only sqlite and postgresql" in wrong["saw"]) == ("fail", True)
    ran = hibernator("doctor", "-o", "json", "--kubeconfig", installation.plane.kubeconfig)
    unsaid = [each for each in json.loads(ran.out)["findings"] if each["about"] == "database"]
    assert [finding["level"] for finding in unsaid] == ["skip"]
    assert "kubectl exec deployment/hibernator" in unsaid[0]["fix"]


def test_a_database_of_another_shape_is_told(installation: Installation, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "old.db")) as database:
        database.execute("CREATE TABLE audit_version (version_num VARCHAR(32))")
        database.execute("INSERT INTO audit_version VALUES ('0000')")
        database.commit()
    (finding,) = installation.about("database", "--database", f"sqlite:///{tmp_path}/old.db")
    assert finding["level"] == "fail"
    assert "has the shape 0000" in finding["saw"]


def test_a_chain_with_an_end_that_is_missing_is_told(installation: Installation, tmp_path: Path) -> None:
    copy = tmp_path / "audit.db"
    with (
        contextlib.closing(sqlite3.connect(installation.folder / "audit.db")) as source,
        contextlib.closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
        target.execute("UPDATE audit_chain SET head_sequence = head_sequence + 1")
        target.commit()
    (finding,) = installation.about("audit chain", "--database", f"sqlite:///{copy}")
    assert finding["level"] == "fail"
    assert "at the end" in finding["saw"]


LEASES = "/apis/coordination.k8s.io/v1/namespaces"


def lease(installation: Installation, namespace: str, spec: dict[str, Any]) -> Any:
    body = {"metadata": {"name": "hibernator"}, "spec": spec | {"leaseDurationSeconds": 15}}
    return installation.plane.request("POST", f"{LEASES}/{namespace}/leases", body)


@contextlib.contextmanager
def api_server(folder: Path, answer: dict[str, Any]) -> Iterator[Path]:
    """For what no real one can be brought to say: one answer to everything, and the time in the header."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        yield write_kubeconfig(folder / "kubeconfig", cluster={"server": address}, user={})
        server.shutdown()
