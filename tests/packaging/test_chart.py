"""The chart as helm renders it, without a cluster."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hibernator import __version__
from hibernator.executors.gcp.login import CONFIGURATION
from hibernator.kube import election, manager
from hibernator.operator.settings import Settings, settings
from support.command import hibernator
from support.helm import CHART, Document, Helm, key, one, plain

POSTGRES = "--set=database.existingSecret.name=audit-database"


def kinds(documents: list[Document]) -> set[str]:
    return {each["kind"] for each in documents}


def pod(documents: list[Document]) -> dict[str, Any]:
    spec: dict[str, Any] = one(documents, "Deployment")["spec"]["template"]["spec"]
    return spec


def settings_of(documents: list[Document], tmp_path: Path) -> Settings:
    """What the operator makes of the file that the chart mounts."""
    file = tmp_path / "config.yaml"
    file.write_text(one(documents, "ConfigMap", "hibernator-config")["data"]["config.yaml"], encoding="utf-8")
    return settings({}, {}, file)


def test_helm_finds_nothing_to_complain_about(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART).stdout


def test_the_chart_has_the_version_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_every_value_stands_in_values_yaml_with_its_default() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))

    def compare(values: dict[str, Any], schema: dict[str, Any], path: str) -> None:
        for name, part in schema["properties"].items():
            if path + name in {"global", "settings", "web.settings"}:
                continue
            assert name in values, f"{path}{name} has no default"
            if "properties" in part:
                compare(values[name], part, f"{path}{name}.")

    compare(values, schema, "")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"replica": 2}, "replica"),
        ({"replicas": 0}, "replicas"),
        ({"settings": {"worker": 3}}, "worker"),
        ({"settings": {"workers": 0}}, "workers"),
        ({"settings": {"database": "sqlite:////elsewhere.db"}}, "database"),
        ({"image": {"digest": "sha256:abc"}}, "digest"),
        ({"networkPolicy": {"egressPorts": [70000]}}, "egressPorts"),
        ({"networkPolicy": {"apiServers": ["api.example.com"]}}, "apiServers"),
        ({"serviceAccount": {"name": "Not A Name"}}, "name"),
    ],
)
def test_values_that_mean_nothing_are_refused_by_name(helm: Helm, values: dict[str, Any], said: str) -> None:
    refusal = helm.refusal(**values)
    assert "values don't meet the specifications of the schema" in refusal
    assert said in refusal


def test_what_the_user_sets_reaches_the_operator_beside_what_the_chart_decides(
    helm: Helm, tmp_path: Path
) -> None:
    rendered = helm.render(
        "--set=settings.workers=3", "--set-string=settings.approverEmails=domain:company.com"
    )
    found = settings_of(rendered, tmp_path)
    assert (found.workers, found.approver_emails) == (3, "domain:company.com")
    assert found.webhook_listen.endswith(":9443")
    assert found.database == "sqlite:////var/lib/hibernator/audit.db"
    mounts = {mount["mountPath"] for mount in pod(rendered)["containers"][0]["volumeMounts"]}
    assert {"/var/lib/hibernator", "/etc/hibernator/config.yaml"} < mounts


def test_ports_and_services_are_those_that_the_settings_name(helm: Helm, tmp_path: Path) -> None:
    rendered = helm.render()
    found = settings_of(rendered, tmp_path)
    ports = {each["name"]: each["containerPort"] for each in pod(rendered)["containers"][0]["ports"]}
    assert found.listen == f"0.0.0.0:{ports['metrics']}"
    assert found.webhook_listen == f"0.0.0.0:{ports['webhooks']}"
    service = one(rendered, "Service", found.webhook_service)
    assert found.trail_listen == f"0.0.0.0:{ports['trail']}"
    assert service["spec"]["ports"] == [
        {"name": "webhooks", "port": 443, "targetPort": "webhooks"},
        {"name": "trail", "port": 9444, "targetPort": "trail"},
    ]


def test_with_sqlite_both_replicas_share_a_node_and_nothing_keeps_it_from_being_drained(helm: Helm) -> None:
    rendered = helm.render()
    rule = pod(rendered)["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    deployment = one(rendered, "Deployment")
    assert deployment["spec"]["replicas"] == 2
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert rule["labelSelector"] == deployment["spec"]["selector"]
    assert "PodDisruptionBudget" not in kinds(rendered)
    assert one(rendered, "PersistentVolumeClaim", "hibernator-audit")["metadata"]["annotations"] == {
        "helm.sh/resource-policy": "keep"
    }


def test_with_postgresql_the_replicas_spread_and_one_of_them_stays_up(helm: Helm, tmp_path: Path) -> None:
    rendered = helm.render(POSTGRES)
    spread = {each["topologyKey"] for each in pod(rendered)["topologySpreadConstraints"]}
    assert spread == {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}
    assert "affinity" not in pod(rendered)
    assert one(rendered, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert "PersistentVolumeClaim" not in kinds(rendered)
    environment = {each["name"]: each for each in pod(rendered)["containers"][0]["env"]}
    assert environment["HIBERNATOR_DATABASE"]["valueFrom"] == {
        "secretKeyRef": {"name": "audit-database", "key": "url"}
    }
    config = one(rendered, "ConfigMap", "hibernator-config")["data"]["config.yaml"]
    assert "database" not in config, "a file that names the database would hide that it is in the Secret"


def test_without_webhooks_there_is_neither_a_service_for_them_nor_anything_to_take_back(
    helm: Helm, tmp_path: Path
) -> None:
    rendered = helm.render("--set=webhooks.enabled=false")
    assert settings_of(rendered, tmp_path).webhook_listen == ""
    assert "hibernator-webhook" not in {each["metadata"]["name"] for each in rendered}
    assert "Job" not in kinds(rendered)


def test_certificates_of_someone_else_are_mounted_where_the_operator_looks(
    helm: Helm, tmp_path: Path
) -> None:
    rendered = helm.render("--set=webhooks.certificateSecret=webhook-tls")
    folder = settings_of(rendered, tmp_path).webhook_certificates
    mounted = {each["mountPath"]: each["name"] for each in pod(rendered)["containers"][0]["volumeMounts"]}
    volumes = {each["name"]: each for each in pod(rendered)["volumes"]}
    assert volumes[mounted[folder]]["secret"]["secretName"] == "webhook-tls"


def test_policies_and_grants_follow_the_namespace_and_the_account(helm: Helm) -> None:
    rendered = helm.render("--set=serviceAccount.name=sleeper", namespace="ops")
    binding = one(rendered, "ClusterRoleBinding", "hibernator-operator")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "sleeper", "namespace": "ops"}]
    policy = one(rendered, "ValidatingAdmissionPolicy", "hibernator-exception-decisions")
    assert "system:serviceaccount:ops:sleeper" in json.dumps(policy)
    assert "{{" not in json.dumps([each for each in rendered if each["kind"] != "CustomResourceDefinition"])


def test_what_holds_or_guards_peoples_objects_is_kept_on_uninstall(helm: Helm) -> None:
    kept = {
        each["kind"]
        for each in helm.render()
        if each["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == "keep"
    }
    assert kept == {
        "CustomResourceDefinition",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "PersistentVolumeClaim",
    }


def test_crds_are_no_business_of_helm_when_someone_else_applies_them(helm: Helm) -> None:
    assert "CustomResourceDefinition" not in kinds(helm.render("--set=crds.install=false"))


def test_the_operator_may_take_minutes_to_start_and_is_neither_killed_nor_called_ready_meanwhile(
    helm: Helm,
) -> None:
    spec = pod(helm.render())
    operator = spec["containers"][0]
    start, alive, ready = (operator[f"{name}Probe"] for name in ("startup", "liveness", "readiness"))
    # At its own request of 100m it needs a minute of CPU time for what an idle core does in six seconds.
    assert operator["resources"]["requests"]["cpu"] == "100m"
    assert start["failureThreshold"] * start["periodSeconds"] >= 180
    assert start["httpGet"] == alive["httpGet"]  # from here on it must stay so
    assert "initialDelaySeconds" not in alive | ready
    assert ready["failureThreshold"] * ready["periodSeconds"] >= 15  # one late answer is none too many


def test_kubernetes_waits_for_longer_than_a_leader_needs_to_hand_over(helm: Helm) -> None:
    steps = (manager._DRAIN, manager._LAST_WRITES, 3 * manager._CUT_SHORT, manager._FLUSH, manager._REST)
    assert pod(helm.render())["terminationGracePeriodSeconds"] > sum(steps) + election._RELEASE


def test_a_digest_wins_over_the_tag(helm: Helm) -> None:
    digest = f"sha256:{'0' * 64}"
    rendered = helm.render(
        "--set=image.repository=example.com/h", "--set=image.tag=x", f"--set=image.digest={digest}"
    )
    assert pod(rendered)["containers"][0]["image"] == f"example.com/h@{digest}"


def test_the_kustomize_base_is_the_chart_with_its_defaults(helm: Helm, kustomized: list[Document]) -> None:
    ours = {key(each): plain(each) for each in helm.render() if "detach" not in each["metadata"]["name"]}
    theirs = {key(each): plain(each) for each in kustomized if each["kind"] != "Namespace"}
    assert theirs == ours


def test_the_plan_in_the_notes_is_a_valid_one(helm: Helm, tmp_path: Path) -> None:
    notes = (CHART / "templates" / "NOTES.txt").read_text(encoding="utf-8")
    found = re.search(r"<<'PLAN'\n(.*?)\n  PLAN", notes, re.DOTALL)
    assert found is not None
    plan = tmp_path / "plan.yaml"
    plan.write_text("\n".join(line[2:] for line in found[1].splitlines()), encoding="utf-8")
    ran = hibernator("validate", "-f", plan)
    assert ran.code == 0, ran.err


def test_the_webhooks_can_be_kept_to_the_addresses_of_api_servers(helm: Helm) -> None:
    def rules(*values: str) -> dict[str, Any]:
        policy = one(helm.render(*values), "NetworkPolicy")
        found = {rule["ports"][0]["port"]: rule.get("from") for rule in policy["spec"]["ingress"]}
        assert found.pop("trail"), "only the web process reads the trail"
        return found

    assert rules() == {"metrics": None, "webhooks": None}
    assert rules("--set=networkPolicy.apiServers={10.0.0.0/28,fd00::/64}") == {
        "metrics": None,
        "webhooks": [{"ipBlock": {"cidr": "10.0.0.0/28"}}, {"ipBlock": {"cidr": "fd00::/64"}}],
    }


def test_a_key_for_checkpoints_is_mounted_and_named(helm: Helm, tmp_path: Path) -> None:
    assert settings_of(helm.render(), tmp_path).audit_key == ""
    rendered = helm.render("--set=checkpoints.keySecret=audit-key")
    (volume,) = [one for one in pod(rendered)["volumes"] if one["name"] == "audit-key"]
    assert volume["secret"] == {"secretName": "audit-key", "defaultMode": 0o440}
    (mount,) = [one for one in pod(rendered)["containers"][0]["volumeMounts"] if one["name"] == "audit-key"]
    assert settings_of(rendered, tmp_path).audit_key == f"{mount['mountPath']}/audit.key"
    assert "auditKey" in helm.refusal(settings={"auditKey": "elsewhere"})


def test_a_federated_identity_at_google_is_mounted_and_named(helm: Helm) -> None:
    assert "google" not in str(pod(helm.render()))
    rendered = helm.render(
        "--set=googleFederation.configMap=google", "--set=googleFederation.audience=//iam.googleapis.com/x"
    )
    container = pod(rendered)["containers"][0]
    (named,) = [one for one in container["env"] if one["name"] == CONFIGURATION]
    (mount,) = [one for one in container["volumeMounts"] if one["name"] == "google"]
    assert named["value"] == f"{mount['mountPath']}/credentials.json"
    (volume,) = [one for one in pod(rendered)["volumes"] if one["name"] == "google"]
    maps, token = volume["projected"]["sources"]
    assert maps["configMap"]["name"] == "google"
    assert token["serviceAccountToken"] == {"audience": "//iam.googleapis.com/x", "path": "token"}
