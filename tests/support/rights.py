"""What somebody's roles allow, and waiting for it: the API server hears of bindings a moment later."""

import time
from collections.abc import Callable

from hibernator.controlplane.cluster import Cluster, KubectlError

_DEADLINE = 60.0
_LOOK_EVERY = 0.05


def may(cluster: Cluster, namespace: str, user: str, verb: str, resource: str) -> bool:
    """Whether somebody's roles allow it; `resource` may have a name or `status` behind a slash."""
    whole, _, part = resource.partition("/")
    asked = (whole, "--subresource=status") if part == "status" else (resource,)
    try:
        cluster.kubectl("auth", "can-i", verb, *asked, "-n", namespace, as_user=user)
    except KubectlError:
        return False
    return True


def until(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _DEADLINE
    while not fact():
        if time.monotonic() > deadline:
            raise TimeoutError("it does not come true")
        time.sleep(_LOOK_EVERY)
