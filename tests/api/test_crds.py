"""The CRDs on a real API server: they are taken, and show what people look for."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from api.objects import Json, noop, plan
from hibernator.api.checks import check_document
from hibernator.api.kinds import DEFINITIONS, Definition, all_kinds
from hibernator.cli.main import app
from support.cluster import CRDS, ClusterInTest

SAMPLES = sorted((CRDS.parent / "samples").glob("*.yaml"))

AT = "2026-12-05T20:00:00Z"
READY = [
    {"type": "Ready", "status": "True", "reason": "Fine", "message": "all well", "lastTransitionTime": AT}
]
LOOKS = {
    "timewindowscaler": (
        {"currentWindow": "BusinessHours", "effectiveReplicas": 0, "nextBoundary": AT, "conditions": READY},
        "NAME TARGET WINDOW REPLICAS NEXT CHANGE READY AGE",
        f"checkout checkout BusinessHours 0 {AT} True",
        "America/New_York all well",
    ),
    "hibernateplan": (
        {
            "phase": "Hibernating",
            "progress": "1/3",
            "nextTransition": {"at": AT, "to": "Awake"},
            "conditions": READY,
            "activeExceptions": [
                {"name": name, "type": "suspend", "validFrom": AT, "validUntil": AT, "state": state}
                for name, state in (("fair", "Expired"), ("release", "Active"))
            ],
        },
        "NAME PHASE NEXT AT TARGETS EXCEPTION AGE",
        f"shop Hibernating Awake {AT} 1/3 release",
        "Europe/Berlin all well",
    ),
    "scheduleexception": (
        {"state": "Pending", "approvalProgress": "1/2", "requestedBy": "alice", "message": "waits for bob"},
        "NAME PLAN TYPE STATE FROM UNTIL APPROVALS AGE",
        "saturday-release shop suspend Pending 2026-12-05T12:00:00Z 2026-12-06T12:00:00Z 1/2",
        "alice waits for bob",
    ),
    "remediationapprovalrequest": (
        {"decision": "Approved", "decidedBy": "carol", "message": "in time"},
        "NAME ANALYSIS CONFIDENCE REQUIRED BY DECISION AGE",
        "checkout-oom checkout-oom 0.65 2026-12-05T10:15:00Z Approved",
        "pod-oom-recovery carol in time",
    ),
}


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda definition: definition.kind.kind)
def test_the_api_server_serves(definition: Definition, crds: ClusterInTest) -> None:
    found = json.loads(crds.kubectl("get", "crd", definition.kind.resource, "-o", "json").stdout)
    conditions = {entry["type"]: entry["status"] for entry in found["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert "NonStructuralSchema" not in conditions


def test_one_word_lists_everything_of_ours(crds: ClusterInTest) -> None:
    found = crds.kubectl("api-resources", "--categories=hibernator", "-o", "name").stdout.split()
    assert sorted(found) == sorted({kind.resource for kind in all_kinds()})


@pytest.mark.parametrize("name", LOOKS)
def test_what_people_see_of_a(name: str, crds: ClusterInTest, namespace: str) -> None:
    status, header, row, wide = LOOKS[name]
    crds.kubectl("create", "-n", namespace, "-f", str(CRDS.parent / "samples" / f"{name}.yaml"))
    patch = json.dumps({"status": status})
    sample = yaml.safe_load((CRDS.parent / "samples" / f"{name}.yaml").read_text())["metadata"]["name"]
    crds.kubectl("patch", name, sample, "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)
    narrow = lines(crds.kubectl("get", name, "-n", namespace).stdout)
    assert narrow[0] == header
    assert narrow[1].startswith(row)
    assert wide in lines(crds.kubectl("get", name, "-n", namespace, "-o", "wide").stdout)[1]


def lines(table: str) -> list[str]:
    return [" ".join(line.split()) for line in table.splitlines()]


def test_there_is_a_sample_of_every_kind() -> None:
    assert {path.stem for path in SAMPLES} >= {kind.kind.lower() for kind in all_kinds()}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_has_no_mistakes(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        assert check_document(document) == []


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_api_server_takes_the_sample(path: Path, crds: ClusterInTest) -> None:
    crds.kubectl("apply", "--server-side", "--dry-run=server", "-n", "default", "-f", str(path))


def test_two_people_can_each_own_a_target_of_a_plan(crds: ClusterInTest, namespace: str) -> None:
    for who in ("web", "db"):
        applied(crds, namespace, plan(noop(who)), who)
    stored = json.loads(crds.kubectl("get", "hplan", "shop", "-n", namespace, "-o", "json").stdout)
    assert [target["name"] for target in stored["spec"]["targets"]] == ["web", "db"]


def applied(cluster: ClusterInTest, namespace: str, document: Json, who: str) -> None:
    cluster.kubectl(
        "apply",
        "--server-side",
        f"--field-manager={who}",
        "-n",
        namespace,
        "-f",
        "-",
        input=json.dumps(document),
    )


def test_the_command_prints_what_is_in_the_files() -> None:
    printed = CliRunner().invoke(app, ["crds"]).stdout
    files = [yaml.safe_load(path.read_text()) for path in CRDS.glob("*.yaml")]
    assert by_name(list(yaml.safe_load_all(printed))) == by_name(files)


def by_name(manifests: list[Json]) -> list[Json]:
    return sorted(manifests, key=lambda found: str(found["metadata"]["name"]))


@pytest.mark.parametrize(
    "word", ["tws", "TimeWindowScaler", "timewindowscalers", "timewindowscalers.kyklos.io"]
)
def test_the_command_knows_a_kind_by_all_its_names(word: str) -> None:
    printed = json.loads(CliRunner().invoke(app, ["crds", word, "-o", "json"]).stdout)
    assert printed["metadata"]["name"] == "timewindowscalers.kyklos.io"


def test_the_command_prints_several_as_one_list() -> None:
    printed = json.loads(CliRunner().invoke(app, ["crds", "tws", "hplan", "-o", "json"]).stdout)
    assert [item["spec"]["names"]["kind"] for item in printed["items"]] == [
        "TimeWindowScaler",
        "HibernatePlan",
    ]


@pytest.mark.parametrize(
    ("word", "hint"),
    [("HibernatePlans.io", "Did you mean HibernatePlan?"), ("Deployment", "The kinds are HibernatePlan, ")],
)
def test_the_command_says_what_was_probably_meant(word: str, hint: str) -> None:
    result = CliRunner().invoke(app, ["crds", word])
    assert str(result.exception) == f"There is no kind {word}."
    assert getattr(result.exception, "hint", "").startswith(hint)
