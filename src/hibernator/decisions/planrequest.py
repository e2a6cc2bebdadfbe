"""What becomes of a PlanRequest: a patch of the plan in the name of who asked, or a sentence why not.

The patch of the plan also notes the request's uid on the plan. It does both or neither, so that a process
which dies before it has written the status finds out what was done, and does it neither twice nor never.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from msgspec.structs import replace
from whenever import Instant, TimeDelta

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.kind import DOMAIN
from hibernator.api.planrequest import PlanRequest, PlanRequestStatus
from hibernator.decisions.conditions import ConditionState, Notice, lay_over, seconds_until, whole_second
from hibernator.decisions.hibernateplan_case import RETRY, is_suspended
from hibernator.decisions.hibernateplan_change import RESUMED, failed_for_good, retried, suspended
from hibernator.decisions.journal import (
    CHANGED_BY,
    CHANNEL,
    RETRIED_BY,
    News,
    by_user,
    creation_news,
    note,
    noted,
)
from hibernator.decisions.readiness import READY
from hibernator.decisions.scheduleexception_request import REQUESTED_BY
from hibernator.schedule.spoken import shown

CARRIED_OUT: Final = f"{DOMAIN}/carried-out"  # on a plan: the uids of requests, the newest first
PATIENCE: Final = TimeDelta(minutes=10)  # an operator that was away does not change a plan hours later
KEPT: Final = TimeDelta(hours=1)
RECORD_SECONDS: Final = 10.0  # how often the audit trail is asked before it goes
_REMEMBERED: Final = 16

Reason = Literal[
    "CarriedOut",
    "PlanGone",
    "TooOld",
    "AlreadySuspended",
    "UntilPast",
    "NotSuspended",
    "NothingFailed",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the decision may look at."""

    request: PlanRequest
    plan: HibernatePlan | None = None  # as the API server has it now; not read for what is finished
    age: TimeDelta = TimeDelta.ZERO  # of the request, by the clock of the API server
    recorded: frozenset[int] = frozenset()  # what of the journal the audit trail has


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The patch of the plan, which comes before the status; or that the request may go."""

    change: Mapping[str, Any] | None = None
    status: PlanRequestStatus | None = None
    notices: tuple[Notice[Reason], ...] = ()
    after: float | None = None
    over: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    reason: Reason
    words: str


Check = Callable[[PlanRequest, HibernatePlan, TimeDelta, Instant], Refusal | None]


def decide(seen: Seen, now: Instant) -> Decision:
    request = seen.request
    if request.metadata.deletion_timestamp:
        return Decision()
    if finished := request.status.finished_at:
        ends = Instant(finished) + KEPT
        if now >= ends and not all(entry.number in seen.recorded for entry in request.status.journal):
            return Decision(after=RECORD_SECONDS)
        return Decision(over=now >= ends, after=seconds_until(ends, now))
    plan = seen.plan
    if plan is None or plan.metadata.uid != request.spec.plan.uid:
        return _ended(seen, now, Refusal("PlanGone", _gone(request.spec.plan.name, plan)))
    if was_carried_out(plan, request.metadata.uid):
        return _ended(seen, now, None)
    refusal = next((found for check in _CHECKS if (found := check(request, plan, seen.age, now))), None)
    return _ended(seen, now, refusal, None if refusal else _change(request, plan, now))


def was_carried_out(plan: HibernatePlan, uid: str) -> bool:
    return uid in carried_out(plan)


def carried_out(plan: HibernatePlan) -> tuple[str, ...]:
    """The uids of the requests that were carried out last, the newest first."""
    return tuple(plan.metadata.annotations.get(CARRIED_OUT, "").split())


def requester(request: PlanRequest) -> str:
    return request.metadata.annotations.get(REQUESTED_BY, "")


def _gone(name: str, other: HibernatePlan | None) -> str:
    what = "is another plan of that name" if other else "is gone"
    return f"{name} {what}: nothing was changed. Open the page of the plan again."


def _is_going(request: PlanRequest, plan: HibernatePlan, _age: TimeDelta, _now: Instant) -> Refusal | None:
    if not plan.metadata.deletion_timestamp:
        return None
    return Refusal("PlanGone", f"{request.spec.plan.name} is being deleted: nothing was changed.")


def _is_old(_request: PlanRequest, _plan: HibernatePlan, age: TimeDelta, _now: Instant) -> Refusal | None:
    if age <= PATIENCE:
        return None
    words = "The operator could not carry it out within 10 minutes: nothing was changed. Ask again."
    return Refusal("TooOld", words)


def _cannot_suspend(
    request: PlanRequest, plan: HibernatePlan, _age: TimeDelta, now: Instant
) -> Refusal | None:
    if request.spec.action != "Suspend":
        return None
    name, until = plan.metadata.name, request.spec.until
    if until and Instant(until) <= now:
        at = shown(until, plan.spec.schedule.timezone)
        return Refusal("UntilPast", f"{at} is past: nothing was changed. Ask again with a later time.")
    if is_suspended(plan, now):
        words = f"{name} is suspended already: nothing was changed. To change until when, resume it first."
        return Refusal("AlreadySuspended", words)
    return None


def _cannot_resume(
    request: PlanRequest, plan: HibernatePlan, _age: TimeDelta, now: Instant
) -> Refusal | None:
    if request.spec.action != "Resume" or is_suspended(plan, now):
        return None
    return Refusal("NotSuspended", f"{plan.metadata.name} is not suspended: it follows its schedule.")


def _cannot_retry(
    request: PlanRequest, plan: HibernatePlan, _age: TimeDelta, _now: Instant
) -> Refusal | None:
    if request.spec.action != "Retry" or failed_for_good(plan):
        return None
    words = f"Nothing of {plan.metadata.name} has failed for good: there is nothing to try again."
    return Refusal("NothingFailed", words)


_CHECKS: Final[tuple[Check, ...]] = (_is_going, _is_old, _cannot_suspend, _cannot_resume, _cannot_retry)


def _change(request: PlanRequest, plan: HibernatePlan, now: Instant) -> Mapping[str, Any]:
    """The patch of the command, with the person as its author: the operator only carries it out."""
    spec, who = request.spec, requester(request)
    notes = {CARRIED_OUT: " ".join((request.metadata.uid, *carried_out(plan))[:_REMEMBERED])}
    match spec.action:
        case "Suspend":
            change = suspended(Instant(spec.until) if spec.until else None, spec.reason)
        case "Resume":
            change = dict(RESUMED)
        case "Retry":
            change = retried(now)
    asked = change.get("metadata", {}).get("annotations", {})
    if spec.action == "Retry":
        notes[RETRIED_BY] = note(asked[RETRY], who)
    else:
        notes[CHANGED_BY] = note(plan.metadata.generation + 1, who)
    return {**change, "metadata": {"annotations": {**asked, **notes}}}


def _ended(
    seen: Seen, now: Instant, refusal: Refusal | None, change: Mapping[str, Any] | None = None
) -> Decision:
    request, before = seen.request, seen.request.status
    reason, words = (refusal.reason, refusal.words) if refusal else ("CarriedOut", _done(seen))
    verdict = ConditionState(READY, refusal is None, reason, words)
    generation = request.metadata.generation
    status = replace(
        before,
        observed_generation=generation,
        state="Refused" if refusal else "Done",
        message=words,
        finished_at=whole_second(now),
        conditions=lay_over(before.conditions, [verdict], now=now, generation=generation),
        journal=noted(before.journal, _news(request, verdict), seen.recorded, now),
    )
    notice: Notice[Reason] = Notice("Warning" if refusal else "Normal", reason, words)
    return Decision(change=change, status=status, notices=(notice,), after=KEPT.total("seconds"))


def _done(seen: Seen) -> str:
    spec, plan = seen.request.spec, seen.plan
    match spec.action:
        case "Suspend" if spec.until and plan:
            return f"{spec.plan.name} is suspended until {shown(spec.until, plan.spec.schedule.timezone)}."
        case "Suspend":
            return f"{spec.plan.name} is suspended."
        case "Resume":
            return f"{spec.plan.name} follows its schedule."
        case "Retry":
            return f"{spec.plan.name} tries again what failed."


def _news(request: PlanRequest, verdict: ConditionState) -> Iterator[News]:
    about: dict[str, int | str] = {"plan": request.spec.plan.name, "action": request.spec.action}
    asked = {**about, **by_user(requester(request)), CHANNEL: "dashboard"}
    if request.spec.reason:
        asked["reason"] = request.spec.reason
    yield from creation_news(
        request.status.observed_generation, request.metadata.generation, request.metadata, asked
    )
    said = verdict.message if not verdict.holds else ""
    yield News("done" if verdict.holds else "refused", said, {**about, "reason": verdict.reason})
