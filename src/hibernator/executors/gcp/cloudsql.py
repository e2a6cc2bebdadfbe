"""Cloud SQL: an instance whose activation policy is NEVER is stopped, and starts with the policy that it had.

The version of its settings goes along with a change, so that one that someone made in between is not undone.
Labels are settings, too: the change that stops an instance also marks it, and the one that starts it takes
the mark off.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Protocol

from hibernator.api.parameters import CloudSqlParameters
from hibernator.api.planstatus import Rest
from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.decisions.sleepmark import LABELS, POLICY, SleepMark, from_labels, to_labels
from hibernator.executors.cloudmarks import (
    LINGERS,
    check_may_wake,
    is_of_another,
    mark_for,
    of_cluster,
    of_plan,
    sleeper,
    warn_unmarked,
)
from hibernator.executors.gcp.project import Document, GcpProject, GcpRefusedError, part
from hibernator.executors.protocol import (
    Executor,
    Item,
    Job,
    Marked,
    Permanent,
    Retryable,
    Saved,
    parameters_as,
)

_ASLEEP: Final = "NEVER"
_INVALID: Final = 400
_STALE: Final = 412  # what Google answers when the settings have another version by now
_GOING: Final = "PENDING_DELETE"
_HOPELESS: Final = {"FAILED", "SUSPENDED"}
# CPUs and MB are in the names of most tiers; of the others each CPU comes with so many GB.
_CUSTOM: Final = re.compile(r"db-(?:[a-z0-9]+-)?custom-(\d+)-(\d+)")
_NAMED: Final = re.compile(r"db-(n1-standard|n1-highmem|perf-optimized-N)-(\d+)")
_GB_A_CPU: Final = {"n1-standard": 3.75, "n1-highmem": 6.5, "perf-optimized-N": 8.0}


class GcpProjects(Protocol):
    """Where the executor finds the project of a target."""

    async def gcp(self, job: Job) -> GcpProject: ...


class CloudSql(Executor):
    identity: ClassVar[str] = "created"
    lingers: ClassVar[float | None] = LINGERS

    def __init__(self, projects: GcpProjects) -> None:
        self._projects = projects

    async def discover(self, job: Job) -> tuple[Item, ...]:
        name = parameters_as(job, CloudSqlParameters).instance_name
        project = await self._projects.gcp(job)
        found = await _read(project, job, name)
        if found is None:
            raise Permanent(
                f"instanceName: there is no instance {name} in the project {_home(project, job)}."
            )
        if _policy(found) == _ASLEEP:
            mark = _mark(found)
            restore = _restore(found, mark) if mark else None
            return (sleeper(name, mark, job, restore, _saving(found), "was stopped already"),)
        return (Item(key=name, restore=_restore(found), saving=_saving(found)),)

    async def asleep(self, job: Job) -> tuple[Item, ...]:
        project = await self._projects.gcp(job)
        return of_plan(await _marked(project, _home(project, job)), job)

    async def asleep_for_cluster(self, job: Job) -> tuple[Marked, ...]:
        project = await self._projects.gcp(job)
        found = await _marked(project, part(project.name)) if project.cluster else ()
        return of_cluster(found, project.cluster)

    async def sleep(self, job: Job, item: Saved) -> None:
        project = await self._projects.gcp(job)
        found = await _read(project, job, item.key, item)
        if found is None or _policy(found) == _ASLEEP:
            return
        if found.get("instanceType") == "READ_REPLICA_INSTANCE":
            raise Permanent(f"{item.key} is a read replica, which Google does not stop. Name its primary.")
        if (state := found.get("state")) in _HOPELESS:
            raise Permanent(f"{item.key} is {state}, in which Google stops nothing. Repair it first.")
        was = {POLICY: item.restore[POLICY]}
        labels = to_labels(mark_for(job, item, _id(found), was, project.cluster))
        try:
            await _set(project, job, found, activationPolicy=_ASLEEP, userLabels=labels)
        except GcpRefusedError as error:
            if error.status != _INVALID:  # such as too many labels
                raise
            warn_unmarked(item.key, error)
            await _set(project, job, found, activationPolicy=_ASLEEP)

    async def wake(self, job: Job, item: Saved) -> None:
        project = await self._projects.gcp(job)
        found = await _read(project, job, item.key, item)
        if found is None or is_of_another(mark := _mark(found), job):
            return
        settings: dict[str, Any] = {}
        if _policy(found) == _ASLEEP:
            check_may_wake(mark, job, item)
            settings["activationPolicy"] = str(item.restore[POLICY])
        if mark:
            settings["userLabels"] = {key: None for key in _labels(found) if key.startswith(LABELS)}
        if settings:
            await _set(project, job, found, **settings)

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        project = await self._projects.gcp(job)
        found = await _read(project, job, item.key, item)
        if found is None:
            return True
        home = f"v1/projects/{_home(project, job)}"
        # The newest come first, and only one at a time is at work.
        answer = await project.read("sqladmin", f"{home}/operations", instance=item.key, maxResults="10")
        busy = any(one.get("status") != "DONE" for one in answer.get("items") or ())
        return not busy and (_policy(found) == _ASLEEP) == (rest == "Asleep")


async def _marked(project: GcpProject, home: str) -> list[Marked]:
    found = await project.pages("sqladmin", f"v1/projects/{home}/instances", "items")
    return [
        Marked(
            Item(key=str(one["name"]), restore=_restore(one, mark), asleep=True),
            mark,
            _policy(one) == _ASLEEP,
        )
        for one in found
        if (mark := _mark(one)) and one.get("state") != _GOING
    ]


async def _read(project: GcpProject, job: Job, name: str, item: Saved | None = None) -> Document | None:
    """The instance, if it is there; the very one that was saved, if there is one."""
    instances = _instances(project, job)
    try:
        found = await project.read("sqladmin", f"{instances}/{part(name)}")
    except GcpRefusedError as error:
        if error.not_found:
            return None
        # Google says the same of what does not exist as of what is forbidden. The list tells which it is.
        names = {one.get("name") for one in await project.pages("sqladmin", instances, "items")}
        if error.forbidden and name not in names:
            return None
        raise
    if item and item.restore["created"] != found.get("createTime", ""):
        return None
    return found if found.get("state") != _GOING else None


async def _set(project: GcpProject, job: Job, found: Document, **settings: Any) -> None:
    settings["settingsVersion"] = (found.get("settings") or {}).get("settingsVersion")
    try:
        operation = await project.write(
            "sqladmin",
            "PATCH",
            f"{_instances(project, job)}/{part(found['name'])}",
            {"settings": settings},
        )
    except GcpRefusedError as error:
        if error.status == _STALE:
            raise Retryable(f"The settings of {found['name']} were changed at the same time.") from error
        raise
    await project.finish("sqladmin", f"v1/projects/{_home(project, job)}", operation)


def _instances(project: GcpProject, job: Job) -> str:
    return f"v1/projects/{_home(project, job)}/instances"


def _home(project: GcpProject, job: Job) -> str:
    return part(parameters_as(job, CloudSqlParameters).project or project.name)


def _policy(found: Document) -> str:
    return str((found.get("settings") or {}).get("activationPolicy") or "ALWAYS")


def _labels(found: Document) -> Mapping[str, str]:
    return (found.get("settings") or {}).get("userLabels") or {}


def _id(found: Document) -> str:
    """A clone has the labels, too, and is another."""
    return f"{found.get('name')} {found.get('createTime', '')}"


def _mark(found: Document) -> SleepMark | None:
    return from_labels(_labels(found), _id(found))


def _restore(found: Document, mark: SleepMark | None = None) -> dict[str, Any]:
    """What it is now, or was by its mark."""
    was = mark.was if mark and mark.was else {POLICY: _policy(found)}
    return {POLICY: was[POLICY], "created": found.get("createTime", "")}


def _saving(found: Document) -> Saving:
    tier = str((found.get("settings") or {}).get("tier", ""))
    machines = {f"{found.get('region', '')}/{tier}": 1.0} if tier and found.get("region") else {}
    if custom := _CUSTOM.fullmatch(tier):
        return Saving(float(custom[1]), int(custom[2]) / 1024, machines=machines)
    if named := _NAMED.fullmatch(tier):
        cpus = int(named[2])
        return Saving(float(cpus), cpus * _GB_A_CPU[named[1]], machines=machines)
    return Saving(machines=machines)
