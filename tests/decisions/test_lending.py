"""Who may use a connector, and how a plan that may not is told."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from hibernator.api.cloudprovider import CloudProvider
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.k8scluster import K8SCluster
from hibernator.decisions.connectors import Connector, Name, borrowed, connectors_of, lends

SPACES = ("team", "cloud", "other")


def provider(namespace: str, *allowed: str) -> CloudProvider:
    aws = {"accountId": "123456789012", "region": "eu-central-1", "auth": {"serviceAccount": {}}}
    spec = {"type": "aws", "aws": aws, "allowedNamespaces": list(allowed)}
    return msgspec.convert(
        {"metadata": {"name": "prod", "namespace": namespace}, "spec": spec}, CloudProvider
    )


def cluster(namespace: str, *allowed: str, provider: str = "") -> K8SCluster:
    ref = {"name": "prod"} | ({"namespace": provider} if provider else {})
    eks = {"name": "live", "region": "eu-central-1", "providerRef": ref}
    spec = {"eks": eks, "allowedNamespaces": list(allowed)}
    return msgspec.convert({"metadata": {"name": "live", "namespace": namespace}, "spec": spec}, K8SCluster)


def plan(kind: str, namespace: str | None) -> HibernatePlan:
    name = "prod" if kind == "CloudProvider" else "live"
    reference = {"kind": kind, "name": name} | ({"namespace": namespace} if namespace else {})
    targets = [{"name": "own", "type": "noop"}, {"name": "db", "type": "rds", "connectorRef": reference}]
    document: dict[str, Any] = {
        "metadata": {"name": "nights", "namespace": "team"},
        "spec": {"schedule": {"timezone": "UTC", "offHours": []}, "targets": targets},
    }
    return msgspec.convert(document, HibernatePlan)


def told(wanted: HibernatePlan, *there: Connector) -> list[str]:
    found: dict[Name, Connector] = {
        (
            "CloudProvider" if isinstance(one, CloudProvider) else "K8SCluster",
            one.metadata.namespace,
            one.metadata.name,
        ): one
        for one in there
    }
    return [f"{one.path}: {one.message}. {one.fix}" for one in borrowed(wanted, found.get)]


@pytest.mark.parametrize(
    ("allowed", "may"),
    [((), False), (("team",), True), (("other",), False), (("other", "team"), True), (("*",), True)],
)
def test_a_connector_is_for_its_own_namespace_and_for_those_that_it_names(
    allowed: tuple[str, ...], *, may: bool
) -> None:
    assert told(plan("CloudProvider", None), provider("team")) == []
    assert told(plan("CloudProvider", "team"), provider("team")) == []
    assert (told(plan("CloudProvider", "cloud"), provider("cloud", *allowed)) == []) == may
    assert (told(plan("K8SCluster", "cloud"), cluster("cloud", *allowed)) == []) == may


def test_the_plan_is_told_which_field_to_change_and_not_whether_the_connector_exists() -> None:
    wanted = plan("CloudProvider", "cloud")
    sentence = (
        "spec.targets[1].connectorRef: there is no CloudProvider prod in the namespace cloud that the "
        "namespace team may use. "
        "Add team to spec.allowedNamespaces of that CloudProvider, or use one in team."
    )
    assert told(wanted, provider("cloud")) == told(wanted) == [sentence]


def test_a_cluster_lends_no_account_that_is_not_lent_to_it() -> None:
    mine = cluster("team", provider="cloud")
    [refused] = told(plan("K8SCluster", None), mine, provider("cloud"))
    assert "no CloudProvider prod in the namespace cloud that the namespace team may use" in refused
    assert told(plan("K8SCluster", None), mine, provider("cloud", "team")) == []
    lent = cluster("cloud", "team", provider="other")
    [refused] = told(plan("K8SCluster", "cloud"), lent, provider("other", "team"))
    assert "that the namespace cloud may use" in refused
    assert told(plan("K8SCluster", "cloud"), lent, provider("other", "cloud")) == []


@given(st.sampled_from(SPACES), st.lists(st.sampled_from([*SPACES, "*"])), st.sampled_from(SPACES))
def test_more_names_never_take_a_permission_back(home: str, allowed: list[str], to: str) -> None:
    assert lends(provider(home, *allowed), home)
    if lends(provider(home, *allowed[1:]), to):
        assert lends(provider(home, *allowed), to)
    assert lends(provider(home, *allowed), to) == (to == home or to in allowed or "*" in allowed)


@pytest.mark.parametrize(("namespace", "where"), [(None, "team"), ("cloud", "cloud")])
def test_a_connector_without_a_namespace_is_beside_the_plan(namespace: str | None, where: str) -> None:
    assert list(connectors_of(plan("K8SCluster", namespace))) == [("K8SCluster", where, "live")]
