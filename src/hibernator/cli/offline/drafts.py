"""What becomes of each document on the way from another program's format to ours."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hibernator.api.checks import check_document
from hibernator.api.hibernateplan import PLANS
from hibernator.api.problem import Problem
from hibernator.api.windows import OffHourWindow
from hibernator.cli.offline.loading.documents import Document

_BY_THE_CLUSTER = {
    "creationTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOTES_OF_THE_CLUSTER = {"deployment.kubernetes.io/revision", LAST_APPLIED}


@dataclass(slots=True)
class Draft:
    """A document, how it is to be written, and what is to be written after all of them."""

    document: Document
    value: dict[str, Any] = field(init=False)
    plain: dict[str, Any] = field(init=False)  # as it was written, without what a cluster added
    made: list[dict[str, Any]] = field(default_factory=list)
    replaced: bool = False
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.plain = as_written(self.document)
        self.value = copy.deepcopy(self.plain)

    @property
    def changed(self) -> bool:
        return self.replaced or bool(self.made) or self.value != self.plain

    @property
    def scope(self) -> str:
        """The namespace that it is in, or is."""
        return self.document.name if self.document.kind == "Namespace" else self.written_namespace

    @property
    def written_namespace(self) -> str:
        """The namespace, if the document names one; otherwise it is unknown where it is applied."""
        found = self.document.part("metadata", "namespace")
        return found if isinstance(found, str) else ""

    def refuse(self, path: str, value: Any, message: str, fix: str) -> None:
        self.problems.append(Problem(path, value, message, fix))

    def make(self, made: dict[str, Any]) -> None:
        """Something new that comes of the document, if it is right."""
        self.made.append(made)
        for problem in check_document(made):
            what = f"the {made['kind']} that it becomes is not right at {problem.path}: {problem.message}"
            self.refuse("", problem.value, what, problem.fix)

    def mark(self, part: str, key: str, value: str) -> None:
        """Write a label or an annotation."""
        found = self.value["metadata"].get(part) or {}
        if isinstance(found, dict):
            self.value["metadata"][part] = {**found, key: value}
        else:
            self.refuse(f"metadata.{part}", found, f"{part} are pairs of a key and a text", "Write them so.")


def is_from_a_cluster(document: Document) -> bool:
    """Whether it is what `kubectl get -o yaml` prints, and not a file that a person keeps."""
    return any(document.part("metadata", field) for field in ("uid", "resourceVersion"))


def as_written(document: Document) -> dict[str, Any]:
    """The document without what a cluster added, which an apply would conflict with."""
    if not is_from_a_cluster(document):
        return document.value
    kept = {key: value for key, value in document.value.items() if key != "status"}
    return {**kept, "metadata": metadata_of(document)}


def metadata_of(document: Document) -> dict[str, Any]:
    """What a person wrote into the metadata, without what a cluster added."""
    metadata: dict[str, Any] = {
        key: value
        for key, value in (document.part("metadata") or {}).items()
        if key not in _BY_THE_CLUSTER and value
    }
    if isinstance(found := metadata.get("annotations"), dict):
        metadata["annotations"] = {
            key: text for key, text in found.items() if key not in _NOTES_OF_THE_CLUSTER
        }
    return {key: value for key, value in metadata.items() if value}


def schedule(zone: str, windows: Sequence[OffHourWindow]) -> dict[str, Any]:
    return {"timezone": zone or "UTC", "offHours": msgspec.json.decode(msgspec.json.encode(windows))}


def plan(
    metadata: dict[str, Any],
    when: Mapping[str, Any],
    parameters: Mapping[str, Any] | None,
    more: Sequence[Mapping[str, Any]] = (),
    **spec: Any,
) -> dict[str, Any]:
    """A plan with a target for workloads, if there are parameters for it, and those besides."""
    target = {"name": "workloads", "type": "workloadscaler", "parameters": dict(parameters or {})}
    return {
        "apiVersion": PLANS.api_version,
        "kind": PLANS.kind,
        "metadata": metadata,
        "spec": {
            "schedule": dict(when),
            "targets": [*([target] if parameters else []), *map(dict, more)],
            **spec,
        },
    }
