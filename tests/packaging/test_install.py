"""The chart and the kustomize base against a real API server, from installation to removal."""

import base64
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from whenever import Instant

from hibernator.admission.certificates import first
from hibernator.api.timewindowscaler import SCALERS
from hibernator.controlplane.cluster import KubectlError
from support.cluster import ClusterInTest
from support.command import hibernator
from support.helm import CHART, ROOT, Document, Helm
from support.kubeconfigs import write_kubeconfig
from support.plan_scenes import noop, plan
from tools.gotools import MONITORING, crds

RELEASE = ("hibernator", CHART, "-n", "hibernator-system", "--create-namespace")
EVERYTHING = (
    "--set=serviceMonitor.enabled=true",
    "--set=prometheusRule.enabled=true",
    "--set=dashboard.enabled=true",
    "--set=database.existingSecret.name=audit-database",
    "--set=webhooks.certificateSecret=webhook-tls",
    "--set=priorityClassName=system-cluster-critical",
    "--set=nodeSelector.disk=fast",
    '--set-json=tolerations=[{"operator":"Exists"}]',
    '--set-json=env=[{"name":"AWS_REGION","value":"eu-central-1"}]',
    "--set=imagePullSecrets[0].name=registry",
    "--set=podLabels.team=platform",
    "--set=podAnnotations.note=hello",
    "--set=serviceAccount.annotations.role=arn",
)
STILL_ASLEEP = (
    "HibernatePlan default/asleep has things asleep: let an operator wake them (`hibernator plan wake`), "
    "or take the finalizer hibernator.ardikabs.com/wake-first off by hand."
)
CRD = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{SCALERS.resource}"


@pytest.fixture(scope="module")
def plane(empty_cluster: ClusterInTest) -> ClusterInTest:
    """With the namespace, and with the kinds of the Prometheus operator."""
    empty_cluster.kubectl("apply", "-f", str(ROOT / "config" / "manager" / "namespace.yaml"))
    empty_cluster.install_crds(crds(MONITORING))
    return empty_cluster


@pytest.fixture
def installer(helm: Helm, plane: ClusterInTest) -> Helm:
    return replace(helm, kubeconfig=plane.kubeconfig)


@pytest.mark.parametrize("values", [(), EVERYTHING, ("--set=webhooks.enabled=false",)])
def test_the_api_server_takes_everything_that_the_chart_renders(
    helm: Helm, plane: ClusterInTest, values: tuple[str, ...]
) -> None:
    plane.dry_run(helm.render(*values))


@pytest.mark.parametrize(
    ("kind", "mistake", "said"),
    [
        ("ServiceMonitor", {"endpoints": [{"port": "metrics", "intervall": "30s"}]}, "intervall"),
        ("ServiceMonitor", {"endpoints": [{"port": "metrics", "interval": "soon"}]}, "interval"),
        ("PrometheusRule", {"groups": [{"name": "one", "rules": [{"alert": "NoQuestion"}]}]}, "expr"),
    ],
)
def test_a_mistake_in_what_the_prometheus_operator_reads_would_be_found(
    helm: Helm, plane: ClusterInTest, kind: str, mistake: Document, said: str
) -> None:
    document = next(each for each in helm.render(*EVERYTHING) if each["kind"] == kind)
    with pytest.raises(KubectlError, match=said):
        plane.dry_run([document | {"spec": document["spec"] | mistake}])


