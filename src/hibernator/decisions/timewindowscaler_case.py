"""Where a scaler stands: what shall hold now and why, and how far its target is from that."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec
from whenever import Instant

from hibernator.api.problem import Problem
from hibernator.api.timewindowscaler import TimeWindowScaler, TimeWindowScalerStatus
from hibernator.decisions.conditions import Notice, find
from hibernator.decisions.journal import News, by_author, degraded_news, noted, spec_news
from hibernator.decisions.scaler_mark import Before, ScalingMark, as_data
from hibernator.decisions.scaling import Autoscaler, Patch, Workload, is_reached, level, reachable, steps
from hibernator.schedule.scaler import ScalerTimeline, apply_grace
from hibernator.schedule.scaler_words import OFF_HOURS, replica_count
from hibernator.schedule.timeline import Reason

READY: Final = "Ready"
RECONCILING: Final = "Reconciling"
AUTOSCALED: Final = "Autoscaled"
CLAIMED: Final = "TargetClaimed"  # reasons of Ready
HIBERNATED: Final = "TargetHibernated"
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
    mark: ScalingMark | None = None  # the mark on the target of a scaling that the status does not record yet
    recorded: frozenset[int] = frozenset()  # what of the journal the audit trail has
    jitter: float = 0.0  # drawn from [0, 1)
    pace: Pace = field(default_factory=Pace)


EventReason = Literal["ScaledUp", "ScaledDown", "ScalingSkipped", "WindowOverride"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to write, in this order, what to tell, and when to look again."""

    first: TimeWindowScalerStatus | None = None  # durable before the target is touched
    writes: tuple[Patch, ...] = ()
    mark: ScalingMark | None = None  # to be left with them
    status: TimeWindowScalerStatus | None = None  # None: it trails, look again soon
    notices: tuple[Notice[EventReason], ...] = ()
    news: tuple[News, ...] = ()  # for the journal, besides what is seen from the status before and after
    after: float = LONGEST_SECONDS
    due: Instant | None = None  # the boundary that these writes answer, to measure the lag


# While Ready says this, nothing is set, so that a number that differs afterwards is no one's meddling.
_LETS_BE: Final = frozenset({HIBERNATED, REFUSED, "TargetNotFound", CLAIMED, "InvalidConfiguration"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What shall hold now, and why."""

    effective: int
    expiry: Instant | None
    window: str
    reason: Reason
    message: str
    began: Instant | None
    boundary: Instant | None


def hold_at(seen: Seen, now: Instant) -> Hold:
    status, spec = seen.scaler.status, seen.scaler.spec
    answer = seen.timeline.at(now) if seen.timeline else None
    wanted = answer.value if answer else seen.default_replicas
    running_out = Instant(status.grace_period_expiry) if status.grace_period_expiry else None
    effective, expiry = apply_grace(wanted, last_wanted(seen), running_out, spec.grace_period_seconds, now)
    if answer is None:
        message = f"{replica_count(wanted)}, the default, because the zone {spec.timezone} is unknown."
    elif expiry:
        are = "is" if effective == 1 else "are"
        end = expiry.format_iso(unit="second")
        message = f"{replica_count(effective)} {are} kept until {end}, then {wanted}."
    else:
        message = answer.message
    return Hold(
        effective=effective,
        expiry=expiry,
        window=answer.window if answer else OFF_HOURS,
        reason=answer.reason if answer else Reason.INVALID_TIMEZONE,
        message=message,
        began=answer.since if answer else None,
        boundary=answer.until if answer else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A target that is there, and how far it is from what shall hold."""

    seen: Seen
    workload: Workload
    hold: Hold
    old: int
    new: int
    writes: tuple[Patch, ...]
    reached: bool


def case_of(seen: Seen, workload: Workload, hold: Hold) -> Case:
    writes = steps(workload, seen.autoscaler, hold.effective)
    return Case(
        seen=seen,
        workload=workload,
        hold=hold,
        old=level(workload, seen.autoscaler),
        new=reachable(workload, seen.autoscaler, hold.effective),
        writes=writes,
        reached=not writes and is_reached(workload, seen.autoscaler, hold.effective),
    )


def last_wanted(seen: Seen) -> int | None:
    """What was wanted when the target was last written, or looked at."""
    return seen.mark.wanted if seen.mark else seen.scaler.status.effective_replicas


def drifted(case: Case) -> bool:
    """Whether someone else has changed the number: what is wanted has not changed since it was set."""
    status = case.seen.scaler.status
    known = case.seen.mark is not None or case.seen.wrote_at is None
    ready = find(status.conditions, READY)
    let_be = bool(status.paused) or (ready is not None and ready.reason in _LETS_BE)
    return known and not let_be and last_wanted(case.seen) == case.hold.effective


def is_unrecorded(case: Case) -> bool:
    """Whether a target that can bear no mark went to a new number that is in no record.

    Someone may have set the very number by hand just before the boundary; then this records one scaling
    too many, which is better than one too few.
    """
    seen, effective = case.seen, case.seen.scaler.status.effective_replicas
    bears_none = bool(case.workload.place.subresource) and seen.autoscaler is None
    known = effective in {None, case.hold.effective}
    return bears_none and seen.wrote_at is None and not known and not seen.scaler.spec.pause


DEGRADED = "Degraded"


def journaled(
    scaler: TimeWindowScaler,
    status: TimeWindowScalerStatus,
    recorded: Collection[int],
    now: Instant,
    *more: News,
) -> TimeWindowScalerStatus:
    """The new status, with its journal and notices; `more` is what cannot be seen from the two statuses."""
    before = scaler.status
    news = (
        *spec_news(before.observed_generation, scaler.metadata),
        *_pause(scaler, status),
        *more,
        *_grace(before, status),
        *degraded_news(before.conditions, status.conditions, DEGRADED),
    )
    return msgspec.structs.replace(status, journal=noted(before.journal, news, recorded, now))


def with_mark(
    scaler: TimeWindowScaler, mark: ScalingMark, recorded: Collection[int], now: Instant
) -> TimeWindowScalerStatus:
    """The old status with a scaling that it did not have yet, before the next one takes the mark's place."""
    return msgspec.structs.replace(
        scaler.status,
        effective_replicas=mark.wanted,
        current_window=mark.window,
        last_scale_time=mark.at,
        scalings=mark.number,
        journal=noted(scaler.status.journal, [scaling(mark)], recorded, now),
    )


def scaling(mark: ScalingMark) -> News:
    return News("drift.corrected" if mark.drift else "scaled", data=as_data(mark), at=Instant(mark.at))


def _pause(scaler: TimeWindowScaler, after: TimeWindowScalerStatus) -> Iterator[News]:
    before = scaler.status
    if bool(after.paused) != bool(before.paused):
        by = by_author(before.observed_generation, scaler.metadata)
        yield News("paused" if after.paused else "resumed", data=by)


def _grace(before: TimeWindowScalerStatus, after: TimeWindowScalerStatus) -> Iterator[News]:
    if after.grace_period_expiry and not before.grace_period_expiry:
        until = Instant(after.grace_period_expiry).format_iso(unit="second")
        yield News("grace.started", data={"replicas": after.effective_replicas or 0, "until": until})
    elif before.grace_period_expiry and not after.grace_period_expiry:
        yield News("grace.ended", data={"replicas": after.effective_replicas or 0})
