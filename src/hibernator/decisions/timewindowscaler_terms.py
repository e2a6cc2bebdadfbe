"""What a decision about a TimeWindowScaler may look at, and what it may say."""

from dataclasses import dataclass, field
from typing import Final, Literal

from whenever import Instant

from hibernator.api.problem import Problem
from hibernator.api.timewindowscaler import TimeWindowScaler, TimeWindowScalerStatus
from hibernator.decisions.scaler_before import Before
from hibernator.decisions.scaler_mark import Mark
from hibernator.decisions.scaling import Autoscaler, Patch, Workload
from hibernator.schedule.scaler import ScalerTimeline

READY: Final = "Ready"
RECONCILING: Final = "Reconciling"
AUTOSCALED: Final = "Autoscaled"
HIBERNATED: Final = "TargetHibernated"  # reasons of Ready
UNREADABLE: Final = "TargetUnreadable"
REFUSED: Final = "TargetRefused"
LIMITED: Final = "AutoscalerLimit"
CONTESTED: Final = "TargetContested"

LONGEST_SECONDS: Final = 86_400.0  # to the next look, whatever happens


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a look at a boundary is spread. Operators with few scalers set all of it to zero."""

    jitter_from: float = 5.0
    jitter_to: float = 25.0
    minimum: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something that degrades a scaler without stopping it."""

    reason: Literal[
        "InvalidTimezone",
        "HolidaySourceMissing",
        "ExternalMetricUnavailable",
        "InvalidConfiguration",
        "TargetUnreadable",
        "TargetRefused",
    ]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the decision may look at."""

    scaler: TimeWindowScaler
    timeline: ScalerTimeline | None  # what is wanted, without grace; None while the zone is unknown
    default_replicas: int  # percentages resolved
    workload: Workload | None
    target: str  # `Deployment "web"`, for people
    unscalable: str = ""  # why the kind of the target cannot be scaled, if so
    autoscaler: Autoscaler | None = None
    before: Before | None = None  # what the autoscaler was set to before a scaler came
    holiday_data: str | None = None  # the release of the holidays of a country that count
    problems: tuple[Problem, ...] = ()  # mistakes in the spec that leave nothing to act on
    troubles: tuple[Trouble, ...] = ()
    elder: str = ""  # the older scaler that has the same target
    asleep_by: str = ""  # the plan that has put the target to sleep
    wrote_at: Instant | None = (
        None  # when this process last wrote the target, if the status does not tell yet
    )
    sets: tuple[tuple[Instant, int], ...] = ()  # when this process last set the target, and to what
    settling: int = 0  # how many other targets have yet to follow what this process wrote
    mark: Mark | None = None  # what the target bears of a scaling that the status does not tell of yet
    recorded: frozenset[int] = frozenset()  # what of the journal the audit trail has
    jitter: float = 0.0  # drawn from [0, 1)
    pace: Pace = field(default_factory=Pace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """An event for people."""

    reason: Literal["ScaledUp", "ScaledDown", "ScalingSkipped", "WindowOverride"]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to write, in this order, what to tell, and when to look again."""

    first: TimeWindowScalerStatus | None = None  # durable before the target is touched
    writes: tuple[Patch, ...] = ()
    mark: Mark | None = None  # to be left with them
    status: TimeWindowScalerStatus | None = None  # None: it trails, look again soon
    tells: tuple[Tell, ...] = ()
    after: float = LONGEST_SECONDS
    due: Instant | None = None  # the boundary that these writes answer, to measure the lag
