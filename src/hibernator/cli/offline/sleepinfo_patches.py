"""The patches of kube-green's SleepInfos as targets of type `patches`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hibernator.api.patching import BUILT_IN, patch_problems
from hibernator.cli.offline.drafts import Draft
from hibernator.executors.workloads.kinds import BUILT_IN as WORKLOADS

# What the operator's own role has.
_ALLOWED: Final = frozenset((kind.api.group, kind.api.plural) for kind in WORKLOADS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A patch of a SleepInfo. It names a kind, where a plan names a resource and its version."""

    name: str
    kind: str
    group: str
    resource: str
    version: str
    patch: Any
    known: bool  # otherwise resource and version are a guess

    def target(self, namespace: str, selector: Mapping[str, Any]) -> dict[str, Any]:
        parameters = {
            "namespace": {"literals": [namespace]},
            "apiVersion": f"{self.group}/{self.version}" if self.group else self.version,
            "resource": self.resource,
            **({"selector": dict(selector)} if selector else {}),
            "patch": self.patch,
        }
        return {"name": self.name, "type": "patches", "parameters": parameters}

    def notes(self) -> Iterator[str]:
        if not self.known:
            yield (
                f"A SleepInfo does not say the version and the plural of {self.kind}: {self.version} and "
                f"{self.resource} are a guess. Compare them with `kubectl api-resources "
                f"--api-group={self.group}`."
            )
        if (self.group, self.resource) not in _ALLOWED:
            named = f"{self.resource}.{self.group}" if self.group else self.resource
            yield f"The operator needs a role to get, list, watch and patch {named}."


def patches(draft: Draft, spec: Mapping[str, Any], sleeping: Mapping[str, str]) -> Iterator[Patch]:
    """The patches; `sleeping` has the kinds that sleep anyway, by the flags that say so."""
    for index, one in enumerate(spec.get("patches") or ()):
        path = f"spec.patches[{index}]"
        target = one.get("target") if isinstance(one, dict) else None
        kind, group = (target.get("kind"), target.get("group", "")) if isinstance(target, dict) else ("", "")
        if not isinstance(kind, str) or not kind or not isinstance(group, str):
            fix = "Write target with group and kind, and patch."
            draft.refuse(path, one, "it does not say which kind is patched", fix)
        elif flag := next((flag for flag, sleeps in sleeping.items() if sleeps == kind), ""):
            draft.refuse(
                path,
                kind,
                f"{kind}s sleep already, because {flag} is on, and an object sleeps in one way",
                f"Write {flag}: false, or remove the patch.",
            )
        elif problems := list(patch_problems(one.get("patch"), f"{path}.patch")):
            draft.problems += problems
        else:
            plural = _plural(kind.lower())
            version = BUILT_IN.get((group, plural))
            yield Patch(
                name=f"patch-{index + 1}",
                kind=kind,
                group=group,
                resource=plural,
                version=version or "v1",
                patch=one["patch"],
                known=version is not None,
            )


def _plural(word: str) -> str:
    """As most kinds are called in the plural."""
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"
