"""The shipped roles: what each may do in a real cluster, and that none may do everything."""

from typing import Any

import pytest

from hibernator.operator.roles import Home, grants, roles
from support.account import HOME, operator_kubeconfig
from support.cluster import ClusterInTest
from support.rights import may, until

EXCEPTIONS = "scheduleexceptions.hibernator.ardikabs.com"
REQUESTS = "remediationapprovalrequests.remediation.kubernaut.ai"
PLANS = "hibernateplans.hibernator.ardikabs.com"
SCALERS = "timewindowscalers.kyklos.io"


@pytest.fixture(scope="module")
def installed(crds: ClusterInTest) -> ClusterInTest:
    operator_kubeconfig(crds.kubeconfig)
    return crds


def everything() -> list[tuple[str, dict[str, Any]]]:
    documents = [*roles(), *grants(Home())]
    return [(one["metadata"]["name"], rule) for one in documents for rule in one.get("rules", ())]


def test_no_role_has_a_wildcard() -> None:
    for name, rule in everything():
        for words in rule.values():
            assert not [word for word in words if "*" in word], name


def test_no_role_can_give_itself_more() -> None:
    for name, rule in everything():
        assert "rbac.authorization.k8s.io" not in rule.get("apiGroups", ()), name
        assert not {"escalate", "bind", "impersonate"} & {*rule["verbs"]}, name


def test_the_operator_approves_nothing() -> None:
    for name, rule in everything():
        if "approve" in rule["verbs"]:
            assert name == "hibernator-approver"


def test_secrets_and_leases_are_read_and_changed_by_name() -> None:
    home = next(one for one in grants(Home()) if one["kind"] == "Role")
    for rule in home["rules"]:
        if {"secrets", "leases"} & {*rule["resources"]} and {"get", "list", "patch"} & {*rule["verbs"]}:
            assert rule["resourceNames"]


def test_webhooks_and_definitions_are_changed_by_name() -> None:
    for name, rule in everything():
        wide = {
            "customresourcedefinitions",
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
        }
        if wide & {*rule.get("resources", ())} and {"create", "patch"} & {*rule["verbs"]}:
            assert rule["resourceNames"], name


@pytest.mark.parametrize(
    ("role", "allowed", "forbidden"),
    [
        (
            "hibernator-auditor",
            [("list", PLANS), ("get", EXCEPTIONS), ("watch", REQUESTS), ("list", "events")],
            [("create", EXCEPTIONS), ("patch", f"{EXCEPTIONS}/status"), ("get", "secrets")],
        ),
        (
            "hibernator-requester",
            [("create", EXCEPTIONS), ("delete", EXCEPTIONS), ("get", PLANS)],
            [("patch", f"{EXCEPTIONS}/status"), ("approve", EXCEPTIONS), ("patch", PLANS)],
        ),
        (
            "hibernator-approver",
            [("approve", EXCEPTIONS), ("patch", f"{EXCEPTIONS}/status"), ("approve", REQUESTS)],
            [("create", EXCEPTIONS), ("patch", EXCEPTIONS), ("update", f"{EXCEPTIONS}/status")],
        ),
        ("hibernator-editor", [("create", SCALERS)], [("create", PLANS), ("patch", f"{SCALERS}/status")]),
        ("hibernator-planner", [("create", PLANS)], [("patch", f"{PLANS}/status"), ("approve", EXCEPTIONS)]),
    ],
)
def test_a_role_allows_what_it_is_for_and_no_more(
    installed: ClusterInTest,
    namespace: str,
    role: str,
    allowed: list[tuple[str, str]],
    forbidden: list[tuple[str, str]],
) -> None:
    user = f"somebody@{role}"
    bind = ("create", "rolebinding", "somebody", "-n", namespace, f"--clusterrole={role}", f"--user={user}")
    installed.kubectl(*bind)
    until(lambda: all(may(installed, namespace, user, *right) for right in allowed))  # it hears of it soon
    assert [right for right in forbidden if may(installed, namespace, user, *right)] == []


@pytest.mark.parametrize(
    ("role", "allowed", "forbidden"),
    [
        ("view", [("list", PLANS), ("list", EXCEPTIONS)], [("create", EXCEPTIONS)]),
        ("edit", [("create", EXCEPTIONS), ("create", SCALERS)], [("create", PLANS), ("approve", EXCEPTIONS)]),
        ("admin", [("create", EXCEPTIONS), ("list", REQUESTS)], [("approve", EXCEPTIONS), ("create", PLANS)]),
    ],
)
def test_what_is_harmless_is_part_of_the_roles_that_people_have(
    installed: ClusterInTest,
    namespace: str,
    role: str,
    allowed: list[tuple[str, str]],
    forbidden: list[tuple[str, str]],
) -> None:
    _wait_until_aggregated(installed, role)
    user = f"somebody@{role}"
    bind = ("create", "rolebinding", "somebody", "-n", namespace, f"--clusterrole={role}", f"--user={user}")
    installed.kubectl(*bind)
    until(lambda: all(may(installed, namespace, user, *right) for right in allowed))  # it hears of it soon
    assert [right for right in forbidden if may(installed, namespace, user, *right)] == []


def test_the_operator_reads_no_secret_but_its_own(installed: ClusterInTest, namespace: str) -> None:
    own = "secrets/hibernator-webhook-certificates"
    assert may(installed, HOME.namespace, HOME.user, "get", own)
    assert not may(installed, HOME.namespace, HOME.user, "get", "secrets/other")
    assert not may(installed, HOME.namespace, HOME.user, "list", "secrets")


def _wait_until_aggregated(cluster: ClusterInTest, role: str) -> None:
    """The controller manager puts aggregated roles together a moment after their parts are there."""
    fact = f"--for=jsonpath={{.rules[?(@.resources[0]=='{PLANS.partition('.')[0]}')].verbs[0]}}=get"
    cluster.kubectl("wait", f"clusterrole/{role}", fact, "--timeout=60s")
