"""Cloud SQL: an instance whose activation policy is NEVER is stopped, and starts with the policy that it had.

The version of its settings goes along with a change, so that one that somebody made in between is not undone.
"""

import re
from typing import ClassVar, Final, Protocol

from hibernator.api.parameters import CloudSqlParameters
from hibernator.api.planstatus import Rest
from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.executors.gcp import Document, GcpProject, GcpRefusedError, part
from hibernator.executors.protocol import Executor, Item, Job, Permanent, Retryable, Saved, parameters_as

_ASLEEP: Final = "NEVER"
_STALE: Final = 412  # what Google answers when the settings have another version by now
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
            return (Item(key=name, note="was stopped already"),)
        restore = {"activationPolicy": _policy(found), "created": found.get("createTime", "")}
        return (Item(key=name, restore=restore, saving=_saving(found)),)

    async def sleep(self, job: Job, item: Saved) -> None:
        project = await self._projects.gcp(job)
        found = await _read(project, job, item.key, item)
        if found is None or _policy(found) == _ASLEEP:
            return
        if found.get("instanceType") == "READ_REPLICA_INSTANCE":
            raise Permanent(f"{item.key} is a read replica, which Google does not stop. Name its primary.")
        if (state := found.get("state")) in _HOPELESS:
            raise Permanent(f"{item.key} is {state}, in which Google stops nothing. Repair it first.")
        await _set(project, job, found, _ASLEEP)

    async def wake(self, job: Job, item: Saved) -> None:
        project = await self._projects.gcp(job)
        found = await _read(project, job, item.key, item)
        if found and _policy(found) == _ASLEEP:
            await _set(project, job, found, str(item.restore["activationPolicy"]))

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


async def _read(project: GcpProject, job: Job, name: str, item: Saved | None = None) -> Document | None:
    """The instance, if it is there; the very one that was saved, if there is one."""
    instances = f"v1/projects/{_home(project, job)}/instances"
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
    return found if found.get("state") != "PENDING_DELETE" else None


async def _set(project: GcpProject, job: Job, found: Document, policy: str) -> None:
    home = f"v1/projects/{_home(project, job)}"
    settings = {
        "activationPolicy": policy,
        "settingsVersion": (found.get("settings") or {}).get("settingsVersion"),
    }
    try:
        operation = await project.write(
            "sqladmin", "PATCH", f"{home}/instances/{part(found['name'])}", {"settings": settings}
        )
    except GcpRefusedError as error:
        if error.status == _STALE:
            raise Retryable(f"The settings of {found['name']} were changed at the same time.") from error
        raise
    await project.finish("sqladmin", home, operation)


def _home(project: GcpProject, job: Job) -> str:
    return part(parameters_as(job, CloudSqlParameters).project or project.name)


def _policy(found: Document) -> str:
    return str((found.get("settings") or {}).get("activationPolicy") or "ALWAYS")


def _saving(found: Document) -> Saving:
    tier = str((found.get("settings") or {}).get("tier", ""))
    if custom := _CUSTOM.fullmatch(tier):
        return Saving(float(custom[1]), int(custom[2]) / 1024)
    if named := _NAMED.fullmatch(tier):
        cpus = int(named[2])
        return Saving(float(cpus), cpus * _GB_A_CPU[named[1]])
    return Saving()
