"""Builders and strategies for scalers in both versions, as JSON."""

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WEEKDAYS = list(DAYS[:5])


def alpha(*windows: Json, annotations: dict[str, str] | None = None, **spec: Any) -> Json:
    return _scaler("kyklos.io/v1alpha1", windows, annotations, spec)


def beta(*windows: Json, annotations: dict[str, str] | None = None, **spec: Any) -> Json:
    return _scaler("kyklos.io/v1beta1", windows, annotations, spec)


def _scaler(api_version: str, windows: tuple[Json, ...], annotations: Any, spec: Json) -> Json:
    metadata: Json = {"name": "shop", "namespace": "default", "uid": "0b7f"}
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": api_version,
        "kind": "TimeWindowScaler",
        "metadata": metadata,
        "spec": {
            "targetRef": {"kind": "Deployment", "name": "shop"},
            "timezone": "Europe/Berlin",
            "windows": list(windows),
            **spec,
        },
    }


def window(start: str = "09:00", end: str = "17:00", *, days: list[str] | None = None, **parts: Any) -> Json:
    return {"days": days or WEEKDAYS, "start": start, "end": end, **parts}


def measured(*, least: int = 1, most: int = 8, query: str = "sum(queue_length)") -> Json:
    return {
        "prometheus": {"serverAddress": "http://prometheus.monitoring:9090", "query": query},
        "min": least,
        "max": most,
    }


counts = st.integers(0, 5)
shares = st.integers(0, 1000).map(lambda percent: f"{percent}%")
times = st.sampled_from([f"{hour:02}:{minute:02}" for hour in (0, 8, 9, 17, 23) for minute in (0, 59)])
zones = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Tokyo"])
days = st.lists(st.sampled_from(DAYS), min_size=1, max_size=3, unique=True)
externals = st.builds(
    lambda least, more, query: measured(least=least, most=least + more, query=query),
    counts,
    counts,
    st.text(min_size=1, max_size=20),
)
# Few values, so that windows are often alike in v1alpha1 and differ only in what it does not show.
alpha_windows = st.fixed_dictionaries({"days": days, "start": times, "end": times, "replicas": counts})
_when = {"days": days, "start": times, "end": times}
beta_windows = st.one_of(
    st.fixed_dictionaries({**_when, "replicas": counts | shares}, optional={"timezone": zones}),
    st.fixed_dictionaries({**_when, "external": externals}, optional={"timezone": zones}),
)
targets = st.fixed_dictionaries(
    {"kind": st.sampled_from(["Deployment", "StatefulSet", "DaemonSet", "Rollout"]), "name": st.just("shop")},
    optional={"apiVersion": st.sampled_from(["apps/v1", "argoproj.io/v1alpha1"])},
)
_metadata = st.fixed_dictionaries(
    {"name": st.just("shop"), "namespace": st.just("default"), "uid": st.uuids().map(str)},
    optional={
        "annotations": st.dictionaries(st.sampled_from(["a", "b"]), st.text(max_size=5), min_size=1),
        "labels": st.just({"team": "shop"}),
        "managedFields": st.just([{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]),
    },
)


def _objects(api_version: str, windows: Any, default: Any) -> st.SearchStrategy[Json]:
    spec = st.fixed_dictionaries(
        {
            "targetRef": targets,
            "timezone": zones,
            "windows": st.lists(windows, min_size=1, max_size=6),
        },
        optional={"defaultReplicas": default, "pause": st.booleans(), "gracePeriodSeconds": counts},
    )
    return st.fixed_dictionaries(
        {
            "apiVersion": st.just(api_version),
            "kind": st.just("TimeWindowScaler"),
            "metadata": _metadata,
            "spec": spec,
        },
        optional={"status": st.just({"effectiveReplicas": 0, "lastScaleTime": "2026-03-02T08:00:00Z"})},
    )


alphas = _objects("kyklos.io/v1alpha1", alpha_windows, counts)
betas = _objects("kyklos.io/v1beta1", beta_windows, counts | shares)
