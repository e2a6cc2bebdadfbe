"""Small scenes for tests of scalers: a workload, a scaler, and questions about them."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from support.account import HOME
from support.cluster import ClusterInTest

WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri"]
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
}


@dataclass
class Scene:
    """Speaks to the API server as a user would."""

    cluster: ClusterInTest
    namespace: str

    def apply(self, *documents: Mapping[str, Any], by: str = "") -> None:
        """As the admin, or as an admin of another name."""
        placed = [
            {**document, "metadata": {**document["metadata"], "namespace": self.namespace}}
            for document in documents
        ]
        items = json.dumps({"apiVersion": "v1", "kind": "List", "items": placed})
        groups = ("system:masters",) if by else ()
        self.cluster.kubectl("apply", "-f", "-", input=items, as_user=by or None, as_groups=groups)

    def apply_and_wait(self, deployment: Mapping[str, Any]) -> None:
        """Make a Deployment, and go on when Kubernetes has nothing left to say about it for now."""
        self.apply(deployment)
        name, replicas = deployment["metadata"]["name"], deployment["spec"]["replicas"]
        fact = f"--for=jsonpath={{.status.unavailableReplicas}}={replicas}"
        self.cluster.kubectl("wait", fact, f"deployment/{name}", "-n", self.namespace, "--timeout=30s")

    def get(self, resource: str, name: str) -> dict[str, Any]:
        out = self.cluster.kubectl("get", resource, name, "-n", self.namespace, "-o", "json").stdout
        found: dict[str, Any] = json.loads(out)
        return found

    def delete(self, resource: str, name: str) -> None:
        self.cluster.kubectl("delete", resource, name, "-n", self.namespace, "--wait=true")

    def replicas(self, name: str = "web", resource: str = "deployments") -> int:
        return int(self.get(resource, name)["spec"]["replicas"])

    def status(self, name: str = "hours") -> dict[str, Any]:
        found: dict[str, Any] = self.get("tws", name).get("status", {})
        return found

    def condition(self, type_: str, name: str = "hours") -> dict[str, Any]:
        conditions = self.status(name).get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == type_), {})

    def events(self, name: str = "hours") -> list[tuple[str, str, int]]:
        out = self.cluster.kubectl(
            "get",
            "events",
            "-n",
            self.namespace,
            f"--field-selector=involvedObject.name={name}",
            "-o",
            "json",
        ).stdout
        return sorted((e["reason"], e["message"], e["count"]) for e in json.loads(out)["items"])

    def writes(self) -> list[tuple[str, str, str]]:
        """What was written so far that is not the garden work of Kubernetes itself or of events."""
        return [
            (write.resource, write.subresource, write.name)
            for write in self.cluster.writes(self.namespace)
            if not write.user.startswith("system:") or write.user == HOME.user or "faultproxy" in write.user
            if write.resource != "events"
        ]


def workload(kind: str = "Deployment", name: str = "web", replicas: int = 2, **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    body: dict[str, Any] = {"selector": selector, "template": deepcopy(TEMPLATE), **spec}
    if kind != "DaemonSet":
        body["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


def scaler(name: str = "hours", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kyklos.io/v1alpha1",
        "kind": "TimeWindowScaler",
        "metadata": {"name": name},
        "spec": {
            "targetRef": {"kind": "Deployment", "name": "web"},
            "timezone": "UTC",
            "defaultReplicas": 1,
            "windows": [{"days": WEEKDAYS, "start": "09:00", "end": "17:00", "replicas": 4}],
        }
        | spec,
    }


def holidays(*dates: str, name: str = "days-off") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": dict.fromkeys(dates, "a day off"),
    }


def hpa(minimum: int = 1, maximum: int = 10) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": minimum,
            "maxReplicas": maximum,
        },
    }
