"""Small scenes for tests of plans: workloads of every kind, a plan over them, and questions about both."""

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from support.clock import ManualClock
from support.operators import SELDOM, Running, running
from support.scaler_scenes import Scene, workload

EVENING = "2026-03-02T20:00:00Z"
MORNING = "2026-03-03T06:00:00Z"
LATER = "2026-03-03T06:10:00Z"  # when nothing that was sent in the morning is still on its way to a cloud
_PATHS = {
    kind: f"/{prefix}/namespaces/{{namespace}}/{plural}"
    for prefix, kind, plural in (
        ("api/v1", "ConfigMap", "configmaps"),
        ("apis/apps/v1", "Deployment", "deployments"),
        ("apis/apps/v1", "StatefulSet", "statefulsets"),
        ("apis/apps/v1", "DaemonSet", "daemonsets"),
        ("apis/batch/v1", "CronJob", "cronjobs"),
        ("apis/batch/v1", "Job", "jobs"),
        ("apis/kyklos.io/v1alpha1", "TimeWindowScaler", "timewindowscalers"),
        ("apis/argoproj.io/v1alpha1", "Rollout", "rollouts"),
        ("apis/postgresql.cnpg.io/v1", "Cluster", "clusters"),
        ("apis/hibernator.ardikabs.com/v1alpha1", "HibernatePlan", "hibernateplans"),
        ("apis/hibernator.ardikabs.com/v1alpha1", "ScheduleException", "scheduleexceptions"),
        ("apis/hibernator.ardikabs.com/v1alpha1", "PlanRequest", "planrequests"),
    )
}
_DOMAIN = "hibernator.ardikabs.com"
WOKEN_BY = f"{_DOMAIN}/woken-by"  # the trace that a waking leaves
ELSEWHERE = "hibernator-system"  # where the operator of a test lives: not among what it puts to sleep


class PlanScene(Scene):
    """Speaks to the API server as a user of plans would."""

    sweeps: ClassVar[float] = SELDOM  # seconds between two looks for strays

    def operator(self, clock: ManualClock | None = None) -> AbstractAsyncContextManager[Running]:
        return running(self.cluster.kubeconfig, self.namespace, clock, home=ELSEWHERE, sweeps=self.sweeps)

    def create(self, *documents: dict[str, Any]) -> None:
        """As `apply`, without the second that kubectl takes."""
        for document in documents:
            resource = _PATHS[document["kind"]].format(namespace=self.namespace)
            self.cluster.request("POST", resource, document)

    def listed(self, kind: str, query: str = "") -> list[dict[str, Any]]:
        path = _PATHS[kind].format(namespace=self.namespace) + query
        found: list[dict[str, Any]] = self.cluster.request("GET", path)["items"]
        return found

    def one(self, kind: str, name: str) -> dict[str, Any]:
        path = _PATHS[kind].format(namespace=self.namespace)
        found: dict[str, Any] = self.cluster.request("GET", f"{path}/{name}")
        return found

    def plan_status(self, name: str = "nights") -> dict[str, Any]:
        found: dict[str, Any] = self.one("HibernatePlan", name).get("status", {})
        return found

    def phase(self, name: str = "nights") -> str:
        return str(self.plan_status(name).get("phase", ""))

    def target_states(self, name: str = "nights") -> dict[str, str]:
        return {target["name"]: target["state"] for target in self.plan_status(name).get("targets", [])}

    def restore_data(self) -> list[dict[str, Any]]:
        return self.listed("ConfigMap", "?labelSelector=hibernator.ardikabs.com/restore-data%3Dtrue")

    def workloads(self) -> dict[str, Any]:
        """Everything about the workloads that a night must not change."""
        return {name: _shown(found) for name, found in self._workloads()}

    def generations(self) -> dict[str, int]:
        """How often the spec of each workload has been changed so far."""
        return {name: found["metadata"]["generation"] for name, found in self._workloads()}

    def _workloads(self) -> Iterator[tuple[str, Any]]:
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job"):
            for found in self.listed(kind):
                yield f"{kind}/{found['metadata']['name']}", found


def mark(
    scene: PlanScene, name: str = "web", *, plan_name: str = "nights", uid: str = "", replicas: int = 3
) -> None:
    """Put a Deployment to sleep behind the back of the operator, as a write that came late would."""
    found = scene.one("Deployment", name)
    said = {
        "plan": f"{scene.namespace}/{plan_name}",
        "uid": uid or scene.one("HibernatePlan", plan_name)["metadata"]["uid"],
        "cycle": 1,
        "target": "shop",
        "item": f"Deployment/{scene.namespace}/{name}",
        "was": {"uid": found["metadata"]["uid"], "replicas": replicas},
    }
    body = {
        "metadata": {
            "labels": {f"{_DOMAIN}/asleep": said["uid"]},
            "annotations": {f"{_DOMAIN}/asleep-by": json.dumps(said)},
        },
        "spec": {"replicas": 0},
    }
    scene.cluster.kubectl(
        "patch", "deployment", name, "-n", scene.namespace, "--type=merge", "-p", json.dumps(body)
    )


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    annotations = {
        key: value
        for key, value in found["metadata"].get("annotations", {}).items()
        if "kubernetes.io" not in key and not key.startswith("deprecated.") and key != WOKEN_BY
    }
    return {
        "spec": found["spec"],
        "annotations": annotations,
        "labels": found["metadata"].get("labels", {}),
    }


def plan(*targets: dict[str, Any], name: str = "nights", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "HibernatePlan",
        "metadata": {"name": name},
        "spec": {
            "schedule": {
                "timezone": "UTC",
                "offHours": [
                    {"start": "20:00", "end": "06:00", "daysOfWeek": ["MON", "TUE", "WED", "THU", "FRI"]}
                ],
            },
            "targets": list(targets),
        }
        | spec,
    }


def noop(name: str, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "type": "noop", "parameters": parameters}


def workloads(name: str, namespace: str, *kinds: str, **more: Any) -> dict[str, Any]:
    parameters = {"namespace": {"literals": [namespace]}, "includedGroups": list(kinds or ("Deployment",))}
    return {"name": name, "type": "workloadscaler", "parameters": parameters | more}


def cron_job(name: str = "report", *, suspend: bool = False) -> dict[str, Any]:
    template = {"spec": {**_pod(), "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {
            "schedule": "0 0 1 1 *",
            "suspend": suspend,
            "jobTemplate": {"spec": {"template": template}},
        },
    }


def job(name: str = "import") -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {**_pod(), "restartPolicy": "Never"}}},
    }


def every_kind() -> list[dict[str, Any]]:
    """One of each, and one of each that is asleep already."""
    return [
        workload(name="web", replicas=3),
        workload(name="api", replicas=1),
        workload(name="off", replicas=0),
        workload("StatefulSet", "db", 2, serviceName="db"),
        workload("DaemonSet", "agent"),
        cron_job("report"),
        cron_job("paused", suspend=True),
        job("import"),
    ]


def _pod() -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "registry.example/main:1"}]}
