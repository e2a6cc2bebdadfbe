"""The input of `hibernator why`: a workload, and the plans, exceptions and scalers that cover it."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Final

from whenever import Instant

from hibernator.api.hibernateplan import PLANS, HibernatePlan, Target
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.api.timewindowscaler import SCALERS, TimeWindowScaler
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.plan_preview import job_of
from hibernator.decisions.scaling import Workload
from hibernator.decisions.sleepmark import Mark, read_mark
from hibernator.decisions.staying import EXCLUDE, asked_for, problem
from hibernator.executors.protocol import ExecutorError, Job
from hibernator.executors.reach import Reach
from hibernator.executors.workloads.kinds import Sort, sort_of, workload_of
from hibernator.executors.workloads.scaler import WorkloadScaler
from hibernator.kube.client import Client
from hibernator.kube.errors import ApiError, Forbidden, NotFound

_SHORT: Final = {"deploy": "Deployment", "sts": "StatefulSet", "ds": "DaemonSet", "cj": "CronJob"}


@dataclass(frozen=True, slots=True)
class Covering:
    """A plan that a workload belongs to, and its exceptions in force."""

    plan: HibernatePlan
    exceptions: tuple[ScheduleException, ...]


@dataclass(frozen=True, slots=True)
class Sight:
    kind: str
    namespace: str
    name: str
    workload: Workload
    mark: Mark | None  # of the plan that has put it to sleep
    excluded: bool
    awake_until: Instant | None  # by its annotation
    trouble: str  # with that annotation
    plans: tuple[Covering, ...]
    scalers: tuple[TimeWindowScaler, ...]
    hidden: bool  # there may be plans that the user may not read


def named(word: str) -> tuple[str, str]:
    """The kind and the name of `deploy/web`."""
    kind, slash, name = word.partition("/")
    if not slash or not kind or not name:
        hint = "Write it as deploy/web, with -n for its namespace."
        raise CliError(f"{word} is not a kind and a name.", hint=hint, code=Exit.USAGE)
    return _SHORT.get(kind.lower(), kind), name


async def look(client: Client, kind: str, name: str, namespace: str) -> Sight:
    sort = await sort_named(client, kind)
    try:
        found = await client.get(sort.kind, name, namespace)
    except NotFound as error:
        raise await _absent(client, sort, name, namespace) from error
    mark = read_mark(found.metadata.annotations)
    excluded = found.metadata.annotations.get(EXCLUDE) == "true"
    plans, hidden = await _plans(client, namespace)
    key = f"{sort.label}/{namespace}/{name}"
    covering = [plan async for plan in _covering(client, plans, key, mark)]
    scalers = await client.list(SCALERS, namespace)
    return Sight(
        sort.kind.kind,
        namespace,
        name,
        workload_of(sort, found),
        mark,
        excluded,
        asked_for(found.metadata.annotations),
        problem(found.metadata.annotations),
        tuple([Covering(plan, await _exceptions(client, plan)) for plan in covering]),
        tuple(one for one in scalers if _targets(one, sort, name)),
        hidden,
    )


async def sort_named(client: Client, kind: str) -> Sort:
    try:
        return await sort_of(client, kind)
    except ExecutorError as error:
        hint = "Write deploy/NAME, sts/NAME, ds/NAME, cj/NAME, job/NAME or rollouts.argoproj.io/NAME."
        raise CliError(
            f"{kind} is not a kind that this cluster can scale.", hint=hint, code=Exit.USAGE
        ) from error


async def _absent(client: Client, sort: Sort, name: str, namespace: str) -> CliError:
    from hibernator.cli.missing import not_found

    return await not_found(client, sort.kind, [name], namespace)


async def _plans(client: Client, namespace: str) -> tuple[list[HibernatePlan], bool]:
    """All plans, because one may cover other namespaces; only those here where that is forbidden."""
    try:
        return await client.list(PLANS), False
    except Forbidden:
        return await client.list(PLANS, namespace), True


async def _covering(
    client: Client, plans: list[HibernatePlan], key: str, mark: Mark | None
) -> AsyncIterator[HibernatePlan]:
    scaler = WorkloadScaler(_Here(client), Reach("hibernator-system"))
    for plan in plans:
        own = f"{plan.metadata.namespace}/{plan.metadata.name}"
        if (mark and mark.plan == own) or await _covers(scaler, plan, key):
            yield plan


@dataclass(frozen=True, slots=True)
class _Here:
    """The one cluster that is looked at."""

    here: Client

    async def client(self, job: Job) -> Client:
        del job
        return self.here


async def _covers(scaler: WorkloadScaler, plan: HibernatePlan, key: str) -> bool:
    for target in _local(plan):
        try:
            if any(item.key == key for item in await scaler.discover(job_of(plan, target))):
                return True
        except (ExecutorError, ApiError):
            continue  # the plan itself says in its status what is wrong with this target
    return False


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


def _targets(scaler: TimeWindowScaler, sort: Sort, name: str) -> bool:
    target: Any = scaler.spec.target_ref
    return bool(target.kind == sort.kind.kind and target.name == name)
