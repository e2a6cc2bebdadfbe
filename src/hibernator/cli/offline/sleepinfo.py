"""kube-green's SleepInfos as plans of the same name: the same nights, for the same workloads.

kube-green runs two cron lines, one that puts a namespace to sleep and one that wakes it, both on `weekdays`.
It sleeps from the one to the next of the other: over the weekend, when both run from Monday to Friday.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hibernator.api.kind import DOMAIN
from hibernator.api.problem import Problem
from hibernator.api.structural import guess
from hibernator.api.windows import OffHourWindow
from hibernator.cli.offline.drafts import Draft, metadata_of, plan, schedule
from hibernator.cli.offline.loading.documents import Document
from hibernator.cli.offline.sleepinfo_patches import patches
from hibernator.schedule.cron import lines_to_off_hours
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.zones import zone_of

EXCLUDE: Final = f"{DOMAIN}/exclude"
_FIELDS: Final = {
    "weekdays": str,
    "sleepAt": str,
    "wakeUpAt": str,
    "timeZone": str,
    "excludeRef": list,
    "includeRef": list,
    "suspendCronJobs": bool,
    "suspendDeployments": bool,
    "suspendStatefulSets": bool,
    "patches": list,
}
_NEEDED: Final = {
    "weekdays": 'Write the days as in cron, for example "1-5".',
    "sleepAt": 'Write the time, for example "20:00".',
    "wakeUpAt": "Write when to wake up: a plan that never wakes is a scaling to zero by hand.",
}
_KINDS: Final = {
    "suspendDeployments": ("Deployment", True),
    "suspendStatefulSets": ("StatefulSet", True),
    "suspendCronJobs": ("CronJob", False),
}


def is_sleep_info(document: Document) -> bool:
    return document.kind == "SleepInfo" and document.group == "kube-green.com"


def convert(drafts: Sequence[Draft]) -> None:
    for draft in drafts:
        if is_sleep_info(draft.document):
            _convert(draft, drafts)


def _convert(draft: Draft, drafts: Sequence[Draft]) -> None:
    draft.replaced = True
    spec = draft.document.part("spec")
    spec = spec if isinstance(spec, dict) else {}
    draft.problems += _shape(draft, spec)
    if draft.problems:
        return
    kinds = [kind for name, (kind, default) in _KINDS.items() if spec.get(name, default)]
    if not kinds and not spec.get("patches"):
        draft.refuse(
            "spec", None, "nothing of it sleeps: all kinds are switched off", "Remove the SleepInfo."
        )
    patched = list(patches(draft, spec, {name: kind for name, (kind, _) in _KINDS.items() if kind in kinds}))
    selector = _selector(draft, spec, [*kinds, *(one.kind for one in patched)], drafts)
    windows = _windows(draft, spec)
    if draft.problems:
        return
    when = schedule(spec.get("timeZone", ""), windows)
    parameters = {
        "namespace": {"literals": [draft.written_namespace]},
        "includedGroups": kinds,
        **({"workloadSelector": selector} if selector else {}),
    }
    targets = [one.target(draft.written_namespace, selector) for one in patched]
    draft.make(plan(metadata_of(draft.document), when, parameters if kinds else None, targets))
    draft.notes.append(f"{draft.document.title} became the HibernatePlan of the same name.")
    draft.notes += [note for one in patched for note in one.notes()]
    if "StatefulSet" in kinds and "suspendStatefulSets" not in spec:
        draft.notes.append(
            "Its StatefulSets sleep too, as with kube-green since 0.6. To leave them awake, remove "
            "StatefulSet from includedGroups."
        )


def _shape(draft: Draft, spec: Mapping[str, Any]) -> Iterator[Problem]:
    if not draft.written_namespace:
        yield Problem(
            "metadata.namespace",
            None,
            "it is missing, and a SleepInfo puts the namespace that it is in to sleep",
            "Write the namespace that it is applied to.",
        )
    for name, value in spec.items():
        if name not in _FIELDS:
            meant = guess(name, _FIELDS)
            yield Problem(
                f"spec.{name}",
                value,
                "a SleepInfo has no such field that we know of",
                f"Did you mean {meant}?" if meant else "Remove it if nothing depends on it.",
            )
        elif not isinstance(value, _FIELDS[name]):
            yield Problem(f"spec.{name}", value, "it is not of the right type", "See kube-green's reference.")
    for name, fix in _NEEDED.items():
        if not spec.get(name):
            yield Problem(f"spec.{name}", None, "it is missing", fix)


def _windows(draft: Draft, spec: Mapping[str, Any]) -> tuple[OffHourWindow, ...]:
    name = "timeZone"
    try:
        zone_of(spec.get(name) or "UTC")
        lines = []
        for name in ("sleepAt", "wakeUpAt"):
            hour, _, minute = spec[name].partition(":")
            lines.append(f"{minute} {hour} * * {spec['weekdays']}")
        name = "sleepAt"
        return lines_to_off_hours(*lines)
    except ScheduleError as error:
        draft.refuse(f"spec.{name}", spec.get(name), error.message, error.fix)
        return ()


def _selector(
    draft: Draft, spec: Mapping[str, Any], kinds: Sequence[str], drafts: Sequence[Draft]
) -> dict[str, Any]:
    """Labels as a selector; a name becomes an annotation on the workload, which must be there for that."""
    wanted: dict[str, str] = {}
    unwanted: list[dict[str, Any]] = []
    for index, ref in enumerate(spec.get("includeRef", ())):
        path = f"spec.includeRef[{index}]"
        labels = _labels(draft, path, ref)
        if labels is None:
            _refuse_name(draft, path, ref)
        for key, value in (labels or {}).items():
            if wanted.setdefault(key, value) != value:
                draft.refuse(path, ref, f"{key} cannot have two values, so that nothing sleeps", "Keep one.")
    for index, ref in enumerate(spec.get("excludeRef", ())):
        path = f"spec.excludeRef[{index}]"
        labels = _labels(draft, path, ref)
        if labels is None:
            _exclude(draft, path, ref, kinds, drafts)
        unwanted += [
            {"key": key, "operator": "NotIn", "values": [value]} for key, value in (labels or {}).items()
        ]
    return {
        **({"matchLabels": wanted} if wanted else {}),
        **({"matchExpressions": unwanted} if unwanted else {}),
    }


def _labels(draft: Draft, path: str, ref: Any) -> dict[str, str] | None:
    """The labels of a reference, or None where it is one by name."""
    labels = ref.get("matchLabels", {}) if isinstance(ref, dict) else None
    if not isinstance(labels, dict) or set(ref) - {"apiVersion", "kind", "name", "matchLabels"}:
        draft.refuse(path, ref, "this is not a reference", "Write apiVersion, kind and name, or matchLabels.")
        return {}
    return labels or None


def _refuse_name(draft: Draft, path: str, ref: Mapping[str, Any]) -> None:
    draft.refuse(
        path,
        f"{ref.get('kind')} {ref.get('name')}",
        "a plan chooses workloads by label, not by name",
        "Give it a label and write matchLabels with that label instead.",
    )


def _exclude(
    draft: Draft, path: str, ref: Mapping[str, Any], kinds: Sequence[str], drafts: Sequence[Draft]
) -> None:
    kind, name = ref.get("kind"), ref.get("name")
    if kind not in kinds:
        draft.notes.append(f"{path} names a {kind}, of which none would sleep: there was nothing to convert.")
        return
    for other in drafts:
        document = other.document
        if (document.kind, document.name, other.written_namespace) == (kind, name, draft.written_namespace):
            other.mark("annotations", EXCLUDE, "true")
            other.notes.append(f"{document.title} was annotated, so that no plan puts it to sleep.")
            return
    draft.refuse(
        path,
        f"{kind} {name}",
        "a workload stays awake by an annotation of its own, and it is not among the files",
        f'Add its file with -f, and it will be annotated; or annotate it with {EXCLUDE}: "true" yourself '
        "and remove this entry.",
    )
