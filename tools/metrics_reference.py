"""docs/reference/metrics.md: everything that a replica counts, from the tables in the code."""

from hibernator.kube.metrics import Metric
from hibernator.operator.app import METRICS
from hibernator.web.app import METRICS as WEB_METRICS

INTRODUCTION = """\
<!-- Made from the tables of metrics in src/hibernator by `make generate`; do not edit. -->

# Metrics

Every replica serves these at `/metrics` on the port of the setting `listen`, for Prometheus, beside
`/healthz` (alive: the event loop comes round) and `/readyz` (ready: every cache is filled, and the replica is
not about to stop). A replica that stands by has `hibernator_leader 0` and reconciles nothing.

Beside them are Prometheus' usual `process_*` and `python_gc_*`: processor time, memory, open files and
garbage collections. A histogram `x` is served as `x_bucket`, `x_sum` and `x_count`; all of them measure
seconds.
"""

WEB = """\
## Of the web process

`hibernator web` serves the same three paths on the port of its setting `metricsListen`. Beside these it has
all of the above that are about caches, leases, queues and the API server.
"""


def text() -> str:
    head = "| name | type | labels | what it says |\n|---|---|---|---|\n"
    of_web = [metric for metric in WEB_METRICS if metric not in METRICS]
    parts = (INTRODUCTION, head + "".join(map(_row, METRICS)), WEB, head + "".join(map(_row, of_web)))
    return "\n".join(parts)


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.type} | {labels} | {metric.help} |\n"
