"""What a TimeWindowScaler does now: the twelve steps of its design as one pure function.

The target is written first and the status trails it by a moment, so that a boundary which thousands of
scalers cross together is over as soon as the last target is patched, and so that one status write records
the end of a transition instead of each of its steps. Nothing is lost by a crash in between: the target bears
a mark of a scaling that the status does not record yet, and the next pass records it.
"""

import math
from dataclasses import replace
from typing import Final

import msgspec
from whenever import Instant, TimeDelta

from hibernator.api.timewindowscaler import TimeWindowScalerStatus
from hibernator.decisions.conditions import ConditionState, find, lay_over, whole_second
from hibernator.decisions.journal import News
from hibernator.decisions.scaler_mark import ScalingMark
from hibernator.decisions.sleepmark import MARK
from hibernator.decisions.timewindowscaler_case import (
    CLAIMED,
    CONTESTED,
    DEGRADED,
    HIBERNATED,
    LONGEST_SECONDS,
    READY,
    RECONCILING,
    REFUSED,
    UNREADABLE,
    Case,
    Decision,
    Hold,
    Pace,
    Seen,
    case_of,
    drifted,
    hold_at,
    is_unrecorded,
    journaled,
    scaling,
    with_mark,
)
from hibernator.decisions.timewindowscaler_words import (
    autoscaled,
    degraded,
    override,
    overrides,
    ready,
    reconciling,
    scaled,
    skipped,
    unreported,
)

SETTLE_SECONDS: Final = 2.0  # how long a status may trail its target
# And longer where many wait: by its default rates, Kubernetes brings some 3.5 Deployments a second to where
# they should be. As soon as one is there, its status says so.
SETTLED_A_SECOND: Final = 3.0
LONGEST_TRAIL_SECONDS: Final = 1800.0
LOOK_AGAIN_SECONDS: Final = 60.0  # whether it still has to trail: others may be done by then
MISSING_TARGET_SECONDS: Final = 30.0
MISTAKE_SECONDS: Final = 300.0
MOST_SETS: Final = 6  # of the same number, within so long: who sets it back as often does not give in either
CONTEST_SECONDS: Final = 60.0


def decide(seen: Seen, now: Instant) -> Decision:
    """Take the first answer, with what it is news of in the journal."""
    decision = _first_answer(seen, now)
    if decision.status is None:
        return decision
    status = journaled(seen.scaler, decision.status, seen.recorded, now, *decision.news)
    return replace(decision, status=status)


def _first_answer(seen: Seen, now: Instant) -> Decision:
    """Each policy may rely on those before it having passed."""
    about_scaler = (found for policy in ABOUT_SCALER if (found := policy(seen, now)))
    if found := next(about_scaler, None):
        return found
    hold = hold_at(seen, now)
    if seen.workload is None:
        return _wait_for_target(seen, hold, now)
    case = case_of(seen, seen.workload, hold)
    return next(found for policy in ABOUT_TARGET if (found := policy(case, now)))


def _refuse_mistakes(seen: Seen, now: Instant) -> Decision | None:
    if not seen.problems:
        return None
    message = " ".join(f"{p.path}: {p.message}. {p.fix}" for p in seen.problems)
    verdicts = [
        ConditionState(
            READY, False, "InvalidConfiguration", "Nothing is scaled until the spec is corrected."
        ),
        ConditionState(RECONCILING, False, "Stable"),
        ConditionState(DEGRADED, True, "InvalidConfiguration", message),
    ]
    return Decision(status=_with_conditions(seen, verdicts, now), after=MISTAKE_SECONDS)


def _yield_to_elder(seen: Seen, now: Instant) -> Decision | None:
    if not seen.elder:
        return None
    message = (
        f"{seen.target} is already scaled by the older TimeWindowScaler {seen.elder}. "
        "Delete one of the two or give this one another target."
    )
    verdicts = [
        ConditionState(READY, False, CLAIMED, message),
        ConditionState(RECONCILING, False, "Stable"),
        ConditionState(DEGRADED, True, CLAIMED, message),
    ]
    return Decision(status=_with_conditions(seen, verdicts, now))


