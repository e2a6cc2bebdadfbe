"""Scenes with connectors: a namespace whose Secrets the operator may read, and what its objects come to."""

import base64
import json
from typing import Any

import yaml

from support.account import HOME
from support.aws import ACCOUNT, REGION, AwsInTest
from support.cluster import ClusterInTest
from support.faultproxy import admin_token
from support.gcp import PROJECT, Google
from support.plan_scenes import PlanScene

_API = "/apis/hibernator.ardikabs.com/v1alpha1/namespaces"


class ConnectorScene(PlanScene):
    def __init__(self, cluster: ClusterInTest, namespace: str) -> None:
        super().__init__(cluster, namespace)
        self.bind()

    def bind(self) -> None:
        """What an administrator does for a namespace with Secrets for connectors."""
        self.cluster.request(
            "POST",
            f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.namespace}/rolebindings",
            {
                "metadata": {"name": "hibernator-connector"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "hibernator-connector",
                },
                "subjects": [
                    {"kind": "ServiceAccount", "name": HOME.service_account, "namespace": HOME.namespace}
                ],
            },
        )

    def secret(self, name: str, **data: str | bytes) -> None:
        packed = {
            key: base64.b64encode(value.encode() if isinstance(value, str) else value).decode()
            for key, value in data.items()
        }
        path = f"/api/v1/namespaces/{self.namespace}/secrets"
        self.cluster.request("POST", path, {"metadata": {"name": name}, "data": packed})

    def change_secret(self, name: str, **data: str) -> None:
        patch = {"data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}}
        self.cluster.kubectl(
            "patch", "secret", name, "-n", self.namespace, "--type=merge", "-p", json.dumps(patch)
        )

    def keys(self, name: str = "keys") -> None:
        self.secret(name, AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="very-secret")

    def provider(self, name: str, **spec: Any) -> None:
        self._connector("CloudProvider", "cloudproviders", name, spec)

    def aws_provider(self, aws: AwsInTest, name: str = "dev", **more: Any) -> None:
        block = {
            "accountId": ACCOUNT,
            "region": REGION,
            "auth": {"static": {"secretRef": {"name": "keys"}}},
            "endpointURL": aws.proxy.url,
        }
        self.provider(name, type="aws", aws=block | more)

    def gcp_provider(self, google: Google, name: str = "dev") -> None:
        auth = {"static": {"secretRef": {"name": "google"}}}
        self.provider(name, type="gcp", gcp={"project": PROJECT, "auth": auth, "endpointURL": google.url})

    def k8s_cluster(self, name: str, **spec: Any) -> None:
        self._connector("K8SCluster", "k8sclusters", name, spec)

    def kubeconfig(self, **user: Any) -> str:
        """A kubeconfig for the cluster of the tests with everything in itself."""
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [
                {
                    "name": "c",
                    "cluster": {
                        "server": self.cluster.url,
                        "certificate-authority-data": self.authority(),
                    },
                }
            ],
            "users": [{"name": "u", "user": user or {"token": admin_token(self.cluster)}}],
        }
        return yaml.safe_dump(document)

    def authority(self) -> str:
        return base64.b64encode(self.cluster.ca.read_bytes()).decode()

    def ready(self, plural: str, name: str) -> tuple[str, str, str]:
        """Status, reason and message of the Ready condition; empty while there is none."""
        found = self.cluster.request("GET", f"{_API}/{self.namespace}/{plural}/{name}")
        for one in found.get("status", {}).get("conditions", []):
            if one["type"] == "Ready":
                return one["status"], one["reason"], one["message"]
        return "", "", ""

    def _connector(self, kind: str, plural: str, name: str, spec: dict[str, Any]) -> None:
        document = {
            "apiVersion": "hibernator.ardikabs.com/v1alpha1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        self.cluster.request("POST", f"{_API}/{self.namespace}/{plural}", document)
