"""What there is to see at a moment: one frozen value that a screen can draw."""

from dataclasses import dataclass

from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.api.timewindowscaler import TimeWindowScaler


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
    workloads: tuple[Workload, ...] = ()
    plan: HibernatePlan | None = None
    scaler: TimeWindowScaler | None = None
    exceptions: tuple[ScheduleException, ...] = ()
    analyses: tuple[AIAnalysis, ...] = ()
    requests: tuple[RemediationApprovalRequest, ...] = ()
    happenings: tuple[Happening, ...] = ()
