"""The annotations that controllers read. Caches keep these and no others.

Annotations may hold 262,144 bytes, and every editor of a namespace can fill them. `kubectl apply` puts the
whole manifest into one. What nobody reads is not worth the memory.
"""

from typing import Final

_DOMAIN: Final = "hibernator.ardikabs.com"

READ: Final = frozenset(
    {
        *(
            f"{_DOMAIN}/{name}"
            for name in ("asleep-by", "woken-by", "exclude", "leave-asleep", "force-awake-until")
        ),
        *(f"{_DOMAIN}/{name}" for name in ("retry", "retried-by", "changed-by")),
        *(f"{_DOMAIN}/{name}" for name in ("requested-by", "requester-claims")),
        *("kyklos.io/before", "kyklos.io/scaled", "kyklos.io/v1beta1"),
        "autoscaling.keda.sh/paused-replicas",
    }
)
