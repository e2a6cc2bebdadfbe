"""What a control plane is made of: pinned tags of public Go modules, and which binary comes from which.

A module's staging modules are not listed here: the builder reads them from the module's own go.mod.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hibernator.controlplane.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KUBECTL,
    KWOK,
    SCHEDULER,
)

# ValidatingAdmissionPolicies are stable from here on.
OLDEST_KUBERNETES = (1, 30)
OLDEST_ETCD = (3, 5)
# What the go.mod files of the modules below ask for.
OLDEST_GO = (1, 26)

_BASE = (ETCD, API_SERVER, CONTROLLER_MANAGER, KUBECTL)
_FOR_NODES = (SCHEDULER, KWOK)
# What kwok does with nodes and Pods; one file, kept next to the binaries.
STAGES = "kwok-stages.yaml"


@dataclass(frozen=True, slots=True)
class Module:
    """A Go module and the binaries that are built from it."""

    path: str
    version: str
    packages: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)
    # Folders of the module whose YAML files make up STAGES.
    stages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def tag_flags(self) -> tuple[str, ...]:
        """What the go command gets of the tags."""
        return ("-tags", ",".join(self.tags)) if self.tags else ()


_KUBERNETES = "1.36.3"
_COMPONENT = "k8s.io/component-base/version."

# Small ones first, so that something is there soon.
MODULES = (
    Module("go.etcd.io/etcd/server/v3", "v3.6.16", {ETCD: "go.etcd.io/etcd/server/v3"}),
    Module(
        "k8s.io/kubernetes",
        f"v{_KUBERNETES}",
        {
            name: f"k8s.io/kubernetes/cmd/{name}"
            for name in (API_SERVER, CONTROLLER_MANAGER, KUBECTL, SCHEDULER)
        },
        {
            f"{_COMPONENT}gitVersion": f"v{_KUBERNETES}",
            f"{_COMPONENT}gitMajor": _KUBERNETES.split(".", maxsplit=1)[0],
            f"{_COMPONENT}gitMinor": _KUBERNETES.split(".")[1],
        },
    ),
    Module(
        "sigs.k8s.io/kwok",
        "v0.8.0",
        {KWOK: "sigs.k8s.io/kwok/cmd/kwok"},
        stages=tuple(f"kustomize/stage/{name}" for name in ("node/fast", "node/heartbeat", "pod/fast")),
    ),
)


def needed(*, nodes: bool) -> tuple[str, ...]:
    """The binaries of a control plane, with or without made-up nodes."""
    return (*_BASE, *_FOR_NODES) if nodes else _BASE
