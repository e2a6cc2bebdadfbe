"""What sleeps although it should not, and how to wake things from their marks alone.

Nothing here needs the operator. Waking needs neither plans nor restore data, nor the CRDs: what sleepers say
about themselves is enough.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from hibernator.api.cloudprovider import PROVIDERS, CloudProvider
from hibernator.api.core import CONFIG_MAPS
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.k8scluster import CLUSTERS, K8SCluster
from hibernator.api.kind import Kind
from hibernator.cli.output import printable
from hibernator.decisions.hibernateplan_keeping import is_stray
from hibernator.decisions.hibernateplan_restore import LABEL, PLAN_LABEL, Kept, read
from hibernator.decisions.hibernateplan_status import standing
from hibernator.decisions.sleepmark import SleepMark
from hibernator.executors import sleepers
from hibernator.executors.protocol import ExecutorError
from hibernator.executors.sleepers import Sleeper
from hibernator.kube import errors
from hibernator.kube.client import Client

C = TypeVar("C", bound=CloudProvider | K8SCluster)


@dataclass(frozen=True, slots=True)
class Found:
    key: str
    mark: SleepMark
    why: str
    sleeper: Sleeper | None = None  # None: it is at a cloud, or in another cluster
    at: str = ""  # the connector that leads there, then


async def strays(client: Client, namespace: str = "") -> list[Found]:
    """Everything that bears the mark of a plan which is gone, is awake, or does not know it.

    What is at a cloud or in another cluster, and whose plan is gone, is known from restore data; without it,
    from what the operator has seen where connectors lead.
    """
    plans = await _plans(client)
    restore_data = await _restore_data(client)
    kept = _keys(restore_data)
    elsewhere = [
        *(one for one in _elsewhere(restore_data) if one.mark.plan not in plans),
        *await _seen_by_operator(client, PROVIDERS),
        *await _seen_by_operator(client, CLUSTERS),
    ]
    found = [one for one in elsewhere if namespace in {"", one.mark.plan.partition("/")[0]}]
    async for sleeper in sleepers.find(client, await sleepers.everywhere(client), namespace):
        plan, known = plans.get(sleeper.mark.plan), kept.get(sleeper.mark.plan, frozenset())
        if why := _why(plan, known, sleeper):
            found.append(Found(sleeper.key, sleeper.mark, why, sleeper))
    return sorted(found, key=lambda one: one.key)


async def of_plan(client: Client, plan: str) -> list[Sleeper]:
    """Everything that the plan `namespace/name` has put to sleep, wherever it is in this cluster."""
    found = sleepers.find(client, await sleepers.everywhere(client))
    return sorted([one async for one in found if one.mark.plan == plan], key=lambda one: one.key)


async def elsewhere_of_plan(client: Client, plan: str) -> list[Found]:
    """What it has put to sleep at clouds and in other clusters, as far as anything in this one tells."""
    try:
        restore_data = await _restore_data(client, plan.partition("/")[0])
    except errors.Forbidden:
        restore_data = []
    found = [
        *_elsewhere(restore_data),
        *await _seen_by_operator(client, PROVIDERS),
        *await _seen_by_operator(client, CLUSTERS),
    ]
    return sorted([one for one in found if one.mark.plan == plan], key=lambda one: one.key)


async def wake(client: Client, sleeper: Sleeper) -> str:
    """Wake one; says what became of it."""
    try:
        await sleepers.wake(client, sleeper)
    except ExecutorError as error:
        return f"{sleeper.key} was not woken: {error}"
    return ""


def not_here(one: Found) -> str:
    """What to do about one that no mark in this cluster can wake."""
    return (
        f"{one.key} was not woken: {one.why}. Create the plan {one.mark.plan} again with its target "
        f"{one.mark.target}: it wakes what its predecessor has put to sleep. Or wake it there by hand."
    )


def out_of_reach(one: Found) -> str:
    """The same while its plan may well be there, and only the operator is not."""
    return (
        f"{one.key} was not woken: it is where {one.at} leads. Wake it there by hand; "
        f"it was {was(one.mark)}. Or let the operator wake it."
    )


def lines(found: Collection[Found]) -> list[str]:
    """A table of strays."""
    rows = [("ITEM", "PLAN", "CYCLE", "WAS", "WHY")]
    rows += [(one.key, one.mark.plan, str(one.mark.cycle), was(one.mark), one.why) for one in found]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        printable(
            "  ".join([*(cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True)), row[4]])
        )
        for row in rows
    ]


def document(found: Collection[Found]) -> str:
    """The same for programs."""
    items = [
        {
            "item": one.key,
            "plan": one.mark.plan,
            "planUid": one.mark.uid,
            "cycle": one.mark.cycle,
            "was": one.mark.was,
            "why": one.why,
        }
        for one in found
    ]
    return msgspec.json.format(msgspec.json.encode({"strays": items})).decode()


def was(mark: SleepMark) -> str:
    said = {name: value for name, value in (mark.was or {}).items() if name != "uid"}
    return ",".join(f"{name}={value}" for name, value in said.items()) or "awake"


def _why(plan: HibernatePlan | None, kept: Collection[str], sleeper: Sleeper) -> str:
    if plan is None:
        return "its plan is not in this cluster"
    if not is_stray(plan, kept, sleeper.key):
        return ""
    if standing(plan.status, kept) == "Awake":
        return "its plan is awake"
    return "its plan does not know it"


async def _plans(client: Client) -> Mapping[str, HibernatePlan]:
    try:
        found = await client.list(PLANS)
    except errors.NotFound:  # the CRD is gone, and with it all plans
        return {}
    return {f"{one.metadata.namespace}/{one.metadata.name}": one for one in found}


async def _restore_data(client: Client, namespace: str = "") -> list[tuple[str, Kept]]:
    """What is kept, a part after the other, and for which plan."""
    parts = []
    for one in await client.list(CONFIG_MAPS, namespace, label_selector=f"{LABEL}=true"):
        try:
            part = read([one.data])
        except ValueError:
            continue
        if part:
            parts.append((f"{one.metadata.namespace}/{one.metadata.labels.get(PLAN_LABEL, '')}", part))
    return parts


def _keys(restore_data: Iterable[tuple[str, Kept]]) -> Mapping[str, frozenset[str]]:
    """The keys of what each plan knows to be asleep."""
    kept: dict[str, frozenset[str]] = {}
    for plan, part in restore_data:
        kept[plan] = kept.get(plan, frozenset()) | part.sleeping.keys()
    return kept


async def _seen_by_operator(client: Client, kind: Kind[C]) -> list[Found]:
    try:
        connectors = await client.list(kind)
    except (errors.NotFound, errors.Forbidden):
        return []
    return [
        _out_there(
            SleepMark(plan=stray.plan, cycle=stray.cycle, target=stray.target, item=stray.item),
            f"{kind.kind} {connector.metadata.name}",
        )
        for connector in connectors
        for stray in connector.status.strays
    ]


def _elsewhere(restore_data: Iterable[tuple[str, Kept]]) -> Iterator[Found]:
    for plan, part in restore_data:
        if ref := part.target.connector_ref:
            for key, entry in part.sleeping.items():
                if not entry.woken:
                    mark = SleepMark(
                        plan=plan, cycle=entry.cycle, target=part.target.name, item=key, was=entry.was
                    )
                    yield _out_there(mark, f"{ref.kind} {ref.name}")


def _out_there(mark: SleepMark, at: str) -> Found:
    return Found(mark.item, mark, f"its plan is not in this cluster; it is where {at} leads", at=at)
