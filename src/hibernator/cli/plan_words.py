"""What `hibernator plan` prints about one plan."""

from collections.abc import Iterator

import msgspec
import yaml
from whenever import Instant

from hibernator.api.core import CONFIG_MAPS, EVENTS
from hibernator.api.hibernateplan import HibernatePlan, Target
from hibernator.api.planstatus import OperationResult
from hibernator.cli.options import Output
from hibernator.cli.output import moment
from hibernator.decisions.hibernateplan_restore import LABEL, PLAN_LABEL, Entry, Saving, read
from hibernator.decisions.hibernateplan_status import saved_by
from hibernator.executors.protocol import ExecutorError, Job
from hibernator.executors.registry import Registry
from hibernator.kube.client import Client


def describe_lines(plan: HibernatePlan, now: Instant) -> list[str]:
    return list(_describe(plan, now))


def _describe(plan: HibernatePlan, now: Instant) -> Iterator[str]:
    status = plan.status
    yield f"{plan.metadata.namespace}/{plan.metadata.name} is {status.phase or 'not looked at yet'}"
    if following := status.next_transition:
        yield f"  next         {following.to} at {moment(following.at)} ({following.reason})"
    for one in status.active_exceptions:
        yield f"  exception    {one.name} ({one.type}), {one.state}, until {moment(one.valid_until)}"
    for target in status.targets:
        items = target.items
        counts = f", {items.done or 0}/{items.total or 0} items" if items else ""
        message = f": {target.message}" if target.message else ""
        yield f"  target       {target.name} {target.state}{counts}{message}"
    if savings := saved_by(status, now):
        cpu, memory = savings.cpu_core_hours or 0, savings.memory_gib_hours or 0
        yield f"  saved        {cpu:g} core hours, {memory:g} GiB hours since {moment(savings.since)}"
    for cycle in reversed(status.history):
        yield f"  cycle {cycle.cycle:<6} {_result('sleep', cycle.sleep)}; {_result('wake', cycle.wake)}"
    for condition in status.conditions:
        words = f": {condition.message}" if condition.message else ""
        yield f"  {condition.type} is {condition.status} ({condition.reason}){words}"


def _result(what: str, result: OperationResult | None) -> str:
    if result is None:
        return f"no {what} yet"
    if result.result is None:
        return f"{what} since {moment(result.started_at)}"
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


async def preview_lines(client: Client, plan: HibernatePlan) -> list[str]:
    """Every item that would sleep now, found with the rights of whoever asks."""
    import aiohttp

    # The libraries of the clouds take long to load, and nothing else needs them here.
    from hibernator.executors.connectors import Connectors
    from hibernator.executors.registry import executors

    async with aiohttp.ClientSession() as session, Connectors(client, session) as connectors:
        return await _preview(executors(connectors, own_namespace="hibernator-system"), plan)


def job_of(plan: HibernatePlan, target: Target) -> Job:
    """A look at a target that changes nothing."""
    now = Instant.now()
    return Job(
        namespace=plan.metadata.namespace,
        plan=plan.metadata.name,
        uid=plan.metadata.uid,
        cycle=0,
        target=target,
        attempt=1,
        began=now,
        now=now,
        behavior=plan.spec.behavior,
    )


async def _preview(registry: Registry, plan: HibernatePlan) -> list[str]:
    lines: list[str] = []
    total = Saving()
    for target in plan.spec.targets:
        try:
            items = await registry[target.type].discover(job_of(plan, target))
        except ExecutorError as error:
            lines.append(f"{target.name}  cannot be looked at: {error}")
            continue
        for item in items:
            saving = f"saves {item.saving.cpu_cores:g} cores, {item.saving.memory_gib:g} GiB"
            lines.append(f"{target.name}  {item.key}  {saving if item.restore is not None else item.note}")
        total = sum((item.saving for item in items), total)
    lines.append(f"Together an hour asleep saves {total.cpu_cores:g} cores and {total.memory_gib:g} GiB.")
    return lines
