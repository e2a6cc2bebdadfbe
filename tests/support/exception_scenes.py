"""Small scenes for tests of exceptions: a plan over a Deployment, and exceptions to it."""

from collections.abc import Mapping
from typing import Any

from support.plan_scenes import PlanScene, plan, workloads
from support.scaler_scenes import workload

REQUESTED_BY = "hibernator.ardikabs.com/requested-by"
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
EVERY_DAY = [*WEEKDAYS, "Saturday", "Sunday"]


class ExceptionScene(PlanScene):
    def apply(self, *documents: Mapping[str, Any], by: str = "") -> None:
        """Each exception by the one who asks for it, all else as told."""
        by_user: dict[str, list[Mapping[str, Any]]] = {}
        for document in documents:
            user = document["metadata"].get("annotations", {}).get(REQUESTED_BY, by)
            by_user.setdefault(user, []).append(document)
        for user, theirs in by_user.items():
            super().apply(*theirs, by=user)

    def exception_status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get("scheduleexceptions", name).get("status", {})
        return found

    def state(self, name: str) -> str:
        return str(self.exception_status(name).get("state", ""))

    def entries(self, name: str = "dev-plan") -> list[tuple[str, str]]:
        """What the plan shows of its exceptions."""
        return [(one["name"], one["state"]) for one in self.plan_status(name).get("activeExceptions", [])]

    def plan_over_web(self, name: str = "dev-plan", zone: str = "UTC", **window: Any) -> None:
        """A plan that sleeps on weekdays from 20:00 until 06:00, over a Deployment of two."""
        hours = {"start": "20:00", "end": "06:00", "daysOfWeek": WEEKDAYS} | window
        schedule = {"timezone": zone, "offHours": [hours]}
        self.apply(workload(), plan(workloads("web", self.namespace), name=name, schedule=schedule))

    def is_asleep(self) -> bool:
        return self.replicas() == 0


def exception(name: str, of: str = "dev-plan", *, by: str = "alice", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "ScheduleException",
        "metadata": {"name": name, "annotations": {REQUESTED_BY: by}},
        "spec": {"planRef": {"name": of}} | spec,
    }


def hours(start: str, end: str, days: list[str]) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "daysOfWeek": days}]
