"""What only the check without a cluster, and admission, can say about a document."""

from typing import Any

import pytest

from api.objects import (
    Json,
    approval_request,
    cloud,
    exception,
    hours,
    k8s_cluster,
    noop,
    ordered,
    plan,
    scaler,
    thing,
    without,
)
from hibernator.api.checks import check_document


def paths(document: Json) -> list[str]:
    return [problem.path for problem in check_document(document)]


def edges(*pairs: str) -> list[Json]:
    return [{"from": pair[0], "to": pair[1]} for pair in pairs]


def circles(*pairs: str) -> list[str]:
    names = sorted({name for pair in pairs for name in pair})
    document = ordered("DAG", *map(noop, names), dependencies=edges(*pairs))
    return [problem.value for problem in check_document(document)]


def test_targets_that_wait_for_each_other_are_named_in_their_circle() -> None:
    (problem,) = check_document(
        ordered("DAG", *map(noop, "abcd"), dependencies=edges("ab", "bc", "ca", "ad"))
    )
    assert problem.path == "spec.execution.strategy.dependencies"
    assert problem.message == "these targets wait for each other in a circle: a → b → c → a"


def test_every_circle_is_told() -> None:
    assert circles("ab", "ba", "cd", "dc") == ["a → b → a", "c → d → c"]


def test_a_long_way_round_is_no_circle() -> None:
    assert circles("ab", "bc", "ac", "cd", "ad") == []


def test_a_repeated_dependency_is_no_circle() -> None:
    assert circles("ab", "ab") == []


MEASURED = {"prometheus": {"serverAddress": "http://prometheus:9090", "query": "up"}, "min": 1, "max": 8}
CLOUD_TAGS = {"selector": {"tags": {"env": "dev"}}}
PARAMETERS: list[tuple[str, Json, list[str]]] = [
    ("workloadscaler", {"namespace": {"literals": ["shop"]}}, []),
    ("workloadscaler", {"namespace": {"selector": {"team": "shop"}}}, []),
    ("workloadscaler", {}, ["namespace"]),
    ("workloadscaler", {"namespace": {}}, ["namespace"]),
    ("workloadscaler", {"namespace": {"literals": ["a"], "selector": {"b": "c"}}}, ["namespace"]),
    ("workloadscaler", {"namespace": {"literals": ["a", "kube-system"]}}, ["namespace.literals[1]"]),
    ("workloadscaler", {"namespace": {"literals": ["Shop"]}}, ["namespace.literals[0]"]),
    ("workloadscaler", {"namespace": {"literals": ["a"]}, "include": []}, ["include"]),
    (
        "workloadscaler",
        {
            "namespace": {"literals": ["a"]},
            "workloadSelector": {
                "matchExpressions": [
                    {"key": "tier", "operator": "In"},
                    {"key": "tier", "operator": "Exists", "values": ["a"]},
                    {"key": "tier", "operator": "NotIn", "values": ["a"]},
                ]
            },
        },
        [
            "workloadSelector.matchExpressions[0].values",
            "workloadSelector.matchExpressions[1].values",
        ],
    ),
    ("karpenter", {"nodePools": ["default"]}, []),
    ("karpenter", {"selector": {"matchLabels": {"team": "shop"}}}, []),
    ("karpenter", {}, [""]),
    ("ec2", CLOUD_TAGS, []),
    (
        "ec2",
        {"selector": {"instanceIds": ["i-0abc"]}, "awaitCompletion": {"enabled": True, "timeout": "5m"}},
        [],
    ),
    ("ec2", {}, ["selector"]),
    ("ec2", {"selector": {}}, ["selector"]),
    ("ec2", {"selector": {"instanceIds": ["web-1"]}}, ["selector.instanceIds[0]"]),
    ("ec2", CLOUD_TAGS | {"awaitCompletion": {"timeout": "soon"}}, ["awaitCompletion.timeout"]),
    ("asg", {"selector": {"names": ["workers"]}}, []),
    ("asg", {"selector": {}}, ["selector"]),
    ("rds", {"selector": {"instanceIds": ["a"], "clusterIds": ["b"]}}, []),
    ("rds", {"selector": {"includeAll": True, "discoverClusters": True}}, []),
    ("rds", {"selector": {"excludeTags": {"keep": ""}, "discoverInstances": True}}, []),
    ("rds", {}, ["selector"]),
    ("rds", {"selector": {}}, ["selector"]),
    ("rds", CLOUD_TAGS, ["selector"]),
    ("rds", {"selector": {"tags": {"a": "b"}, "instanceIds": ["a"]}}, ["selector"]),
    (
        "rds",
        {"selector": {"tags": {"a": "b"}, "excludeTags": {"a": "b"}, "discoverClusters": True}},
        ["selector"],
    ),
    ("eks", {"clusterName": "dev", "nodeGroups": [{"name": "workers"}]}, []),
    ("eks", {}, ["clusterName"]),
    ("eks", {"clusterName": "dev", "nodeGroups": ["workers"]}, ["nodeGroups[0]"]),
    ("gke", {"clusterName": "dev", "location": "europe-west3", "nodePools": ["default"]}, []),
    ("gke", {}, ["clusterName", "location"]),
    ("cloudsql", {"instanceName": "shop"}, []),
    ("cloudsql", {}, ["instanceName"]),
    ("noop", {}, []),
    ("noop", {"items": 3, "delaySeconds": 1, "failureMode": "wake", "failures": 2}, []),
    ("noop", {"failureMode": "always"}, ["failureMode"]),
]


