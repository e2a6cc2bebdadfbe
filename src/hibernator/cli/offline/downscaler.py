"""kube-downscaler's annotations as plans and scalers.

kube-downscaler remembers how many replicas there were and brings them back, and so does a plan. Hours of a
Namespace become a plan for it; workloads of a namespace that have the same hours of their own share another
one, which finds them by a label. Only `downtime-replicas` above zero needs a TimeWindowScaler, because a plan
always goes to zero; that works for Deployments, and for as many replicas as are written in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from hibernator.api.kind import DOMAIN
from hibernator.api.timewindowscaler import SCALERS
from hibernator.cli.offline.downscaler_scopes import (
    FORCES,
    PREFIX,
    Scope,
    annotations,
    forget,
    place,
    read,
    rules,
)
from hibernator.cli.offline.drafts import Draft, plan, schedule
from hibernator.cli.offline.sleepinfo import EXCLUDE
from hibernator.schedule.downscaler import Hours, sleep_of
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.sleeps import around_the_week, awake, off_hours_of, scaler_windows_of

LABEL: Final = f"{DOMAIN}/hours"  # on all that has hours of its own


def scale(draft: Draft, sleep: Hours, replicas: int, suspended: Mapping[str, Any]) -> None:
    """Give it a scaler that runs what is written in the Deployment by day, and these replicas otherwise."""
    document, by_day = draft.document, draft.document.part("spec", "replicas")
    if document.kind != "Deployment":
        draft.refuse(
            place("downtime-replicas"),
            replicas,
            f"a {document.kind} goes to zero or stays as it is: only Deployments have a TimeWindowScaler",
            "Remove it to let it sleep at zero, or exclude it.",
        )
    elif not isinstance(by_day, int):
        draft.refuse(
            "spec.replicas",
            by_day,
            "it is missing, and a scaler must know how many replicas run by day",
            "Write how many.",
        )
    elif "suspendUntil" in suspended:
        draft.refuse(
            place("exclude-until"),
            suspended["suspendUntil"],
            "a scaler can be paused, but not until a certain time",
            "Remove it, and set pause on the scaler for as long.",
        )
    elif windows := scaler_windows_of(around_the_week(awake(sleep.spans))):
        spec = {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": document.name},
            "timezone": sleep.zone or "UTC",
            "windows": [
                {"days": days, "start": start, "end": end, "replicas": by_day} for start, end, days in windows
            ],
            "defaultReplicas": min(replicas, by_day),
            **({"pause": True} if suspended else {}),
        }
        space = {"namespace": draft.written_namespace} if draft.written_namespace else {}
        metadata = {"name": document.name, **space}
        draft.make(
            {"apiVersion": SCALERS.api_version, "kind": SCALERS.kind, "metadata": metadata, "spec": spec}
        )
        draft.mark("labels", LABEL, document.name[:63].rstrip("-."))
        draft.notes.append(f"{document.title} is scaled by the TimeWindowScaler of the same name.")
    else:
        draft.refuse(
            place("downtime-replicas"),
            replicas,
            "it is never up",
            f"Set spec.replicas to {replicas} instead.",
        )


_NAME: Final = "downscaler"
_WORKLOADS: Final = {
    ("apps", "Deployment"): "Deployment",
    ("apps", "StatefulSet"): "StatefulSet",
    ("apps", "DaemonSet"): "DaemonSet",
    ("batch", "CronJob"): "CronJob",
    ("batch", "Job"): "Job",
    ("argoproj.io", "Rollout"): "rollouts.argoproj.io",
}
_INSTEAD: Final = {
    "HorizontalPodAutoscaler": "Move the annotations to what it scales: it rests at zero replicas.",
    "ScaledObject": "Move the annotations to what it scales: a plan pauses the ScaledObject along with it.",
}
_UNSEEN: Final = (
    f"No workload of {{0}} is among the files, and one with {PREFIX}exclude would sleep by this plan. "
    "Convert them together: kubectl get namespace/{0} -o yaml, and kubectl get deployments -n {0} -o yaml."
)


@dataclass(slots=True)
class _Namespace:
    """A namespace: what its own annotations say, and which plans it gets."""

    draft: Draft | None = None
    scope: Scope = field(default_factory=Scope)
    groups: dict[str, list[Draft]] = field(default_factory=dict)  # workloads by what their plan says
    apart: bool = False  # whether workloads have hours of their own


def convert(drafts: Sequence[Draft]) -> None:
    touched = [draft for draft in drafts if annotations(draft)]
    namespaces: dict[str, _Namespace] = {}
    for draft in touched:
        if draft.document.kind == "Namespace":
            namespaces[draft.document.name] = _Namespace(draft, read(draft))
    for draft in drafts:
        _refuse_forcing_pods(draft)
    for draft in touched:
        if draft.document.kind != "Namespace":
            _workload(draft, namespaces.setdefault(draft.written_namespace, _Namespace()))
        forget(draft)
    seen = {draft.written_namespace for draft in drafts if _is_workload(draft)}
    for name, namespace in namespaces.items():
        _share_plans(name, namespace)
        if namespace.draft:
            _plan_namespace(name, namespace, namespace.draft)
            if namespace.draft.made and name not in seen:
                namespace.draft.notes.append(_UNSEEN.format(name))


def _is_workload(draft: Draft) -> bool:
    return (draft.document.group, draft.document.kind) in _WORKLOADS


def _workload(draft: Draft, namespace: _Namespace) -> None:
    document = draft.document
    if not _is_workload(draft):
        draft.refuse(
            "metadata.annotations",
            None,
            f"{document.kind}s are not put to sleep by themselves",
            _INSTEAD.get(document.kind, f"Remove the annotations that begin with {PREFIX}."),
        )
        return
    own = read(draft)
    if namespace.scope.exclude:
        _in_excluded_namespace(draft, own)
    elif own.exclude:
        _keep_awake(draft, "was excluded")
    elif namespace.draft and namespace.draft.problems:
        return  # its own hours are unknown until its Namespace is correct
    elif own.hours or own.replicas is not None or own.until:
        _own_hours(draft, own, namespace)


def _own_hours(draft: Draft, own: Scope, namespace: _Namespace) -> None:
    hours = _hours(draft, own, namespace)
    sleep = _sleep(draft, hours)
    if sleep is None or draft.problems:
        return
    if not sleep.spans:
        _keep_awake(draft, "never sleeps")
        return
    namespace.apart = True
    suspended = _suspended(hours, own.until or namespace.scope.until)
    if own.replicas:
        scale(draft, sleep, own.replicas, suspended)
    elif not draft.written_namespace:
        draft.refuse(
            "metadata.namespace",
            None,
            "it is missing, and a plan names the namespaces of its targets",
            "Write the namespace that it is applied to.",
        )
    elif when := _schedule(draft, sleep):
        key = msgspec.json.encode([when, suspended]).decode()
        namespace.groups.setdefault(key, []).append(draft)


def _hours(draft: Draft, own: Scope, namespace: _Namespace) -> dict[str, Hours]:
    """The hours that count for a workload: its own, or else those of its namespace."""
    above = namespace.scope
    for mine, theirs in ((own.times, above.times), (own.forces, above.forces)):
        if mine and (besides := sorted(set(theirs) - set(mine))):
            _refuse_mixture(draft, next(iter(mine)), besides)
    if not own.times and not above.times and not draft.problems:
        draft.refuse(
            "metadata.annotations",
            None,
            "its hours are those that kube-downscaler was started with, and these are not known here",
            f"Write them as {PREFIX}uptime on the workload or its Namespace.",
        )
    if own.forces:
        draft.notes.append(
            f"{draft.document.title}: of the two programs, only GoKubeDownscaler forces single workloads. It "
            "was converted as that reads it."
        )
    return {**(own.times or above.times), **(own.forces or above.forces)}


def _refuse_mixture(draft: Draft, mine: str, besides: Sequence[str]) -> None:
    draft.refuse(
        place(mine),
        None,
        f"its Namespace has {', '.join(PREFIX + name for name in besides)} besides, which one program "
        "adds to this and the other one does not",
        f"Write {PREFIX}{besides[0]} on the workload too: the same as there, or never.",
    )


def _share_plans(name: str, namespace: _Namespace) -> None:
    """One plan for all workloads of a namespace that have the same hours."""
    for number, (key, members) in enumerate(namespace.groups.items(), start=1):
        when, suspended = msgspec.json.decode(key)
        called = f"{_NAME}-{number}"
        kinds = dict.fromkeys(_WORKLOADS[each.document.group, each.document.kind] for each in members)
        parameters = {
            "namespace": {"literals": [name]},
            "includedGroups": list(kinds),
            "workloadSelector": {"matchLabels": {LABEL: called}},
        }
        members[0].make(plan({"name": called, "namespace": name}, when, parameters, **suspended))
        for member in members:
            member.mark("labels", LABEL, called)
            member.notes.append(
                f"{member.document.title} sleeps by the HibernatePlan {name}/{called}, by its new label."
            )


def _plan_namespace(name: str, namespace: _Namespace, draft: Draft) -> None:
    scope = namespace.scope
    if scope.replicas:
        draft.refuse(
            place("downtime-replicas"),
            scope.replicas,
            "the plan of a namespace always goes to zero",
            "Write it on those Deployments that it matters for: each gets a TimeWindowScaler.",
        )
    sleep = _sleep(draft, scope.hours)
    if scope.exclude or sleep is None or not sleep.spans or draft.problems:
        draft.notes.append(f"Namespace {name} needs no plan: nothing puts it to sleep.")
        return
    parameters: dict[str, Any] = {"namespace": {"literals": [name]}, "includedGroups": ["Deployment"]}
    if namespace.apart:
        without = {"key": LABEL, "operator": "DoesNotExist"}
        parameters["workloadSelector"] = {"matchExpressions": [without]}
    if when := _schedule(draft, sleep):
        suspended = _suspended(scope.hours, scope.until)
        draft.make(plan({"name": _NAME, "namespace": name}, when, parameters, **suspended))
        draft.notes.append(
            f"Namespace {name} sleeps by the HibernatePlan {name}/{_NAME}: its Deployments, as by default. "
            "Add to includedGroups what --include-resources named besides."
        )


def _sleep(draft: Draft, hours: Mapping[str, Hours]) -> Hours | None:
    """When it sleeps; a forced uptime without end is no part of that, but suspends the plan."""
    counted = {name: each for name, each in hours.items() if name != "force-uptime" or not each.always}
    try:
        return sleep_of(rules(counted))
    except ScheduleError as error:
        draft.refuse("metadata.annotations", None, error.message, error.fix)
        return None


def _schedule(draft: Draft, sleep: Hours) -> dict[str, Any] | None:
    try:
        windows = off_hours_of(around_the_week(sleep.spans))
    except ScheduleError as error:
        draft.refuse("metadata.annotations", None, error.message, error.fix)
        return None
    return schedule(sleep.zone, windows)


def _suspended(hours: Mapping[str, Hours], until: str) -> dict[str, Any]:
    if "force-uptime" in hours and hours["force-uptime"].always:
        return {"suspend": True, "suspendReason": f"{PREFIX}force-uptime was true"}
    if until:
        return {"suspend": True, "suspendUntil": until, "suspendReason": f"{PREFIX}exclude-until"}
    return {}


def _keep_awake(draft: Draft, why: str) -> None:
    draft.mark("annotations", EXCLUDE, "true")
    draft.notes.append(f"{draft.document.title} {why}: it was annotated, so that no plan puts it to sleep.")


def _in_excluded_namespace(draft: Draft, own: Scope) -> None:
    if own.exclude is False:
        draft.refuse(
            place("exclude"),
            "false",
            "its Namespace is excluded, over which one program lets this win and the other one does not",
            "Take the exclusion off the Namespace, or this off the workload.",
        )
    else:
        draft.notes.append(f"{draft.document.title} never slept: its Namespace is excluded.")


def _refuse_forcing_pods(draft: Draft) -> None:
    """A Pod that keeps a whole cluster awake for as long as it runs."""
    document = draft.document
    templates = {
        "spec.template": ("spec", "template"),
        "spec.jobTemplate.spec.template": ("spec", "jobTemplate", "spec", "template"),
    }
    for path, steps in templates.items():
        found = document.part(*steps, "metadata", "annotations")
        for name in FORCES:
            if isinstance(found, dict) and f"{PREFIX}{name}" in found:
                draft.refuse(
                    f"{path}.metadata.annotations.{PREFIX}{name}",
                    found[f"{PREFIX}{name}"],
                    "a Pod cannot change the hours of others",
                    "Remove it, and file a ScheduleException of the type suspend while it has to run.",
                )
