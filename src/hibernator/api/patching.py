"""What a target of type `patches` may change: which kinds, which fields, and how its patch is written.

A patch is a way to write with the rights of the operator. So of Kubernetes' own kinds only those can be
patched that are listed here, and of other groups none that gives power or that has a better way to sleep. Of
an object only `spec` and single labels and annotations can be changed. A kind must live in namespaces.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec
import yaml

from hibernator.api.kind import DOMAIN
from hibernator.api.problem import Problem
from hibernator.api.structural import guess, show

# Kubernetes' own kinds, with the version in which the operator looks for them.
BUILT_IN: Final[Mapping[tuple[str, str], str]] = {
    ("", "replicationcontrollers"): "v1",
    ("", "services"): "v1",
    ("apps", "daemonsets"): "v1",
    ("apps", "deployments"): "v1",
    ("apps", "statefulsets"): "v1",
    ("autoscaling", "horizontalpodautoscalers"): "v2",
    ("batch", "cronjobs"): "v1",
    ("batch", "jobs"): "v1",
    ("networking.k8s.io", "ingresses"): "v1",
    ("policy", "poddisruptionbudgets"): "v1",
}
OWN_GROUPS: Final = ("", "apps", "autoscaling", "batch", "extensions", "policy")  # and all under k8s.io
K8S: Final = ".k8s.io"
# Other groups that are left alone, and why.
REFUSED: Final[Mapping[str, str]] = {
    DOMAIN: "plans and exceptions are for people to write",
    "kyklos.io": "scalers are for people to write",
    "kubernaut.ai": "remediations are for people to decide",
    "kyverno.io": "it decides what others may write",
    "gatekeeper.sh": "it decides what others may write",
    "openshift.io": "it decides who may do what",
    "keda.sh": "a target of type workloadscaler pauses what KEDA scales",
    "karpenter.sh": "a target of type karpenter puts node pools to sleep",
}
MOST_NAMESPACES: Final = 10  # of a plan, by name: each costs the API server a question about its author
MOST_OPERATIONS: Final = 50
_LONGEST: Final = 16 * 1024  # characters of a patch that is written as text
_CHANGES: Final = frozenset({"add", "remove", "replace", "move", "copy"})
_OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test")
_NEEDS_VALUE: Final = frozenset({"add", "replace", "test"})
_NEEDS_FROM: Final = frozenset({"move", "copy"})
_KEPT: Final = frozenset({"annotations", "labels"})


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a JSON patch (RFC 6902), with its pointers taken apart."""

    op: str
    path: tuple[str, ...]
    value: Any = None
    source: tuple[str, ...] = ()


class UnreadableError(ValueError):
    """A patch that is no list of operations."""


def group_of(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def refusal(group: str, resource: str) -> str:
    """Why objects of a resource are not patched; empty if they may be."""
    if group in OWN_GROUPS or group.endswith(K8S):
        if (group, resource) in BUILT_IN:
            return ""
        return "of Kubernetes' own kinds only those are patched that hold no rights, secrets or Pods"
    return next((why for one, why in REFUSED.items() if _is_below(group, one)), "")


def _is_below(group: str, other: str) -> bool:
    return group == other or group.endswith(f".{other}")


def operations(patch: Any) -> tuple[Operation, ...]:
    """The operations of a patch that `patch_problems` has nothing to say about."""
    return tuple(
        Operation(
            op=one["op"],
            path=steps(one["path"]),
            value=one.get("value"),
            source=steps(one["from"]) if one["op"] in _NEEDS_FROM else (),
        )
        for one in listed(patch)
    )


def listed(patch: Any) -> list[Any]:
    """The operations as they are written: a list, or the text of one in YAML or JSON."""
    if isinstance(patch, str):
        if len(patch) > _LONGEST:
            raise UnreadableError(f"it has {len(patch)} characters, and may have {_LONGEST}")
        patch = msgspec.json.decode(_from_text(patch))
    if not isinstance(patch, list | tuple):
        raise UnreadableError("it is no list of operations")
    return list(patch)


@lru_cache(64)
def _from_text(text: str) -> bytes:
    """YAML as JSON. Aliases are refused: a few of them can stand for more than fits into memory."""
    try:
        aliases = any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader))
        if not aliases:
            return msgspec.json.encode(yaml.safe_load(text))
    except (yaml.YAMLError, RecursionError, TypeError, ValueError) as error:
        raise UnreadableError(f"it is no YAML that can be read: {str(error).splitlines()[0]}") from error
    raise UnreadableError("it has YAML aliases")


def steps(pointer: str) -> tuple[str, ...]:
    """The steps of a JSON pointer (RFC 6901)."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def pointer(path: tuple[str, ...]) -> str:
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in path)


def patch_problems(patch: Any, path: str) -> Iterator[Problem]:
    """Everything that is wrong with a patch and can be seen without an object."""
    try:
        found = listed(patch)
    except UnreadableError as error:
        fix = "Write a list of operations, such as {op: replace, path: /spec/replicas, value: 0}."
        yield Problem(path, patch, str(error), fix)
        return
    if len(found) > MOST_OPERATIONS:
        yield Problem(path, len(found), f"it has {len(found)} operations", f"Keep it to {MOST_OPERATIONS}.")
        return
    for number, one in enumerate(found):
        yield from _operation_problems(one, f"{path}[{number}]")
    if not any(isinstance(one, Mapping) and one.get("op") in _CHANGES for one in found):
        yield Problem(path, patch, "it changes nothing", "Add an operation, such as replace.")


def _operation_problems(one: Any, path: str) -> Iterator[Problem]:
    if not isinstance(one, Mapping):
        yield Problem(path, one, "it is no operation", "Write op, path and mostly value.")
        return
    op = one.get("op")
    if op not in _OPERATIONS:
        meant = guess(op, _OPERATIONS) if isinstance(op, str) else None
        fix = f"Did you mean {meant}?" if meant else f"Write one of {', '.join(_OPERATIONS)}."
        yield Problem(f"{path}.op", op, "there is no such operation", fix)
        return
    yield from _pointer_problems(one.get("path"), f"{path}.path", changes=op in _CHANGES)
    if op in _NEEDS_FROM:
        yield from _pointer_problems(one.get("from"), f"{path}.from", changes=op == "move")
    if op in _NEEDS_VALUE and "value" not in one:
        yield Problem(f"{path}.value", None, f"{op} needs a value", "Add value.")


def _pointer_problems(text: Any, path: str, *, changes: bool) -> Iterator[Problem]:
    if (
        not isinstance(text, str)
        or not text.startswith("/")
        or "~" in text.replace("~0", "").replace("~1", "")
    ):
        fix = "Write it as /spec/replicas; a / within a name is written as ~1 and a ~ as ~0."
        yield Problem(path, text, "it is no JSON pointer", fix)
    elif changes and (why := untouchable(steps(text))):
        yield Problem(path, text, why, "Change a field of spec, a label or an annotation instead.")


def untouchable(path: tuple[str, ...]) -> str:
    """Why a field is not for a patch to change; empty if it may be."""
    match path:
        case ("spec", _, *_):
            return ""
        case ("metadata", part, key) if part in _KEPT:
            prefix = key.partition("/")[0]
            ours = "/" in key and any(_is_below(prefix, one) for one in (DOMAIN, "kyklos.io"))
            return f"{show(key)} is written by Hibernator itself" if ours else ""
        case ("spec",):
            return "it would replace the whole spec"
        case _:
            return "a patch changes nothing but fields of spec, single labels and single annotations"