@pytest.mark.parametrize(("kind", "parameters", "wrong"), PARAMETERS)
def test_the_parameters_of_a_target_are_those_of_its_type(
    kind: str, parameters: Json, wrong: list[str]
) -> None:
    connector = "K8SCluster" if kind in {"workloadscaler", "karpenter"} else "CloudProvider"
    expected = [f"spec.targets[0].parameters.{path}".rstrip(".") for path in wrong]
    assert paths(cloud(kind, connector, **parameters)) == expected


@pytest.mark.parametrize("kind", ["eks", "gke"])
def test_a_cluster_that_is_referred_to_need_not_be_named_again(kind: str) -> None:
    assert paths(cloud(kind, "K8SCluster")) == []


def test_an_exception_stays_in_the_namespace_of_its_plan() -> None:
    elsewhere = exception(namespace="shop", planRef={"name": "shop", "namespace": "other"})
    assert paths(elsewhere) == ["spec.planRef.namespace"]


def test_a_scaler_stays_in_its_namespace() -> None:
    document = scaler(target={"namespace": "other"})
    document["metadata"]["namespace"] = "shop"
    (problem,) = check_document(document)
    assert problem.path == "spec.targetRef.namespace"
    assert problem.fix == "Remove it, or write shop."


def test_the_own_namespace_may_be_written_down() -> None:
    assert paths(exception(namespace="shop", planRef={"name": "shop", "namespace": "shop"})) == []


@pytest.mark.parametrize(
    ("window", "wrong"),
    [
        ({"replicas": "50%"}, []),
        ({"external": MEASURED}, []),
        ({}, ["spec.windows[0]"]),
        ({"replicas": 3, "external": MEASURED}, ["spec.windows[0]"]),
        ({"external": MEASURED | {"min": 9}}, ["spec.windows[0].external.min"]),
        ({"replicas": "half"}, ["spec.windows[0].replicas"]),
    ],
)
def test_a_window_of_the_newer_version_has_one_number(window: Json, wrong: list[str]) -> None:
    document = scaler(without(hours(), "replicas") | window)
    assert paths(document | {"apiVersion": "kyklos.io/v1beta1"}) == wrong


@pytest.mark.parametrize(
    ("conditions", "wrong"),
    [
        ([("Approved", "True")], []),
        ([("Ready", "False"), ("Rejected", "True")], []),
        ([("Approved", "False")], ["status.conditions[0].status"]),
        ([("Approved", "True"), ("Rejected", "True")], ["status.conditions"]),
    ],
)
def test_a_decision_is_true_and_there_is_one(conditions: list[tuple[str, str]], wrong: list[str]) -> None:
    document = approval_request()
    document["status"] = {
        "conditions": [
            {"type": kind, "status": status, "reason": "R", "lastTransitionTime": "2026-12-01T00:00:00Z"}
            for kind, status in conditions
        ]
    }
    assert paths(document) == wrong


def test_a_nameless_object_is_told_so() -> None:
    assert paths(plan() | {"metadata": {}}) == ["metadata.name"]
    assert paths(plan() | {"metadata": {"generateName": "shop-"}}) == []


def test_metadata_is_looked_at_too() -> None:
    document = thing("kyklos.io/v1alpha1", "TimeWindowScaler", scaler()["spec"], "Shop", label={"a": "b"})
    assert paths(document) == ["metadata.name", "metadata.label"]


def test_what_the_api_server_prints_can_be_checked_again() -> None:
    document = scaler()
    document["metadata"] |= {
        "uid": "0b7f",
        "generation": 2,
        "resourceVersion": "77",
        "creationTimestamp": "2026-12-01T00:00:00Z",
        "managedFields": [{"manager": "kubectl"}],
    }
    assert paths(document) == []


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "fix"),
    [
        ("", "HibernatePlan", "apiVersion", "Write hibernator.ardikabs.com/v1alpha1."),
        (
            "hibernator.ardikasaputro.io/v1alpha1",
            "HibernatePlan",
            "apiVersion",
            "Write hibernator.ardikabs.com/v1alpha1.",
        ),
        (
            "hibernator.ardikabs.com/v1",
            "HibernatePlan",
            "apiVersion",
            "Write hibernator.ardikabs.com/v1alpha1.",
        ),
        (
            "hibernator.ardikabs.io/v1alpha1",
            "HibernatePlan",
            "apiVersion",
            "Write hibernator.ardikabs.com/v1alpha1.",
        ),
        ("hibernator.ardikabs.com/v1alpha1", "HibernationPlan", "kind", "Did you mean HibernatePlan?"),
        ("hibernator.ardikabs.com/v1alpha1", "Pod", "kind", "Write one of ApprovalDelivery, CloudProvider, "),
        ("kyklos.io/v1alpha1", "", "kind", "Write one of TimeWindowScaler."),
    ],
)
def test_an_object_that_nearly_is_one_of_ours_is_told_so(
    api_version: str, kind: str, path: str, fix: str
) -> None:
    problem = check_document(plan() | {"apiVersion": api_version, "kind": kind})[0]
    assert problem.path == path
    assert problem.fix.startswith(fix)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": 5},
        {"apiVersion": "example.org/v1", "kind": "CloudProvider"},
    ],
)
def test_other_peoples_objects_are_none_of_our_business(document: Json) -> None:
    assert check_document(document) == []


@pytest.mark.parametrize("wrong", [None, 5, "x", [], [5], {}, [[]], [{"name": 5}]])
@pytest.mark.parametrize("field", ["schedule", "targets", "execution", "behavior"])
def test_whatever_stands_in_a_field_the_check_does_not_break(field: str, wrong: Any) -> None:
    check_document(plan() | {"spec": plan()["spec"] | {field: wrong}})
    check_document(plan(execution={"strategy": {"type": "DAG", "dependencies": wrong, "stages": wrong}}))
    check_document(k8s_cluster() | {"spec": wrong})