def test_the_api_server_takes_the_kustomize_base(
    plane: ClusterInTest, kustomized: list[Document], kustomized_web: list[Document]
) -> None:
    plane.dry_run(kustomized + kustomized_web)


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_pods_are_let_in_where_pod_security_is_restricted(
    helm: Helm, plane: ClusterInTest, kind: str
) -> None:
    plane.kubectl("create", "namespace", f"strict-{kind.lower()}")
    plane.kubectl(
        "label", "namespace", f"strict-{kind.lower()}", "pod-security.kubernetes.io/enforce=restricted"
    )
    template = next(each for each in helm.render() if each["kind"] == kind)["spec"]["template"]
    spec = template["spec"] | {"serviceAccountName": "default"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    where = ("-n", f"strict-{kind.lower()}")
    plane.kubectl("wait", "serviceaccount/default", *where, "--for=create", "--timeout=60s")
    plane.kubectl("create", *where, "--dry-run=server", "-f", "-", input=json.dumps(pod))
    del pod["spec"]["securityContext"]  # or the test would prove nothing
    with pytest.raises(KubectlError, match="violates PodSecurity"):
        plane.kubectl("create", *where, "--dry-run=server", "-f", "-", input=json.dumps(pod))


def test_a_release_lives_and_leaves_nothing_broken_behind(
    installer: Helm, plane: ClusterInTest, tmp_path: Path
) -> None:
    told = installer("install", *RELEASE, "--wait=hookOnly").stdout
    assert "hibernator doctor --namespace hibernator-system" in told
    plane.until_established()
    lease = plane.request(
        "GET", "/apis/coordination.k8s.io/v1/namespaces/hibernator-system/leases/hibernator"
    )
    assert lease.get("spec", {}) == {}, "the first replica need not wait for anybody"

    awake, asleep, bent = held_by_their_finalizers(plane)

    # An upgrade brings CRDs that have changed, and leaves alone what the operator registered in them.
    register(plane)
    columns = [{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns/0"}]
    plane.kubectl("patch", "crd", SCALERS.resource, "--type=json", f"--patch={json.dumps(columns)}")
    before = len(plane.request("GET", CRD)["spec"]["versions"][0]["additionalPrinterColumns"])
    # kubectl has made the list of columns its own just now; nobody else than this test does that.
    installer("upgrade", *RELEASE, "--set=replicas=3", "--wait=hookOnly", "--force-conflicts")
    definition = plane.request("GET", CRD)["spec"]
    assert len(definition["versions"][0]["additionalPrinterColumns"]) == before + 1
    assert definition["conversion"]["strategy"] == "Webhook"

    with ThreadPoolExecutor(1) as thread:
        removal = thread.submit(
            installer, "uninstall", "hibernator", "-n", "hibernator-system", "--timeout=5m"
        )
        detach_as_the_hook_does(plane, tmp_path)
        removal.result()
    assert plane.request("GET", CRD)["spec"]["conversion"]["strategy"] == "None"
    assert [plane.request("GET", one)["metadata"].get("finalizers", []) for one in (awake, asleep, bent)] == [
        [],
        ["hibernator.ardikabs.com/wake-first"],
        [],
    ]
    left = plane.kubectl(
        "get", "deployments,services,jobs,clusterroles,clusterrolebindings", "-A", "-o", "name"
    )
    assert "hibernator" not in left.stdout
    kept = plane.kubectl(
        "get", "crds,validatingadmissionpolicies,pvc", "-n", "hibernator-system", "-o", "name"
    ).stdout
    for name in (SCALERS.resource, "hibernator-exception-decisions", "hibernator-audit"):
        assert name in kept

    installer("install", *RELEASE, "--wait=hookOnly")  # finds what was kept, and takes it over again
    installer("uninstall", "hibernator", "-n", "hibernator-system", "--no-hooks")


def held_by_their_finalizers(plane: ClusterInTest) -> tuple[str, str, str]:
    """A plan that is awake, one that has put something to sleep, and an exception; where each of them is."""
    path = "/apis/hibernator.ardikabs.com/v1alpha1/namespaces/default"
    for name in ("awake", "asleep"):
        made = plan(noop("drill"), name=name)
        made["metadata"]["finalizers"] = ["hibernator.ardikabs.com/wake-first"]
        plane.request("POST", f"{path}/hibernateplans", made)
    cycle = {"cycle": 1, "sleep": {"startedAt": "2026-03-02T20:00:00Z", "result": "Succeeded"}}
    status = json.dumps({"status": {"phase": "Hibernated", "history": [cycle]}})
    plane.kubectl("patch", "hplan", "asleep", "--type=merge", "--subresource=status", f"--patch={status}")
    exception = {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "ScheduleException",
        "metadata": {"name": "bent", "finalizers": ["hibernator.ardikabs.com/exception"]},
        "spec": {
            "planRef": {"name": "awake"},
            "type": "suspend",
            "validFrom": "2026-03-02T00:00:00Z",
            "validUntil": "2026-03-03T00:00:00Z",
            "windows": [{"start": "20:01", "end": "23:00", "daysOfWeek": ["MON"]}],
        },
    }
    plane.request("POST", f"{path}/scheduleexceptions", exception)
    return f"{path}/hibernateplans/awake", f"{path}/hibernateplans/asleep", f"{path}/scheduleexceptions/bent"


def detach_as_the_hook_does(plane: ClusterInTest, tmp_path: Path) -> None:
    """Play the kubelet of the hook's pod: run its command under its account, and say that it succeeded."""
    pods = "/api/v1/namespaces/hibernator-system/pods?labelSelector=app.kubernetes.io/component=detach"
    pod = until(lambda: plane.request("GET", pods)["items"])[0]
    account, name = pod["spec"]["serviceAccountName"], pod["metadata"]["name"]
    token = plane.kubectl("create", "token", account, "-n", "hibernator-system").stdout.strip()
    kubeconfig = write_kubeconfig(
        tmp_path / "hook.kubeconfig",
        cluster={"server": plane.url, "certificate-authority": str(plane.ca)},
        user={"token": token},
    )
    ran = hibernator(*pod["spec"]["containers"][0]["args"], "--kubeconfig", kubeconfig)
    assert ran.out.splitlines() == [
        "timewindowscalers.kyklos.io is no longer converted by a webhook.",
        "The MutatingWebhookConfiguration hibernator is deleted.",
        "The ValidatingWebhookConfiguration hibernator is deleted.",
        "1 of scheduleexceptions.hibernator.ardikabs.com can be deleted without an operator.",
        "1 of hibernateplans.hibernator.ardikabs.com can be deleted without an operator.",
        STILL_ASLEEP,
    ], ran.err
    assert hibernator("detach", "--kubeconfig", kubeconfig).out == f"{STILL_ASLEEP}\n"
    done = '{"status":{"phase":"Succeeded"}}'
    plane.kubectl("patch", "pod", name, "-n", "hibernator-system", "--subresource=status", f"--patch={done}")


def register(plane: ClusterInTest) -> None:
    """Do as an operator does that serves webhooks."""
    service = {"name": "hibernator-webhook", "namespace": "hibernator-system", "path": "/convert"}
    bundle = first(["hibernator-webhook.hibernator-system.svc"], Instant.now()).bundle
    client = {"service": service, "caBundle": base64.b64encode(bundle).decode()}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    patch = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    plane.kubectl("patch", "crd", SCALERS.resource, "--type=merge", f"--patch={json.dumps(patch)}")
    for kind in ("Mutating", "Validating"):
        configuration = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
        }
        named = configuration | {"metadata": {"name": "hibernator"}, "webhooks": []}
        plane.kubectl("apply", "-f", "-", input=json.dumps(named))


def until(look: Callable[[], Any]) -> Any:
    """What is there once something is; the caller's time-out is helm's."""
    deadline = time.monotonic() + 120
    while not (found := look()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
    return found
