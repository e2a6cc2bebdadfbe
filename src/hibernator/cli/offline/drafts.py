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
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(slots=True)
class Draft:
    """A document, how it is to be written, and what is to be written behind it."""

    document: Document
    value: dict[str, Any] = field(init=False)
    made: list[dict[str, Any]] = field(default_factory=list)
    replaced: bool = False
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.value = copy.deepcopy(self.document.value)

    @property
    def changed(self) -> bool:
        return self.replaced or bool(self.made) or self.value != self.document.value

    @property
    def written_namespace(self) -> str:
        """The namespace, if the document names it; where it does not, nobody knows where it is applied."""
        found = self.document.part("metadata", "namespace")
        return found if isinstance(found, str) else ""

    def refuse(self, path: str, value: Any, message: str, fix: str) -> None:
        self.problems.append(Problem(path, value, message, fix))

    def make(self, made: dict[str, Any]) -> None:
        """Something new that stands behind the document, if it is right."""
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


def metadata_of(document: Document) -> dict[str, Any]:
    """What a person wrote into the metadata, without what a cluster added."""
    metadata: dict[str, Any] = {
        key: value
        for key, value in (document.part("metadata") or {}).items()
        if key not in _BY_THE_CLUSTER and value
    }
    if isinstance(found := metadata.get("annotations"), dict):
        metadata["annotations"] = {key: text for key, text in found.items() if key != _LAST_APPLIED}
    return {key: value for key, value in metadata.items() if value}


def schedule(zone: str, windows: Sequence[OffHourWindow]) -> dict[str, Any]:
    return {"timezone": zone or "UTC", "offHours": msgspec.json.decode(msgspec.json.encode(windows))}


def plan(
    metadata: dict[str, Any],
    when: Mapping[str, Any],
    parameters: Mapping[str, Any],
    **spec: Any,
) -> dict[str, Any]:
    """A plan with one target."""
    target = {"name": "workloads", "type": "workloadscaler", "parameters": dict(parameters)}
    return {
        "apiVersion": PLANS.api_version,
        "kind": PLANS.kind,
        "metadata": metadata,
        "spec": {"schedule": dict(when), "targets": [target], **spec},
    }
