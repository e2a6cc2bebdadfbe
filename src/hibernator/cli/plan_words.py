"""What `hibernator plan` prints about one plan, and the columns of `hibernator plan list`."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec
import yaml
from whenever import Instant

from hibernator.api.core import CONFIG_MAPS, EVENTS
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.planstatus import OperationResult
from hibernator.cli.options import Output
from hibernator.cli.output import Column, aged, condition_lines, distanced, moment
from hibernator.decisions.conditions import find
from hibernator.decisions.hibernateplan_restore import LABEL, PLAN_LABEL, Entry, read
from hibernator.decisions.hibernateplan_status import saved_by
from hibernator.kube.client import Client
from hibernator.schedule.spoken import nearby, relative


def describe_lines(plan: HibernatePlan, now: Instant) -> list[str]:
    return list(_describe(plan, now))


def _describe(plan: HibernatePlan, now: Instant) -> Iterator[str]:
    status = plan.status

    def when(at: datetime | None) -> str:
        return distanced(at, plan.spec.schedule.timezone, now)

    yield f"{plan.metadata.namespace}/{plan.metadata.name} is {status.phase or 'not reconciled yet'}"
    if following := next_change(plan):
        reason = f" ({following.reason})" if following.reason else ""
        yield f"  next         {following.to} at {when(following.at)}{reason}"
    for one in status.active_exceptions:
        valid = validity(one.valid_from, one.valid_until, plan.spec.schedule.timezone, now)
        yield f"  exception    {one.name} ({one.type}), {one.state}, {valid}"
    for target in status.targets:
        items = target.items
        counts = f", {items.done or 0}/{items.total or 0} items" if items else ""
        message = f": {target.message}" if target.message else ""
        yield f"  target       {target.name} {target.state}{counts}{message}"
    if savings := saved_by(status, now):
        cpu, memory = savings.cpu_core_hours or 0, savings.memory_gib_hours or 0
        yield f"  saved        {cpu:g} core hours, {memory:g} GiB hours since {when(savings.since)}"
    for cycle in reversed(status.history):
        slept, woke = _result("sleep", cycle.sleep, when), _result("wake", cycle.wake, when)
        yield f"  cycle {cycle.cycle:<6} {slept}; {woke}"
    yield from condition_lines(status.conditions)


def _result(what: str, result: OperationResult | None, when: Callable[[datetime], str]) -> str:
    if result is None:
        return f"no {what} yet"
    if result.result is None:
        return f"{what} since {when(result.started_at)}"
    return f"{what} {result.result} in {result.duration_seconds:g} s"


async def events_lines(client: Client, plan: HibernatePlan) -> list[str]:
    about = f"involvedObject.uid={plan.metadata.uid}"
    found = await client.list(EVENTS, plan.metadata.namespace, field_selector=about)
    # Those of the same second in the order in which they were written.
    found.sort(key=lambda one: (moment(one.last_timestamp), int(one.metadata.resource_version)))
    return [
        f"{moment(one.last_timestamp)}  {one.type:<7}  {one.reason:<16}  {one.message}" for one in found
    ] or ["There is no recent news of it."]


async def restore_lines(client: Client, namespace: str, plan: str, output: Output) -> list[str]:
    selector = f"{LABEL}=true,{PLAN_LABEL}={plan}"
    found = await client.list(CONFIG_MAPS, namespace, label_selector=selector)
    kept: dict[str, dict[str, Entry]] = {}
    for one in found:
        if part := read([one.data]):
            kept.setdefault(part.target.name, {}).update(part.entries)
    if output is Output.NAME:
        return [f"configmap/{one.metadata.name}" for one in found]
    if output is Output.JSON:
        return [msgspec.json.format(msgspec.json.encode(kept)).decode()]
    if output is Output.YAML:
        return [yaml.safe_dump(msgspec.to_builtins(kept), sort_keys=True).rstrip()]
    lines = [
        f"{target}  {key}  {_was(entry)}"
        for target, entries in sorted(kept.items())
        for key, entry in sorted(entries.items())
    ]
    return lines or [f"Nothing of {plan} is asleep."]


def _was(entry: Entry) -> str:
    if entry.was is None:
        return f"left alone: {entry.note}"
    return ", ".join(f"{name}={value}" for name, value in entry.was.items() if name != "uid") or "awake"


def _message(plan: HibernatePlan) -> str:
    condition = find(plan.status.conditions, "Ready")
    return condition.message if condition else ""


def _exception(plan: HibernatePlan) -> str:
    return ", ".join(one.name for one in plan.status.active_exceptions if one.state == "Active")


class Following(NamedTuple):
    to: str
    at: datetime
    reason: str = ""


def next_change(plan: HibernatePlan) -> Following | None:
    """What becomes of the plan next, and when. While it is suspended, it follows no schedule."""
    if plan.status.phase == "Suspended":
        until = plan.spec.suspend_until
        return Following("Resumed", until) if until else None
    found = plan.status.next_transition
    return Following(found.to, found.at, found.reason) if found else None


def validity(start: datetime, end: datetime, zone: str, now: Instant) -> str:
    """Until when an exception is valid, and from when where that is still to come."""
    until = f"until {distanced(end, zone, now)}"
    return until if Instant(start) <= now else f"from {distanced(start, zone, now)} {until}"


def columns(now: Callable[[], Instant]) -> tuple[Column[HibernatePlan], ...]:
    """What is shown of a plan, by a clock."""

    def following(plan: HibernatePlan) -> str:
        found = next_change(plan)
        return f"{found.to} {relative(found.at, now())}" if found else ""

    def at(plan: HibernatePlan) -> str:
        found = next_change(plan)
        return nearby(found.at, plan.spec.schedule.timezone, now()) if found else ""

    return (
        Column("Phase", lambda one: one.status.phase or ""),
        Column("Next", following, basis=next_change),
        Column("At", at),
        Column("Targets", lambda one: one.status.progress),
        Column("Exception", _exception),
        aged(),
        Column("Message", _message, wide=True),
    )
