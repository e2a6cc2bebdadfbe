"""The web process as the chart and the kustomize base bring it, without a cluster."""

import shutil
from pathlib import Path

import yaml

from hibernator.web.settings import SCHEMA as WEB_SETTINGS
from support.helm import ROOT, Document, Helm, key, kustomize, one, plain
from support.pages import blocks

WEB = (
    "--set=web.enabled=true",
    "--set=web.secretName=hibernator-web",
    "--set=web.settings.baseUrl=https://hibernator.company.com",
    "--set=web.settings.oidcIssuer=https://login.company.com",
    "--set=web.settings.oidcClientId=hibernator",
)


def test_the_web_process_is_there_only_where_it_was_asked_for(helm: Helm) -> None:
    kept = {"ClusterRole", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    named = [each["kind"] for each in helm.render() if each["metadata"]["name"] == "hibernator-web"]
    assert set(named) <= kept


def test_the_web_process_runs_under_its_own_account_with_its_own_settings(helm: Helm, tmp_path: Path) -> None:
    found = helm.render(*WEB, "--set=settings.approverEmails=domain:company.com")
    spec = one(found, "Deployment", "hibernator-web")["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == "hibernator-web"
    assert one(found, "ClusterRoleBinding", "hibernator-web")["subjects"][0]["name"] == "hibernator-web"
    file = tmp_path / "config.yaml"
    file.write_text(one(found, "ConfigMap", "hibernator-web-config")["data"]["config.yaml"], encoding="utf-8")
    read = WEB_SETTINGS.read({}, {}, file)
    assert read.base_url == "https://hibernator.company.com"
    assert read.session_key_file == "/etc/hibernator/web/session-keys"
    assert read.approver_emails == "domain:company.com"


def test_the_web_process_reads_the_trail_at_the_operator_and_only_its_pods_reach_that(helm: Helm) -> None:
    found = helm.render(*WEB)
    config = yaml.safe_load(one(found, "ConfigMap", "hibernator-web-config")["data"]["config.yaml"])
    service = one(found, "Service", "hibernator-webhook")
    assert config["trailUrl"] == f"https://hibernator-webhook.{service['metadata']['namespace']}.svc:9444"
    assert {each["name"]: each["port"] for each in service["spec"]["ports"]}["trail"] == 9444
    [rule] = [
        each
        for each in one(found, "NetworkPolicy", "hibernator")["spec"]["ingress"]
        if each["ports"] == [{"port": "trail"}]
    ]
    web = one(found, "Deployment", "hibernator-web")["spec"]["selector"]
    assert rule["from"] == [{"podSelector": web}]
    [way_out] = [
        each
        for each in one(found, "NetworkPolicy", "hibernator-web")["spec"]["egress"]
        if each["ports"] == [{"port": "trail"}]
    ]
    assert way_out["to"] == [{"podSelector": one(found, "Deployment", "hibernator")["spec"]["selector"]}]


def test_with_a_way_to_the_database_the_operator_still_serves_restore_data(helm: Helm) -> None:
    found = helm.render(*WEB, "--set=web.settings.databaseFile=/etc/hibernator/web/database-url")
    config = yaml.safe_load(one(found, "ConfigMap", "hibernator-web-config")["data"]["config.yaml"])
    assert config["databaseFile"] == "/etc/hibernator/web/database-url"
    assert config["trailUrl"].endswith(".svc:9444")
    assert "trailListen" in one(found, "ConfigMap", "hibernator-config")["data"]["config.yaml"]
    assert len(one(found, "Service", "hibernator-webhook")["spec"]["ports"]) == 2


def test_without_webhooks_the_operator_has_no_certificate_to_serve_it_with(helm: Helm) -> None:
    found = helm.render(*WEB, "--set=webhooks.enabled=false")
    assert "trailListen" not in one(found, "ConfigMap", "hibernator-config")["data"]["config.yaml"]
    assert "trailUrl" not in one(found, "ConfigMap", "hibernator-web-config")["data"]["config.yaml"]


def test_people_reach_the_web_process_by_an_ingress_or_a_route(helm: Helm) -> None:
    found = helm.render(
        *WEB,
        "--set=web.ingress.enabled=true",
        "--set=web.ingress.tlsSecret=tls",
        "--set=web.httpRoute.enabled=true",
        "--set=web.httpRoute.parentRefs[0].name=outside",
    )
    ingress = one(found, "Ingress", "hibernator-web")["spec"]
    assert ingress["rules"][0]["host"] == "hibernator.company.com"
    assert ingress["tls"] == [{"hosts": ["hibernator.company.com"], "secretName": "tls"}]
    assert one(found, "HTTPRoute", "hibernator-web")["spec"]["hostnames"] == ["hibernator.company.com"]
    assert {"Service", "NetworkPolicy", "PodDisruptionBudget"} <= {
        each["kind"] for each in found if each["metadata"]["name"] == "hibernator-web"
    }


def test_the_kustomize_base_of_the_web_process_is_that_of_the_chart(
    helm: Helm, kustomized: list[Document], kustomized_web: list[Document]
) -> None:
    base = {key(each) for each in kustomized}
    rendered = helm.render("--set=web.enabled=true", "--set=web.secretName=hibernator-web")
    ours = {key(each): plain(each) for each in rendered if key(each) not in base}
    theirs = {key(each): plain(each) for each in kustomized_web}
    assert theirs == {name: each for name, each in ours.items() if "detach" not in name[1]}


def test_the_values_for_slack_are_settings_and_their_files_are_mounted(helm: Helm, tmp_path: Path) -> None:
    [values] = [block.text for block in blocks(ROOT / "docs/guides/slack.md") if "secretName" in block.text]
    (tmp_path / "values.yaml").write_text(values, encoding="utf-8")
    found = helm.render("-f", tmp_path / "values.yaml")
    file = tmp_path / "config.yaml"
    file.write_text(one(found, "ConfigMap", "hibernator-web-config")["data"]["config.yaml"], encoding="utf-8")
    read = WEB_SETTINGS.read({}, {}, file)
    spec = one(found, "Deployment", "hibernator-web")["spec"]["template"]["spec"]
    [secrets] = [each for each in spec["containers"][0]["volumeMounts"] if each["name"] == "secrets"]
    for path in (read.slack_bot_token_file, read.slack_signing_secret_file, read.oidc_client_secret_file):
        assert Path(path).parent == Path(secrets["mountPath"])
        assert Path(path).name in values.partition("#")[2].partition("\n")[0]  # what the Secret has to hold
    assert (read.slack_team_id, read.slack_mode, read.slack_channel) == ("T024BE7LD", "buttons", "C024BE91L")


def test_the_overlay_of_the_web_process_has_its_settings_and_a_way_in(tmp_path: Path) -> None:
    _, overlay, ingress = blocks(ROOT / "docs/guides/install.md", "yaml")
    shutil.copytree(ROOT / "config", tmp_path / "hibernator" / "config")
    (tmp_path / "kustomization.yaml").write_text(overlay.text, "utf-8")
    found = kustomize(tmp_path)
    assert {each["kind"] for each in found if each["metadata"]["name"] == "hibernator-web"} >= {
        "Deployment",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
        "ServiceAccount",
    }
    images = {
        container["image"].partition(":")[0]
        for each in found
        if each["kind"] == "Deployment"
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    assert images == {"registry.example.com/hibernator"}
    config = one(found, "ConfigMap", "hibernator-web-config")
    (tmp_path / "config.yaml").write_text(config["data"]["config.yaml"], "utf-8")
    read = WEB_SETTINGS.read({}, {}, tmp_path / "config.yaml")
    way_in = yaml.safe_load(ingress.text)["spec"]
    assert read.base_url == f"https://{way_in['rules'][0]['host']}"
    backend = way_in["rules"][0]["http"]["paths"][0]["backend"]["service"]
    [service] = [
        each for each in found if (each["kind"], each["metadata"]["name"]) == ("Service", backend["name"])
    ]
    assert backend["port"]["name"] in {port["name"] for port in service["spec"]["ports"]}
