"""What the runtime counts, as one table. The reference page of metrics is written from it.

Other rooms define their own `Metric`s the same way and hand them to `Metrics` beside the runtime's. The
registry is not prometheus-client's global one: two managers in one process (every test) must not share it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge, Histogram
    from prometheus_client.core import CounterMetricFamily

# From half a millisecond, below which a reconcile that finds nothing to do stays, to a minute.
_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metric(NamedTuple):
    """One line of the table."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = _SECONDS  # of a histogram


class Sample(NamedTuple):
    """One value of a metric that is computed when someone reads it."""

    labels: tuple[str, ...]
    value: float


QUEUE_DEPTH = Metric(
    "hibernator_queue_depth", "gauge", ("controller",), "Keys that wait for a free worker right now."
)
QUEUE_DELAYED = Metric(
    "hibernator_queue_delayed",
    "gauge",
    ("controller",),
    "Keys that wait for a later moment or for a retry.",
)
QUEUE_WAIT_SECONDS = Metric(
    "hibernator_queue_wait_seconds",
    "histogram",
    ("controller",),
    "How long a key waited for a free worker once it was due.",
)
RECONCILES_RUNNING = Metric(
    "hibernator_reconciles_running", "gauge", ("controller",), "Reconciles that run right now."
)
RECONCILE_SECONDS = Metric(
    "hibernator_reconcile_seconds", "histogram", ("controller",), "How long a reconcile took."
)
RECONCILES = Metric(
    "hibernator_reconciles_total",
    "counter",
    ("controller", "result"),
    "Reconciles by how they ended: `done`, `later` (asked to look again), `conflict`, `throttled`, `fenced`, "
    "`transient`, `stalled` (needs a change first) or `fault` (an unexpected error).",
)
RECONCILE_ERRORS = Metric(
    "hibernator_reconcile_errors_total",
    "counter",
    ("controller", "error"),
    "Reconciles that raised, by the type of the error.",
)
WATCH_RESTARTS = Metric(
    "hibernator_watch_restarts_total",
    "counter",
    ("resource",),
    "Watches that ended and were opened again, whatever the reason.",
)
RELISTS = Metric(
    "hibernator_relists_total",
    "counter",
    ("resource",),
    "Full lists of a resource, the first included. Many of them are a burden for the API server.",
)
CACHE_OBJECTS = Metric("hibernator_cache_objects", "gauge", ("resource",), "Objects held in a watch cache.")
CACHE_UNDECODABLE = Metric(
    "hibernator_cache_undecodable",
    "gauge",
    ("resource",),
    "Objects left out of a watch cache, because they are not of the shape of their kind. The log says why.",
)
CACHE_SILENT_SECONDS = Metric(
    "hibernator_cache_silent_seconds",
    "gauge",
    ("resource",),
    "How long ago a watch cache last got an answer of the API server. Above two minutes, it is out of touch.",
)
API_REQUESTS = Metric(
    "hibernator_api_requests_total",
    "counter",
    ("verb", "resource", "code"),
    "Requests to the API server by HTTP status; `none` when no answer came.",
)
API_SECONDS = Metric(
    "hibernator_api_seconds",
    "histogram",
    ("verb", "resource"),
    "How long the API server took to answer. Watches count up to their first byte.",
)
EVENTS_WRITTEN = Metric(
    "hibernator_events_written_total", "counter", (), "Kubernetes Events created or counted up."
)
EVENTS_DROPPED = Metric(
    "hibernator_events_dropped_total",
    "counter",
    ("why",),
    "Kubernetes Events not written: `full` (too many waited while the API server was away), `spam` (too many "
    "about one object) or `refused` (the API server said no).",
)
LEADER = Metric("hibernator_leader", "gauge", (), "1 while this replica leads, 0 while it stands by.")
LEASE_REQUESTS = Metric(
    "hibernator_lease_requests_total",
    "counter",
    ("result",),
    "Attempts to take or renew the lease: `held`, `waiting` (another replica holds it) or `failed`.",
)
WRITES_FENCED = Metric(
    "hibernator_writes_fenced_total",
    "counter",
    (),
    "Writes not started, because this replica could no longer prove that it leads.",
)
LOOP_LAG_SECONDS = Metric(
    "hibernator_loop_lag_seconds",
    "gauge",
    (),
    "How late the last heartbeat of the event loop came. Above a second, something blocks it.",
)

