"""The input of `hibernator why`: a workload, and the plans, exceptions and scalers that cover it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from whenever import Instant

from hibernator.api.core import NAMESPACES
from hibernator.api.hibernateplan import PLANS, HibernatePlan, Target
from hibernator.api.parameters import WorkloadScalerParameters
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.api.timewindowscaler import SCALERS, TimeWindowScaler
from hibernator.cli.exits import CliError, Exit
from hibernator.decisions.scaling import Workload
from hibernator.decisions.sleepmark import SleepMark, read_mark
from hibernator.decisions.staying import EXCLUDE, asked_for, problem
from hibernator.executors.protocol import ExecutorError
from hibernator.executors.reach import Reach
from hibernator.executors.workloads.kinds import (
    AnyObject,
    WorkloadKind,
    is_finished,
    workload_kind,
    workload_of,
)
from hibernator.executors.workloads.scaler import parameters_of, selector_text
from hibernator.kube.client import Client
from hibernator.kube.errors import ApiError, Forbidden, NotFound

_OPERATOR: Final = "hibernator-system"  # its own namespace, which no plan touches


@dataclass(frozen=True, slots=True)
class Covering:
    """A plan that a workload belongs to, and its exceptions in force."""

    plan: HibernatePlan
    exceptions: tuple[ScheduleException, ...]


@dataclass(frozen=True, slots=True)
class WorkloadDetails:
    kind: str
    namespace: str
    name: str
    workload: Workload
    mark: SleepMark | None  # of the plan that has put it to sleep
    excluded: bool
    awake_until: Instant | None  # by its annotation
    trouble: str  # with that annotation
    plans: tuple[Covering, ...]
    scalers: tuple[TimeWindowScaler, ...]
    hidden: bool  # there may be plans that the user may not read
    unsure: tuple[str, ...]  # plans of which the user may not see what they select


def named(word: str) -> tuple[str, str]:
    """The kind and the name of `deploy/web`."""
    kind, slash, name = word.partition("/")
    if not slash or not kind or not name:
        hint = "Write it as deploy/web, with -n for its namespace."
        raise CliError(f"{word} is not a kind and a name.", hint=hint, code=Exit.USAGE)
    return kind, name


async def look(client: Client, kind: str, name: str, namespace: str) -> WorkloadDetails:
    resource = await kind_named(client, kind)
    try:
        found = await client.get(resource.api, name, namespace)
    except NotFound as error:
        raise await _absent(client, resource, name, namespace) from error
    mark = read_mark(found.metadata.annotations)
    excluded = found.metadata.annotations.get(EXCLUDE) == "true"
    plans, hidden = await _plans(client, namespace)
    covering: list[HibernatePlan] = []
    unsure: list[str] = []
    for plan in plans:
        own = f"{plan.metadata.namespace}/{plan.metadata.name}"
        try:
            if (mark and mark.plan == own) or await _covers(client, plan, resource, found):
                covering.append(plan)
        except Forbidden:
            unsure.append(own)
    scalers = await client.list(SCALERS, namespace)
    return WorkloadDetails(
        resource.api.kind,
        namespace,
        name,
        workload_of(resource, found),
        mark,
        excluded,
        asked_for(found.metadata.annotations),
        problem(found.metadata.annotations),
        tuple([Covering(plan, await _exceptions(client, plan)) for plan in covering]),
        tuple(one for one in scalers if _targets(one, resource, name)),
        hidden,
        tuple(unsure),
    )


async def kind_named(client: Client, kind: str) -> WorkloadKind:
    try:
        return await workload_kind(client, kind)
    except ExecutorError as error:
        hint = "Write deploy/NAME, sts/NAME, ds/NAME, cj/NAME, job/NAME or rollouts.argoproj.io/NAME."
        raise CliError(
            f"{kind} is not a kind that this cluster can scale.", hint=hint, code=Exit.USAGE
        ) from error


async def _absent(client: Client, resource: WorkloadKind, name: str, namespace: str) -> CliError:
    from hibernator.cli.missing import not_found

    return await not_found(client, resource.api, [name], namespace)


async def _plans(client: Client, namespace: str) -> tuple[list[HibernatePlan], bool]:
    """All plans, because one may cover other namespaces; only those here where that is forbidden."""
    try:
        return await client.list(PLANS), False
    except Forbidden:
        return await client.list(PLANS, namespace), True


async def _covers(client: Client, plan: HibernatePlan, resource: WorkloadKind, found: AnyObject) -> bool:
    """Whether one of its targets is about this workload, asked with no more rights than `view` gives here."""
    if found.metadata.annotations.get(EXCLUDE) == "true" or is_finished(resource, found):
        return False
    for target in _local(plan):
        try:
            wanted = parameters_of(target)
        except ExecutorError:
            continue  # the plan itself says in its status what is wrong with this target
        names = wanted.included_groups
        if any([await _is(client, resource, name) for name in names]) and await _chooses(
            client, wanted, resource, found
        ):
            return True
    return False


async def _is(client: Client, resource: WorkloadKind, name: str) -> bool:
    try:
        return await workload_kind(client, name) == resource
    except (ExecutorError, ApiError):
        return False  # a custom kind that is not there, or not to be read: `resource` was read


async def _chooses(
    client: Client, wanted: WorkloadScalerParameters, resource: WorkloadKind, found: AnyObject
) -> bool:
    """Whether its namespace and its labels are those that the target selects."""
    name, namespace = found.metadata.name, found.metadata.namespace
    if not Reach(_OPERATOR).covers(namespace):
        return False
    if namespace not in wanted.namespace.literals:
        if not wanted.namespace.selector:
            return False
        labels = (await client.get(NAMESPACES, namespace)).metadata.labels
        if any(labels.get(key) != value for key, value in wanted.namespace.selector.items()):
            return False
    selector = selector_text(wanted.workload_selector)
    by_name = f"metadata.name={name}"
    return bool(await client.list(resource.api, namespace, label_selector=selector, field_selector=by_name))


def _local(plan: HibernatePlan) -> Iterator[Target]:
    """The targets that are about workloads in this cluster."""
    return (
        target for target in plan.spec.targets if target.type == "workloadscaler" and not target.connector_ref
    )


async def _exceptions(client: Client, plan: HibernatePlan) -> tuple[ScheduleException, ...]:
    active = {one.name for one in plan.status.active_exceptions if one.state == "Active"}
    if not active:
        return ()
    found = await client.list(EXCEPTIONS, plan.metadata.namespace)
    return tuple(one for one in found if one.metadata.name in active)


def _targets(scaler: TimeWindowScaler, resource: WorkloadKind, name: str) -> bool:
    target: Any = scaler.spec.target_ref
    return bool(target.kind == resource.api.kind and target.name == name)
