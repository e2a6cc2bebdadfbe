"""Where binaries and running control planes lie: outside every checkout, by version."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from hibernator.controlplane.versions import MODULES


def root(environment: Mapping[str, str] = os.environ) -> Path:
    """`HIBERNATOR_CACHE`, or the folder for this project in the user's cache."""
    if chosen := environment.get("HIBERNATOR_CACHE"):
        return Path(chosen).absolute() / "controlplane"
    base = environment.get("XDG_CACHE_HOME")
    # The XDG specification says that a relative path is to be ignored.
    cache = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return cache / "hibernator" / "controlplane"


def versions_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of what is built from exactly these versions for this kind of machine."""
    short = ("-".join((module.path.split("/")[1], module.version)) for module in MODULES)
    return root(environment) / "_".join((*short, platform.system().lower(), platform.machine()))


def running_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of the control plane that `up` starts when none is named."""
    return root(environment) / "up"
