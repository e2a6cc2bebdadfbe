"""Made-up nodes: kwok answers for their kubelets, so that Pods run without a machine to run on."""

from http import HTTPStatus
from typing import Any

from hibernator.controlplane.access import Access, RequestError

_RESOURCES = {"cpu": "32", "memory": "256Gi", "pods": "110"}


def name(number: int) -> str:
    return f"node-{number}"


def exists(access: Access, number: int) -> bool:
    """Make the node; whoever got no answer may ask again."""
    try:
        access.request("POST", "/api/v1/nodes", _manifest(name(number)))
    except RequestError as error:
        if error.code != HTTPStatus.CONFLICT:
            raise
    return True


def accepts_pods(access: Access, number: int) -> bool:
    """Whether it is ready and the node controller has taken the taint of a new node from it."""
    node: dict[str, Any] = access.request("GET", f"/api/v1/nodes/{name(number)}")
    conditions = {each["type"]: each["status"] for each in node["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")


def _manifest(node: str) -> dict[str, object]:
    labels = {
        "kubernetes.io/hostname": node,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "type": "kwok",
    }
    return {
        "metadata": {"name": node, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"capacity": _RESOURCES, "allocatable": _RESOURCES},
    }