RUNTIME: Final = (
    QUEUE_DEPTH,
    QUEUE_DELAYED,
    QUEUE_WAIT_SECONDS,
    RECONCILES_RUNNING,
    RECONCILE_SECONDS,
    RECONCILES,
    RECONCILE_ERRORS,
    WATCH_RESTARTS,
    RELISTS,
    CACHE_OBJECTS,
    CACHE_UNDECODABLE,
    CACHE_SILENT_SECONDS,
    API_REQUESTS,
    API_SECONDS,
    EVENTS_WRITTEN,
    EVENTS_DROPPED,
    LEADER,
    LEASE_REQUESTS,
    WRITES_FENCED,
    LOOP_LAG_SECONDS,
)


class _Computed:
    """A collector, as prometheus-client calls what it asks on each reading."""

    def __init__(self, metric: Metric, samples: Callable[[], Iterable[Sample]]) -> None:
        self._metric = metric
        self._samples = samples

    def describe(self) -> "Iterator[CounterMetricFamily]":
        """Its name, so that no other metric takes it, and without the cost of its values."""
        yield self._family()

    def collect(self) -> "Iterator[CounterMetricFamily]":
        family = self._family()
        for labels, value in self._samples():
            family.add_metric(labels, value)
        yield family

    def _family(self) -> "CounterMetricFamily":
        from prometheus_client.core import CounterMetricFamily

        return CounterMetricFamily(self._metric.name, self._metric.help, labels=self._metric.labels)


M = TypeVar("M", "Counter", "Gauge", "Histogram")


class Metrics:
    """Every metric of a table in a registry of its own, addressed by its line in the table."""

    def __init__(self, table: Iterable[Metric] = RUNTIME) -> None:
        # Only here, because a command that counts nothing should not wait for it.
        from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector

        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        # By name, because a text remembers its hash and a line of the table does not.
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, Gauge] = {}
        self._histograms: dict[str, Histogram] = {}
        self._children: dict[tuple[str, ...], Any] = {}
        for metric in table:
            self._add(metric)

    def _add(self, metric: Metric) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        name, kind, labels, words, buckets = metric
        if kind == "counter":
            self._counters[name] = Counter(name, words, labels, registry=self._registry)
        elif kind == "gauge":
            self._gauges[name] = Gauge(name, words, labels, registry=self._registry)
        else:
            self._histograms[name] = Histogram(name, words, labels, registry=self._registry, buckets=buckets)

    def count(self, metric: Metric, *labels: str, by: float = 1) -> None:
        self._labelled(self._counters, metric.name, labels).inc(by)

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        self._labelled(self._gauges, metric.name, labels).set(value)

    def follow(self, metric: Metric, value: Callable[[], float], *labels: str) -> None:
        """Let a gauge ask for its value when someone reads it, which costs nothing until then."""
        self._labelled(self._gauges, metric.name, labels).set_function(value)

    def compute(self, metric: Metric, samples: Callable[[], Iterable[Sample]]) -> None:
        """Let a counter be what `samples` say at the moment, for what is written down elsewhere anyway."""
        self._registry.unregister(self._counters.pop(metric.name))
        self._registry.register(_Computed(metric, samples))

    def observe(self, metric: Metric, seconds: float, *labels: str) -> None:
        self._labelled(self._histograms, metric.name, labels).observe(seconds)

    def _labelled(self, families: Mapping[str, M], name: str, labels: tuple[str, ...]) -> M:
        """The one with these labels, remembered: prometheus-client takes longer to find it than to count."""
        if not labels:
            return families[name]
        key = (name, *labels)
        found: M | None = self._children.get(key)
        if found is None:
            found = self._children[key] = families[name].labels(*labels)
        return found

    def value(self, metric: Metric, *labels: str) -> float:
        """The present value: of a histogram, how many observations it has seen."""
        name = f"{metric.name}_count" if metric.type == "histogram" else metric.name
        value = self._registry.get_sample_value(name, dict(zip(metric.labels, labels, strict=True)))
        return value or 0.0

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry)
