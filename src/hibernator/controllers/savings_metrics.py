"""What plans have saved, as counters that grow while they sleep.

Computed from the status when somebody reads it: so it is right in the middle of a night, in every replica and
after a restart, and needs no write.
"""

from collections.abc import Callable, Iterator
from typing import Final

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.planstatus import Savings
from hibernator.controllers.means import Means
from hibernator.decisions.hibernateplan_status import saved_by
from hibernator.kube.metrics import Metric, Sample

_LABELS: Final = ("namespace", "plan")
CORE_HOURS = Metric(
    "hibernator_plan_saved_core_hours_total",
    "counter",
    _LABELS,
    "Hours of CPU cores not used while a HibernatePlan slept, by what its items ask for when awake.",
)
GIB_HOURS = Metric(
    "hibernator_plan_saved_gib_hours_total",
    "counter",
    _LABELS,
    "Hours of GiB of memory not used while a HibernatePlan slept.",
)
NODE_HOURS = Metric(
    "hibernator_plan_saved_node_hours_total",
    "counter",
    _LABELS,
    "Hours of machines not used while a HibernatePlan slept.",
)
METRICS: Final = (CORE_HOURS, GIB_HOURS, NODE_HOURS)
_PARTS: Final[tuple[tuple[Metric, Callable[[Savings], float | None]], ...]] = (
    (CORE_HOURS, lambda saved: saved.cpu_core_hours),
    (GIB_HOURS, lambda saved: saved.memory_gib_hours),
    (NODE_HOURS, lambda saved: saved.node_hours),
)


def show_savings(means: Means) -> None:
    """Let whoever reads the metrics see what the plans in the cache have saved by then."""
    plans = means.caches.of(PLANS)

    def samples(part: Callable[[Savings], float | None]) -> Callable[[], Iterator[Sample]]:
        def now() -> Iterator[Sample]:
            moment = means.clock.now()
            for plan in plans.values():
                if saved := saved_by(plan.status, moment):
                    yield Sample(_labels(plan), part(saved) or 0.0)

        return now

    for metric, part in _PARTS:
        means.metrics.compute(metric, samples(part))


def _labels(plan: HibernatePlan) -> tuple[str, str]:
    return plan.metadata.namespace, plan.metadata.name
