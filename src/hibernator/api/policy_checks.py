"""What CEL says about ExceptionPolicies, said again in Python for files that are not applied yet."""

from collections.abc import Iterator, Mapping
from typing import Any

from hibernator.api.plan_checks import Document, block, entries, texts
from hibernator.api.problem import Problem


def check_policy(document: Document) -> Iterator[Problem]:
    spec = block(document, "spec")
    required = isinstance(spec.get("require"), dict)
    if required:
        require = block(spec, "require")
        yield from _names_an_approver(require, "spec.require")
        yield from check_threshold(require.get("threshold"), _named(require), "spec.require.threshold")
    if spec.get("unless") and not required:
        yield Problem(
            "spec.unless", spec["unless"], "there is no require that it could relieve of", "Add require."
        )
    if isinstance(spec.get("escalateAfter"), dict):
        yield from _names_an_approver(block(spec, "escalateAfter"), "spec.escalateAfter")
        if not required:
            found = "there is no require to which it could add approvers"
            yield Problem("spec.escalateAfter", spec["escalateAfter"], found, "Add require, or remove it.")
    if spec.get("reasonPattern") is not None and spec.get("reasonRequired") is not True:
        yield Problem(
            "spec.reasonPattern",
            spec["reasonPattern"],
            "it has an effect only with reasonRequired",
            "Add reasonRequired: true.",
        )
    yield from _reliefs(spec)
    yield from _freezes(spec)


def check_threshold(threshold: Any, approvers: int, path: str) -> Iterator[Problem]:
    if isinstance(threshold, str) and threshold != "all":
        yield Problem(path, threshold, "it must be all or a number", "Write all, or a number from 1 on.")
    elif isinstance(threshold, int) and threshold < 1:
        yield Problem(path, threshold, "it must be at least one", "Write all, or a number from 1 on.")
    elif isinstance(threshold, int) and threshold > approvers:
        yield Problem(
            path,
            threshold,
            f"more approvals are asked for than there are approvers ({approvers})",
            f"Write {approvers} or less, or add approvers." if approvers else "Add approvers, or remove it.",
        )


def _reliefs(spec: Document) -> Iterator[Problem]:
    conditions = ("types", "durationAtMost", "requesterRoles", "withinHours")
    for index, one in entries(spec, "unless"):
        if one.get("wakesOnly") is not True and not any(one.get(name) is not None for name in conditions):
            yield Problem(
                f"spec.unless[{index}]", one, "it would approve everything", "Set a condition, or remove it."
            )


def _freezes(spec: Document) -> Iterator[Problem]:
    for index, one in entries(spec, "freeze"):
        path, first, last = f"spec.freeze[{index}]", one.get("firstDay"), one.get("lastDay")
        if isinstance(one.get("override"), dict):
            yield from _names_an_approver(block(one, "override"), f"{path}.override")
        if (first is None) != (last is None):
            yield Problem(f"{path}.lastDay", last, "a freeze needs its first and last day", "Write both.")
        if (first is not None) == bool(one.get("windows")):
            yield Problem(
                path, one, "it has days and windows, or neither", "Write firstDay and lastDay, or windows."
            )
        if isinstance(first, str) and isinstance(last, str) and first > last:
            yield Problem(f"{path}.lastDay", last, f"it is before firstDay, {first}", "Write a later day.")


def _names_an_approver(named: Document, path: str) -> Iterator[Problem]:
    if not _named(named):
        yield Problem(path, dict(named), "no approver is named", "Set emails or roles.")


def _named(named: Mapping[str, Any]) -> int:
    return len(texts(named, "emails")) + len(texts(named, "roles"))
