"""The control plane of the tests is a real one: secured, complete and telling what was written to it."""

import http.client
import json
import ssl
from http import HTTPStatus
from urllib.parse import urlsplit

import pytest

from hibernator.controlplane.cluster import KubectlError
from support.cluster import ClusterInTest


def config_map(name: str, **metadata: object) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}})


def test_the_admin_may_do_everything(cluster: ClusterInTest) -> None:
    assert cluster.kubectl("auth", "can-i", "*", "*").stdout.strip() == "yes"


def test_someone_without_rights_is_refused(cluster: ClusterInTest, namespace: str) -> None:
    with pytest.raises(KubectlError, match='User "nobody" cannot list resource "configmaps"'):
        cluster.kubectl("get", "configmaps", "-n", namespace, as_user="nobody")


def test_groups_count(cluster: ClusterInTest, namespace: str) -> None:
    asked = ("auth", "can-i", "delete", "nodes")
    answer = cluster.kubectl(*asked, as_user="somebody", as_groups=("system:masters",))
    assert answer.stdout.strip() == "yes"


def test_the_server_is_known_by_its_authority_and_strangers_get_nothing(cluster: ClusterInTest) -> None:
    address = urlsplit(cluster.url)
    context = ssl.create_default_context(cafile=str(cluster.ca))
    connection = http.client.HTTPSConnection(str(address.hostname), address.port, context=context)
    connection.request("GET", "/api/v1/namespaces")
    assert connection.getresponse().status == HTTPStatus.FORBIDDEN
    connection.close()


def test_no_other_user_of_the_machine_can_read_the_keys(cluster: ClusterInTest) -> None:
    assert cluster.layout.root.stat().st_mode & 0o077 == 0
    assert cluster.kubeconfig.stat().st_mode & 0o077 == 0


def test_what_belongs_to_a_deleted_object_is_deleted(cluster: ClusterInTest, namespace: str) -> None:
    cluster.kubectl("create", "-n", namespace, "-f", "-", input=config_map("parent"))
    parent = json.loads(cluster.kubectl("get", "configmap/parent", "-n", namespace, "-o", "json").stdout)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": parent["metadata"]["uid"]}
    child = config_map("child", ownerReferences=[owner])
    cluster.kubectl("create", "-n", namespace, "-f", "-", input=child)
    cluster.kubectl("delete", "configmap/parent", "-n", namespace)
    cluster.kubectl("wait", "--for=delete", "configmap/child", "-n", namespace, "--timeout=60s")
    deletion = [write for write in cluster.writes(namespace) if write.name == "child"][-1]
    assert deletion.verb == "delete"
    assert deletion.user == "system:serviceaccount:kube-system:generic-garbage-collector"


def test_each_namespace_has_the_account_that_pods_need(cluster: ClusterInTest, namespace: str) -> None:
    pod = {"containers": [{"name": "main", "image": "example.org/any"}]}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "any"}, "spec": pod}
    cluster.kubectl("create", "-n", namespace, "-f", "-", input=json.dumps(manifest))


def test_a_write_is_in_the_audit_log_as_soon_as_its_answer_is_known(
    cluster: ClusterInTest, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for number in range(20):
        cluster.request("POST", path, {"metadata": {"name": f"number-{number}"}})
        last = cluster.writes(namespace)[-1]
        assert (last.verb, last.resource, last.name) == ("create", "configmaps", f"number-{number}")
        assert (last.user, last.code) == ("hibernator-admin", 201)


def test_the_audit_log_tells_refused_writes_and_who_tried(cluster: ClusterInTest, namespace: str) -> None:
    with pytest.raises(KubectlError):
        cluster.kubectl("create", "configmap", "mine", "-n", namespace, as_user="nobody")
    last = cluster.writes(namespace)[-1]
    assert (last.user, last.code, last.resource) == ("nobody", 403, "configmaps")


def test_reads_and_dry_runs_are_no_writes(cluster: ClusterInTest, namespace: str) -> None:
    mine = ("create", "-n", namespace, "-f", "-")
    cluster.kubectl(*mine, "--dry-run=server", input=config_map("dry"))
    cluster.kubectl("get", "configmaps", "-n", namespace)
    cluster.kubectl("auth", "can-i", "list", "pods", "-n", namespace)
    cluster.kubectl(*mine, input=config_map("real"))
    by_us = [write for write in cluster.writes(namespace) if write.user == "hibernator-admin"]
    assert [write.name for write in by_us if write.name != "default"] == ["real"], "but for its account"