def _wait_for_target(seen: Seen, hold: Hold, now: Instant) -> Decision:
    missing = seen.unscalable or f"{seen.target} does not exist. Create it or correct targetRef."
    unreadable = next((one.message for one in seen.troubles if one.reason == UNREADABLE), "")
    verdicts = [
        ConditionState(READY, False, UNREADABLE if unreadable else "TargetNotFound", unreadable or missing),
        ConditionState(RECONCILING, False, "Stable"),
        degraded(seen),
    ]
    status = _holding(_with_conditions(seen, verdicts, now), hold)
    return Decision(status=status, after=min(MISSING_TARGET_SECONDS, _look_again(seen, hold, now)))


def _let_sleep(case: Case, now: Instant) -> Decision | None:
    """A plan's night is not drift. The write that wakes the target brings the next look."""
    seen = case.seen
    if not seen.asleep_by or case.old != 0:
        return None
    message = (
        f"{seen.target} is asleep by HibernatePlan {seen.asleep_by} until that wakes it. "
        f"To scale it before, remove its annotation {MARK}."
    )
    verdicts = [
        ConditionState(READY, False, HIBERNATED, message),
        ConditionState(RECONCILING, False, "Stable"),
        degraded(seen),
    ]
    status = msgspec.structs.replace(
        _holding(_with_conditions(seen, verdicts, now), case.hold),
        target_observed_replicas=case.workload.running,
    )
    return Decision(status=status, after=_look_again(seen, case.hold, now))


def _is_to_be_set(case: Case) -> bool:
    return bool(case.writes) and not case.seen.scaler.spec.pause


def _contested(case: Case, now: Instant) -> float:
    """For how long to leave a target to someone who sets it back each time."""
    times = [at for at, wanted in case.seen.sets if wanted == case.hold.effective and at <= now]
    return CONTEST_SECONDS - (now - times[-MOST_SETS]).total("seconds") if len(times) >= MOST_SETS else 0.0


def _wait_out(case: Case, now: Instant) -> Decision | None:
    """A target that others set back each time is left to them for a while."""
    seen, seconds = case.seen, _contested(case, now)
    if not _is_to_be_set(case) or seconds <= 0:
        return None
    message = (
        f"Another user or program sets {seen.target} to another number each time that it is set to "
        f"{case.new}. Let only one of the two set it; its managed fields show who else "
        "does. It is set again after a minute."
    )
    verdicts = [
        ConditionState(READY, False, CONTESTED, message),
        ConditionState(RECONCILING, False, "Stable"),
        ConditionState(DEGRADED, True, CONTESTED, message),
    ]
    return Decision(status=_with_conditions(seen, verdicts, now), after=seconds)


def _scale(case: Case, now: Instant) -> Decision | None:
    """Write the target; its watch brings the next look, which reports."""
    if not _is_to_be_set(case):
        return None
    seen = case.seen
    before = seen.scaler.status
    status = with_mark(seen.scaler, seen.mark, seen.recorded, now) if seen.mark else before
    if before.baseline_replicas is None:
        status = msgspec.structs.replace(status, baseline_replicas=case.workload.replicas)
    return Decision(
        first=status if status != before else None,
        writes=case.writes,
        mark=_mark(case, (status.scalings or 0) + 1, now),
        notices=(*unreported(case), *override(case), scaled(case)),
        after=min(_patience(seen), LOOK_AGAIN_SECONDS),
        due=case.hold.began,
    )


def refused(seen: Seen, why: str, now: Instant) -> TimeWindowScalerStatus:
    """What to say when the API server does not take the write that a decision asked for.

    Once is enough: the refusal may be worded differently each time, and each change would bring a reconcile.
    """
    before = find(seen.scaler.status.conditions, READY)
    generation = seen.scaler.metadata.generation
    if before and before.reason == REFUSED and before.observed_generation == generation:
        return seen.scaler.status
    message = f"The API server refuses to scale {seen.target}: {why}. It is tried again within minutes."
    verdicts = [
        ConditionState(READY, False, REFUSED, message),
        ConditionState(RECONCILING, True, "WindowTransition"),
        ConditionState(DEGRADED, True, REFUSED, message),
    ]
    return journaled(seen.scaler, _with_conditions(seen, verdicts, now), seen.recorded, now)


def _let_settle(case: Case, now: Instant) -> Decision | None:
    """The status can wait for the target to follow what was written."""
    if case.reached or (left := _settling(case.seen, now)) <= 0:
        return None
    return Decision(after=min(left, LOOK_AGAIN_SECONDS))


