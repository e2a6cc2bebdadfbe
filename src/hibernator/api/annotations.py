"""The annotations that controllers read. Caches keep these and no others.

Annotations may hold 262,144 bytes, and every editor of a namespace can fill them. `kubectl apply` puts the
whole manifest into one. Annotations that no controller reads are not worth the memory.
"""

from typing import Final

from hibernator.api.kind import DOMAIN

READ: Final = frozenset(
    {
        *(
            f"{DOMAIN}/{name}"
            for name in ("asleep-by", "woken-by", "exclude", "leave-asleep", "force-awake-until")
        ),
        *(f"{DOMAIN}/{name}" for name in ("retry", "retried-by", "changed-by", "carried-out")),
        *(f"{DOMAIN}/{name}" for name in ("requested-by", "requester-claims", "requester-groups")),
        *("kyklos.io/before", "kyklos.io/scaled", "kyklos.io/v1beta1"),
        "autoscaling.keda.sh/paused-replicas",
    }
)
