"""The control plane of the tests is a real one: secured, complete and telling what was written to it."""

import json

import pytest

from hibernator.controlplane.cluster import KubectlError
from support.cluster import ClusterInTest

CONFIG_MAP = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "parent"}})


def test_the_admin_may_do_everything(cluster: ClusterInTest) -> None:
    assert cluster.kubectl("auth", "can-i", "*", "*").stdout.strip() == "yes"


def test_somebody_without_rights_is_refused(cluster: ClusterInTest, namespace: str) -> None:
    with pytest.raises(KubectlError, match='User "nobody" cannot list resource "configmaps"'):
        cluster.kubectl("get", "configmaps", "-n", namespace, as_user="nobody")


def test_a_write_is_in_the_audit_log_as_soon_as_its_answer_is_known(
    cluster: ClusterInTest, namespace: str
) -> None:
    cluster.kubectl("create", "-n", namespace, "-f", "-", input=CONFIG_MAP)
    last = [write for write in cluster.writes(namespace) if write.name == "parent"][-1]
    assert (last.verb, last.resource, last.user, last.code) == (
        "create",
        "configmaps",
        "hibernator-admin",
        201,
    )
