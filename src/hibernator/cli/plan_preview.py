"""What would sleep now, for `hibernator plan sleep --dry-run`.

Apart from the other words about plans: the executors take long to load, and nothing else needs them.
"""

import aiohttp
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan, Target
from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.executors.connectors import Connectors
from hibernator.executors.protocol import ExecutorError, Job
from hibernator.executors.registry import Registry, executors
from hibernator.kube.client import Client


async def preview_lines(client: Client, plan: HibernatePlan) -> tuple[list[str], list[str]]:
    """Every item that would sleep now, with the rights of the one who asks, and what these do not show."""
    async with aiohttp.ClientSession() as session, Connectors(client, session) as connectors:
        return await _preview(executors(connectors, own_namespace="hibernator-system"), plan)


def job_of(plan: HibernatePlan, target: Target) -> Job:
    """Inspects a target and changes nothing."""
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


async def _preview(registry: Registry, plan: HibernatePlan) -> tuple[list[str], list[str]]:
    lines: list[str] = []
    unseen: list[str] = []
    total = Saving()
    for target in plan.spec.targets:
        try:
            items = await registry[target.type].discover(job_of(plan, target))
        except ExecutorError as error:
            unseen.append(f"{target.name} cannot be looked at: {error}")
            continue
        if not items:
            lines.append(f"{target.name}  nothing is found that could sleep: check its parameters")
        for item in items:
            saving = f"saves {item.saving.cpu_cores:g} cores, {item.saving.memory_gib:g} GiB"
            lines.append(f"{target.name}  {item.key}  {saving if item.restore is not None else item.note}")
        total = sum((item.saving for item in items), total)
    if len(unseen) < len(plan.spec.targets):
        lines.append(f"Together an hour asleep saves {total.cpu_cores:g} cores and {total.memory_gib:g} GiB.")
    return lines, unseen