def _report(case: Case, now: Instant) -> Decision:
    seen = case.seen
    verdicts = [ready(case), reconciling(case), degraded(seen), *autoscaled(case)]
    before = seen.scaler.status
    mark = _scaling(case, now)
    status = msgspec.structs.replace(
        _holding(_with_conditions(seen, verdicts, now), case.hold),
        target_observed_replicas=case.workload.running,
        baseline_replicas=(
            case.workload.replicas if before.baseline_replicas is None else before.baseline_replicas
        ),
        last_scale_time=mark.at if mark else before.last_scale_time,
        scalings=mark.number if mark else before.scalings,
    )
    news = [scaling(mark)] if mark else []
    if overrides(case):
        news.append(News("window.overridden", case.hold.message))
    not_now = tuple(skipped(case))
    news += [News("scaling.skipped", tell.message) for tell in not_now]
    return Decision(
        status=status,
        news=tuple(news),
        notices=(*override(case), *not_now, *unreported(case)),
        after=_look_again(seen, case.hold, now),
    )


#: In this order, before the target matters, and then about the target.
ABOUT_SCALER: Final = (_refuse_mistakes, _yield_to_elder)
ABOUT_TARGET: Final = (_let_sleep, _wait_out, _scale, _let_settle, _report)


def _settling(seen: Seen, now: Instant) -> float:
    """How much longer the status may wait for the target to follow what was written."""
    if seen.wrote_at is None or now < seen.wrote_at:  # someone has set the clock back
        return 0.0
    return _patience(seen) - (now - seen.wrote_at).total("seconds")


def _patience(seen: Seen) -> float:
    """How long the status may trail. At a boundary that thousands cross, each would be written twice."""
    return min(SETTLE_SECONDS + seen.settling / SETTLED_A_SECOND, LONGEST_TRAIL_SECONDS)


def _mark(case: Case, number: int, now: Instant, *, old: int | None = None) -> ScalingMark:
    return ScalingMark(
        scaler=case.seen.scaler.metadata.uid,
        number=number,
        at=whole_second(now),
        old=case.old if old is None else old,
        new=case.new,
        wanted=case.hold.effective,
        window=case.hold.window,
        drift=drifted(case),
    )


def _scaling(case: Case, now: Instant) -> ScalingMark | None:
    """The scaling that this status is the first to record."""
    seen, status = case.seen, case.seen.scaler.status
    if seen.mark or not (seen.wrote_at or is_unrecorded(case)):
        return seen.mark
    number, old = (status.scalings or 0) + 1, status.effective_replicas
    return _mark(case, number, seen.wrote_at or now, old=old)


def _with_conditions(seen: Seen, verdicts: list[ConditionState], now: Instant) -> TimeWindowScalerStatus:
    status, generation = seen.scaler.status, seen.scaler.metadata.generation
    conditions = lay_over(status.conditions, verdicts, now=now, generation=generation)
    return msgspec.structs.replace(
        status,
        observed_generation=generation,
        conditions=conditions,
        holiday_data=seen.holiday_data,
        paused=seen.scaler.spec.pause or None,
    )


def _holding(status: TimeWindowScalerStatus, hold: Hold) -> TimeWindowScalerStatus:
    return msgspec.structs.replace(
        status,
        current_window=hold.window,
        effective_replicas=hold.effective,
        grace_period_expiry=whole_second(hold.expiry) if hold.expiry else None,
        next_boundary=whole_second(hold.boundary) if hold.boundary else None,
    )


def _look_again(seen: Seen, hold: Hold, now: Instant) -> float:
    """When to look by ourselves; a change of anything that was gathered comes earlier."""
    times = [LONGEST_SECONDS]
    if hold.boundary:
        times.append(spread(hold.boundary - now, seen.pace, seen.jitter))
    if hold.expiry:
        times.append((hold.expiry - now).total("seconds"))
    if seen.troubles:
        times.append(MISTAKE_SECONDS)
    return min(times)


def spread(until: TimeDelta, pace: Pace, jitter: float) -> float:
    """The design's requeue formula, but never a look before the boundary itself (ruling 18)."""
    base = until.total("seconds")
    delay = base + pace.jitter_from + jitter * (pace.jitter_to - pace.jitter_from)
    quantised = math.floor(delay / 10) * 10.0
    return min(LONGEST_SECONDS, max(pace.minimum, quantised, base))
