"""The answer of `hibernator why`, in words."""

from collections.abc import Iterator

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.cli.plan_words import next_change, validity
from hibernator.cli.why_details import Covering, WorkloadDetails
from hibernator.decisions.conditions import find
from hibernator.decisions.hibernateplan_words import WOKEN_BY_OTHERS
from hibernator.decisions.scheduleexception_request import requester
from hibernator.decisions.sleepmark import ASLEEP_AT
from hibernator.decisions.staying import FORCE_AWAKE
from hibernator.decisions.timewindowscaler_case import CLAIMED
from hibernator.schedule.spoken import shown_with_distance

_ASLEEP_BEFORE = (
    "It bears no mark of this plan: it was asleep before and stays so, unless a KEDA ScaledObject scales it."
)


def lines(details: WorkloadDetails, now: Instant, cluster: str = "") -> Iterator[str]:
    yield f"{details.kind} {details.namespace}/{details.name} {_size(details)}"
    if details.mark:
        known = {f"{each.plan.metadata.namespace}/{each.plan.metadata.name}" for each in details.plans}
        if details.mark.plan not in known:
            yield f"HibernatePlan {details.mark.plan} put it to sleep, and is gone or hidden from you."
            namespace, _, name = details.mark.plan.partition("/")
            wake = f"hibernator plan wake {name} -n {namespace} --offline{cluster}"
            yield f"  If it is gone, wake all of its: `{wake}`"
    if details.excluded:
        yield "The annotation hibernator.ardikabs.com/exclude keeps plans from putting it to sleep."
    yield from _annotation(details, now)
    for covering in details.plans:
        yield from _plan(details, covering, now)
    for scaler in details.scalers:
        yield from _scaler(scaler, now)
    if not details.plans and not details.scalers and not details.mark:
        unseen = details.hidden or details.unsure
        yield (
            "No plan and no scaler that you may see covers it."
            if unseen
            else "No plan and no scaler covers it: whatever its size is, Hibernator did not set it."
        )
    for plan in details.unsure:
        yield f"You may not see which namespaces HibernatePlan {plan} selects: it may cover it, too."
    if details.hidden:
        yield "You may not see plans in other namespaces, which may cover it, too."


def _annotation(details: WorkloadDetails, now: Instant) -> Iterator[str]:
    if details.trouble:
        yield details.trouble
    if details.awake_until and details.awake_until > now:
        zone = details.plans[0].plan.spec.schedule.timezone if details.plans else "UTC"
        until = shown_with_distance(details.awake_until, zone, now)
        yield f"The annotation {FORCE_AWAKE} keeps it awake until {until}."


def _size(details: WorkloadDetails) -> str:
    workload = details.workload
    if workload.by_suspension:
        return "is awake" if workload.replicas else "is suspended"
    if workload.by_node_selector:
        return "is awake" if workload.replicas else "is asleep"
    return f"has {workload.replicas} replica{'' if workload.replicas == 1 else 's'}"


def _plan(details: WorkloadDetails, covering: Covering, now: Instant) -> Iterator[str]:
    plan = covering.plan
    own = f"{plan.metadata.namespace}/{plan.metadata.name}"
    zone = plan.spec.schedule.timezone
    asleep = details.mark is not None and details.mark.plan == own
    verb = "put it to sleep" if asleep else "covers it"
    yield f"HibernatePlan {own} {verb}, and is {plan.status.phase or 'not reconciled yet'}."
    if asleep and details.mark:
        was = {key: value for key, value in (details.mark.was or {}).items() if key not in {"uid", ASLEEP_AT}}
        if was:
            yield f"  was      {', '.join(f'{key}={value}' for key, value in was.items())}"
        if since := _since(plan, details.mark.cycle):
            yield f"  since    {shown_with_distance(since, zone, now)}"
    ready = find(plan.status.conditions, "Ready")
    if ready and ready.message:
        yield f"  why      {ready.message}"
    yield from (f"  target   {message}" for message in _target_messages(details, plan))
    if _should_sleep(details, plan):
        yield f"  awake    {_awake_all_the_same(details, plan, now)}"
    elif plan.status.phase == "Hibernated" and not asleep and not details.workload.replicas:
        yield f"  asleep   {_ASLEEP_BEFORE}"
    for one in covering.exceptions:
        who = requester(one) or "an unknown user"
        reason = f": {one.spec.reason}" if one.spec.reason else ""
        valid = validity(one.spec.valid_from, one.spec.valid_until, zone, now)
        yield f"  override {one.metadata.name} ({one.spec.type}) by {who}, {valid}{reason}"
    if following := next_change(plan):
        yield f"  until    {shown_with_distance(following.at, zone, now)}, then {following.to}"


def _should_sleep(details: WorkloadDetails, plan: HibernatePlan) -> bool:
    """Whether it runs while its plan sleeps, and none of its replicas are to run on."""
    if plan.status.phase != "Hibernated" or details.excluded or not details.workload.replicas:
        return False
    return not any(target.parameters.get("sleepReplicas") for target in plan.spec.targets)


def _awake_all_the_same(details: WorkloadDetails, plan: HibernatePlan, now: Instant) -> str:
    if details.awake_until and details.awake_until > now:
        return "By its annotation."
    woken = find(plan.status.conditions, WOKEN_BY_OTHERS)
    if woken and woken.status == "True" and f"/{details.namespace}/{details.name}" in woken.message:
        return woken.message
    return "It was woken, created or kept awake since the plan fell asleep. The plan covers its next night."


def _target_messages(details: WorkloadDetails, plan: HibernatePlan) -> Iterator[str]:
    """What targets say about this very workload, such as why it stays awake."""
    named = f"/{details.namespace}/{details.name}"
    for target in plan.status.targets:
        if f"{named} " in target.message or f"{named}: " in target.message:
            yield target.message


def _since(plan: HibernatePlan, cycle: int) -> Instant | None:
    found = next((one for one in plan.status.history if one.cycle == cycle and one.sleep), None)
    return Instant(found.sleep.started_at) if found and found.sleep else None


def _scaler(scaler: TimeWindowScaler, now: Instant) -> Iterator[str]:
    status, zone = scaler.status, scaler.spec.timezone
    wanted = "" if status.effective_replicas is None else f", and wants {status.effective_replicas}"
    paused = " It is paused, and changes nothing." if scaler.spec.pause else ""
    ready = find(status.conditions, "Ready")
    second = ready is not None and ready.reason == CLAIMED
    verb = "names it, too, and does nothing" if second else f"scales it{wanted}"
    yield f"TimeWindowScaler {scaler.metadata.namespace}/{scaler.metadata.name} {verb}.{paused}"
    if ready and ready.message:
        yield f"  why      {ready.message}"
    if status.next_boundary:
        yield f"  until    {shown_with_distance(status.next_boundary, zone, now)}"
