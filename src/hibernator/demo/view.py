"""What there is to see at a moment: one frozen value that a screen can draw."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.demo.scene import Scene

# From front to back, as customers would meet them.
WORKLOADS: Final = ("site", "search", "checkout", "stock", "orders", "chat")


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened, in words."""

    at: Instant
    about: str
    text: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Workload:
    namespace: str
    name: str
    wanted: int
    ready: int
    most: int  # that were ever wanted

    @property
    def state(self) -> str:
        if self.wanted == 0:
            return "asleep" if self.ready == 0 else "falling asleep"
        return "awake" if self.ready >= self.wanted else "waking up"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    now: Instant
    workloads: tuple[Workload, ...]
    plan: HibernatePlan
    scaler: TimeWindowScaler
    days_off: Mapping[str, str]  # of the scaler
    exceptions: tuple[ScheduleException, ...] = ()
    analyses: tuple[AIAnalysis, ...] = ()
    requests: tuple[RemediationApprovalRequest, ...] = ()
    happenings: tuple[Happening, ...] = ()


def opening(scene: Scene) -> View:
    """What will be there in a moment, so that no one has to look at an empty picture until then."""
    written = {
        each["metadata"]["name"]: each for each in scene.documents if "replicas" in each.get("spec", ())
    }
    kinds = {each["kind"]: each for each in scene.documents}
    return View(
        now=scene.opens,
        workloads=tuple(_starting(written[name]) for name in WORKLOADS),
        plan=msgspec.convert(kinds["HibernatePlan"], HibernatePlan),
        scaler=msgspec.convert(kinds["TimeWindowScaler"], TimeWindowScaler),
        days_off=kinds["ConfigMap"]["data"],
    )


def _starting(document: dict[str, Any]) -> Workload:
    metadata, replicas = document["metadata"], document["spec"]["replicas"]
    return Workload(metadata["namespace"], metadata["name"], wanted=replicas, ready=0, most=replicas)
