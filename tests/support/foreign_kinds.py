"""Kinds of other products that tests need in the API server, without those products."""

import json
from typing import Any

from support.account import HOME
from support.cluster import ClusterInTest

_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(group: str, kind: str, version: str, scope: str = "Namespaced", **more: Any) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": _ANYTHING, "status": _ANYTHING}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **more,
                }
            ],
        },
    }


SCALE = {
    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    "status": {},
}
DEFINITIONS = (
    definition("keda.sh", "ScaledObject", "v1alpha1"),
    definition("argoproj.io", "Rollout", "v1alpha1", subresources=SCALE),
    definition("karpenter.sh", "NodePool", "v1", "Cluster", subresources={"status": {}}),
    definition("postgresql.cnpg.io", "Cluster", "v1"),
)


def install(cluster: ClusterInTest) -> None:
    """Make the API server know them; cheap when it does already."""
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": DEFINITIONS})
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=items)
    cluster.until_established()


def let_the_operator_patch(cluster: ClusterInTest, namespace: str) -> None:
    """What an administrator does once for such a kind."""
    rights = ("--verb=get,list,watch,patch", "--resource=clusters.postgresql.cnpg.io")
    cluster.kubectl("create", "role", "patches", *rights, "-n", namespace)
    account = f"--serviceaccount={HOME.namespace}:{HOME.service_account}"
    cluster.kubectl("create", "rolebinding", "patches", "--role=patches", account, "-n", namespace)
