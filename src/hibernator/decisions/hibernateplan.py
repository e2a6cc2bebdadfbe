"""What a HibernatePlan does now: where the clock wants it, where it stands, and the next step on the way.

Nothing is remembered but the status and what is kept to wake things up, and no step relies on how the last
one ended. A plan that was down over several boundaries, whose spec was changed half-way, or that is deleted
while it sleeps is therefore no special case: it stands somewhere, and is wanted somewhere.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import msgspec
from whenever import Instant

from hibernator.api.planstatus import (
    MOST_RECENT,
    MOST_REMOVED,
    ActiveException,
    HibernatePlanStatus,
    RecentException,
    Rest,
    TargetState,
    TargetStatus,
)
from hibernator.decisions.conditions import shortened, whole_second
from hibernator.decisions.hibernateplan_case import (
    LEAVE_ASLEEP,
    LONGEST_SECONDS,
    MISTAKE_SECONDS,
    MOST_EXCEPTIONS,
    RETRY,
    Decision,
    Run,
    Seen,
    direction,
    is_deleted,
    is_dry_run,
    is_suspended,
)
from hibernator.decisions.hibernateplan_journal import news_of
from hibernator.decisions.hibernateplan_order import OVER, cut_off, due_at, order, startable
from hibernator.decisions.hibernateplan_reopen import UNDONE, once_more_at, opened_again, rested_at
from hibernator.decisions.hibernateplan_status import (
    begin,
    finish,
    fold,
    hourly,
    reopen,
    standing,
    started,
    states,
    with_state,
    with_woken,
)
from hibernator.decisions.hibernateplan_words import Summary, conditions, notices, phase
from hibernator.decisions.journal import noted

_replace = msgspec.structs.replace


def decide(seen: Seen, now: Instant) -> Decision:
    """Take the next step: the first policy that has something to say decides."""
    decision = next(found for policy in POLICIES if (found := policy(seen, now)))
    if decision.release:
        return decision
    before = seen.plan.status
    news = tuple(news_of(seen.plan, decision.status))
    return replace(
        decision,
        status=_replace(decision.status, journal=noted(before.journal, news, seen.recorded, now)),
        notices=tuple(notices(before, decision.status, news)),
    )


def _leave_asleep(seen: Seen, _now: Instant) -> Decision | None:
    """A deleted plan goes at once if its owner wants everything to stay as it is."""
    plan = seen.plan
    if not is_deleted(plan) or LEAVE_ASLEEP not in plan.metadata.annotations:
        return None
    return Decision(status=plan.status, release=True)


def _wait_for_restore_data(seen: Seen, now: Instant) -> Decision | None:
    """Nothing goes to sleep while it cannot be read what sleeps; things wake by their marks all the same."""
    wakes = is_deleted(seen.plan) or (seen.clock is not None and seen.clock.wanted == "Awake")
    if wakes or not seen.unreadable:
        return None
    return _said(seen, seen.plan.status, now, after=MISTAKE_SECONDS)


def _wake_to_be_deleted(seen: Seen, now: Instant) -> Decision | None:
    if not is_deleted(seen.plan):
        return None
    status = _folded(seen, now)
    if not seen.unreadable and not _sleepers(seen, status) and status.current_operation is None:
        return Decision(status=status, release=True)
    return _move(seen, status, "Awake", now)


def _wait_for_a_correction(seen: Seen, now: Instant) -> Decision | None:
    """With mistakes in the spec nothing is put to sleep; with mistakes about time nothing is done."""
    if seen.clock and not (seen.problems and seen.clock.wanted == "Asleep"):
        return None
    return _said(seen, _folded(seen, now), now, after=MISTAKE_SECONDS)


def _stay_suspended(seen: Seen, now: Instant) -> Decision | None:
    return _said(seen, _folded(seen, now), now) if is_suspended(seen.plan, now) else None


def _only_look(seen: Seen, now: Instant) -> Decision | None:
    return _look(seen, seen.plan.status, now) if is_dry_run(seen.plan) else None


def _follow_the_clock(seen: Seen, now: Instant) -> Decision | None:
    return _move(seen, _folded(seen, now), seen.clock.wanted, now) if seen.clock else None


#: In this order.
POLICIES: Final = (
    _leave_asleep,
    _wait_for_restore_data,
    _wake_to_be_deleted,
    _wait_for_a_correction,
    _stay_suspended,
    _only_look,
    _follow_the_clock,
)


def _folded(seen: Seen, now: Instant) -> HibernatePlanStatus:
    """The status with what the work since the last reconcile came to."""
    if is_dry_run(seen.plan):
        return seen.plan.status
    return fold(seen.plan.status, seen.outcomes, seen.plan.spec.behavior.retries, now)


def _move(seen: Seen, status: HibernatePlanStatus, wanted: Rest, now: Instant) -> Decision:
    """Begin, interrupt or open again what brings the plan to where it is wanted, and go on with it."""
    operation = status.current_operation
    names = [target.name for target in seen.plan.spec.targets]
    removed = sorted(seen.kept - set(names))
    going: Rest = standing(status, seen.kept)
    if going != wanted and wanted == "Asleep":
        status = begin(status, "Sleep", [*removed, *names], (), now)
    elif going != wanted:
        asleep = _sleepers(seen, status)
        sleepers = [name for name in names if name in asleep]
        others = [name for name in names if name not in asleep]
        status = begin(status, "Wake", [*removed, *sleepers], others, now)
    elif operation is None and (again := opened_again(seen, status, now) or _unknown(seen, status)):
        status = reopen(status, again, now)
    status = _fitting(seen, status)
    status = _replace(status, retried=seen.plan.metadata.annotations.get(RETRY, status.retried)[:64])
    if status.current_operation is None:
        return _said(seen, _without_removed(seen, status), now)
    status = _advance(seen, status, now)
    runs = tuple(
        Run(name=target.name, operation=direction(seen.plan, status, target.name))
        for target in status.targets
        if target.state == "Running"
    )
    return _said(seen, status, now, runs=runs)


def _sleepers(seen: Seen, status: HibernatePlanStatus) -> frozenset[str]:
    """The targets of which something may be asleep: their sleep has begun, or something of them is kept.

    What was kept may have been deleted by hand, and how far the sleep came may not be in the status. The
    marks of the sleepers tell, and they are asked when the target is woken.
    """
    begun = [target for target in status.targets if target.attempts]
    if standing(status, seen.kept) == "Awake":
        return seen.kept | {target.name for target in begun if target.state in UNDONE}
    return seen.kept | {target.name for target in begun if target.items is None or target.items.total}


def _unknown(seen: Seen, status: HibernatePlanStatus) -> tuple[str, ...]:
    """The targets of which something is kept and of which the status says nothing, as far as it has room."""
    known = states(status)
    room = MOST_REMOVED - len(_removed(seen, status))
    unknown = sorted(seen.kept - known.keys())
    return tuple(unknown[: max(room, 0)]) if status.history else ()


def _removed(seen: Seen, status: HibernatePlanStatus) -> list[str]:
    """The targets of the status that have left the spec."""
    names = {target.name for target in seen.plan.spec.targets}
    return [target.name for target in status.targets if target.name not in names]


def _fitting(seen: Seen, status: HibernatePlanStatus) -> HibernatePlanStatus:
    """As many removed targets as the status has room for. The others have their turn afterwards."""
    surplus = set(_removed(seen, status)[MOST_REMOVED:])
    if not surplus:
        return status
    return _replace(status, targets=tuple(target for target in status.targets if target.name not in surplus))


def _without_removed(seen: Seen, status: HibernatePlanStatus) -> HibernatePlanStatus:
    """Forget what has left the plan and of which nothing is kept any more."""
    names = {target.name for target in seen.plan.spec.targets} | seen.kept
    return _replace(status, targets=tuple(target for target in status.targets if target.name in names))


def _advance(seen: Seen, status: HibernatePlanStatus, now: Instant) -> HibernatePlanStatus:
    """Start the targets whose turn has come, abort those that cannot start, or finish the operation."""
    spec, strategy = seen.plan.spec, seen.plan.spec.execution.strategy
    names = [target.name for target in spec.targets]
    others = [target.name for target in status.targets if target.name not in names]
    wakes = status.current_operation == "Wake"
    turns = order(names, strategy, backwards=wakes, others=others)
    known = states(status)
    known |= _aborted(seen, status, wakes=wakes, now=now)
    if wakes or not _stops(seen, known.values()):
        for name in startable(turns, known, now):
            known[name] = started(known[name], now)
    status = _replace(status, targets=tuple(known.values()))
    return finish(status, now) if all(target.state in OVER for target in known.values()) else status


def _aborted(
    seen: Seen, status: HibernatePlanStatus, *, wakes: bool, now: Instant
) -> dict[str, TargetStatus]:
    """A failure in Strict ends a sleep. A waking goes on with all that do not depend on what failed."""
    known = states(status)
    stops = _stops(seen, known.values())
    if stops and not wakes:
        failed = next(target.name for target in known.values() if target.state == "Failed")
        message = f"Not begun, because {failed} failed and the mode is Strict."
        pending = {name: target for name, target in known.items() if target.state == "Pending"}
        return {name: with_state(target, "Aborted", message, now) for name, target in pending.items()}
    if wakes and not stops:
        return {}
    return {
        name: with_state(
            known[name], "Aborted", f"Not begun, because it waits for {reason}, which failed.", now
        )
        for name, reason in cut_off(_edges(seen, wakes=wakes), known).items()
    }


def _edges(seen: Seen, *, wakes: bool) -> Iterator[tuple[str, str]]:
    """Who waits for whom, as pairs of before and after; waking runs the order of the sleep backwards."""
    for edge in seen.plan.spec.execution.strategy.dependencies:
        yield (edge.to, edge.from_) if wakes else (edge.from_, edge.to)


def _stops(seen: Seen, targets: Iterable[TargetStatus]) -> bool:
    """Whether a failure matters to the others. A plan that is being deleted wakes as much as it can."""
    strict = seen.plan.spec.behavior.mode == "Strict" and not is_deleted(seen.plan)
    return strict and any(target.state == "Failed" for target in targets)


def _look(seen: Seen, status: HibernatePlanStatus, now: Instant) -> Decision:
    """Find out what would happen and say it; an operation that has begun waits meanwhile."""
    names = [target.name for target in seen.plan.spec.targets]
    if status.current_operation is None:
        known = {name: TargetStatus(name=name, state="Pending") for name in names}
        for name, outcome in seen.outcomes.items():
            if name in known:
                state: TargetState = "Skipped" if outcome.state in {"done", "working"} else "Failed"
                known[name] = TargetStatus(
                    name=name,
                    state=state,
                    message=shortened(outcome.message),
                    items=outcome.items,
                    saving=hourly(outcome.saving),
                )
        if not seen.outcomes.keys() >= set(names):
            before = states(status)
            known |= {name: before[name] for name in names if name in before and name not in seen.outcomes}
        status = _replace(status, targets=tuple(known.values()))
    runs = tuple(Run(name=name, operation="Look") for name in names if name not in seen.outcomes)
    return _said(seen, status, now, runs=runs)


def _said(
    seen: Seen,
    status: HibernatePlanStatus,
    now: Instant,
    *,
    runs: tuple[Run, ...] = (),
    after: float = LONGEST_SECONDS,
) -> Decision:
    """The decision with everything that the status says about it."""
    if seen.woken is not None:
        status = with_woken(status, seen.woken, now)
    summary = Summary(
        plan=seen.plan,
        status=status,
        suspended=is_suspended(seen.plan, now),
        asleep=standing(status, seen.kept) == "Asleep",
        message=seen.clock.message if seen.clock else "",
        problems=seen.problems,
        troubles=seen.troubles,
        unconfirmed=seen.unconfirmed,
        strays=seen.strays,
        woken=seen.woken,
    )
    done = sum(target.state in {"Completed", "Skipped"} for target in status.targets)
    status = _replace(
        status,
        phase=phase(summary),
        progress=f"{done}/{len(status.targets)}" if status.targets else "",
        next_transition=seen.clock.following if seen.clock else None,
        active_exceptions=seen.exceptions,
        recent_exceptions=remembered(status.recent_exceptions, seen.in_force, now),
        observed_generation=seen.plan.metadata.generation,
        conditions=conditions(summary, now),
    )
    return Decision(status=status, runs=runs, after=min(after, _look_again(seen, status, now)))


def _look_again(seen: Seen, status: HibernatePlanStatus, now: Instant) -> float:
    """Seconds until the schedule, a suspension or a pause before an attempt is over.

    What was due before waits for something other than time: for room, or for the end of a suspension.
    """
    moments = [due_at(target) for target in status.targets if status.current_operation]
    moments += [once_more_at(status), seen.due_at, rested_at(status) if seen.due else None]
    if seen.clock:
        moments.append(seen.clock.until)
    if is_suspended(seen.plan, now) and seen.plan.spec.suspend_until:
        moments.append(Instant(seen.plan.spec.suspend_until))
    ahead = [(moment - now).total("seconds") for moment in moments if moment and moment > now]
    return min([*ahead, LONGEST_SECONDS])


def remembered(
    before: Iterable[RecentException], in_force: Iterable[RecentException], now: Instant
) -> tuple[RecentException, ...]:
    """What policies count: those in force, and those of the last seven days, cut where they were ended.

    One that was deleted stays, so that a deletion gives nothing back. What never held is forgotten.
    """
    still = {one.uid: one for one in in_force}
    ended = (_replace(one, valid_until=min(one.valid_until, whole_second(now))) for one in before)
    week_ago, hour_ago = now.subtract(hours=7 * 24), now.subtract(hours=1)
    past = (
        one
        for one in ended
        if one.uid not in still
        and one.began_at < one.valid_until
        and (Instant(one.began_at) > week_ago or Instant(one.valid_until) > hour_ago)
    )
    known = sorted([*past, *still.values()], key=lambda one: (one.valid_until, one.uid))[-MOST_RECENT:]
    return tuple(sorted(known, key=lambda one: (one.began_at, one.uid)))


def active_exceptions(entries: Iterable[ActiveException]) -> tuple[ActiveException, ...]:
    """At most ten: the active one always stays, and of those that are over the oldest go first."""

    def goes_last(entry: ActiveException) -> tuple[bool, str]:
        over = entry.expired_at
        return over is None, over.isoformat() if over else ""

    kept = sorted(entries, key=goes_last)[-MOST_EXCEPTIONS:]
    return tuple(sorted(kept, key=lambda entry: (entry.valid_from, entry.name)))
