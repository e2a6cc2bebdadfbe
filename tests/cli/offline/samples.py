"""Documents to begin from. A test changes the one thing that it is about."""

from typing import Any

import yaml

Value = dict[str, Any]


def window(**changes: Any) -> Value:
    return {"start": "20:00", "end": "06:00", "daysOfWeek": ["MON", "TUE", "WED", "THU", "FRI"]} | changes


def schedule(**changes: Any) -> Value:
    return {"timezone": "Europe/Berlin", "offHours": [window()]} | changes


def plan(name: str = "dev", **changes: Any) -> Value:
    target = {"name": "all", "type": "workloadscaler", "parameters": {"namespace": {"literals": ["a"]}}}
    return {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "HibernatePlan",
        "metadata": {"name": name},
        "spec": {"schedule": schedule(**changes), "targets": [target]},
    }


def exception(name: str = "late", *, status: Value | None = None, **changes: Any) -> Value:
    spec = {
        "planRef": {"name": "dev"},
        "type": "suspend",
        "validFrom": "2026-03-02T00:00:00Z",
        "validUntil": "2026-03-09T00:00:00Z",
        "windows": [window(start="21:00", end="23:00", daysOfWeek=["TUE"])],
    }
    whole = {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "ScheduleException",
        "metadata": {"name": name},
        "spec": spec | changes,
    }
    return whole | ({"status": status} if status else {})


def pending(name: str = "late", **changes: Any) -> Value:
    return exception(name, approvalRequired=True, approverEmails=["grace@example.com"], **changes)


def scaler(name: str = "shop", **changes: Any) -> Value:
    office = {"days": ["Mon", "Tue", "Wed", "Thu", "Fri"], "start": "08:00", "end": "20:00", "replicas": 4}
    spec = {
        "targetRef": {"kind": "Deployment", "name": "shop"},
        "timezone": "Europe/Berlin",
        "defaultReplicas": 1,
        "windows": [office],
    }
    return {
        "apiVersion": "kyklos.io/v1alpha1",
        "kind": "TimeWindowScaler",
        "metadata": {"name": name},
        "spec": spec | changes,
    }


def config_map(data: dict[str, Any], name: str = "holidays") -> Value:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def old_plan(hibernate: str = "0 20 * * 1-5", wake_up: str = "0 6 * * 2-6") -> Value:
    whole = plan()
    whole["apiVersion"] = "hibernator.ardikasaputro.io/v1alpha1"
    whole["spec"]["schedule"] = {"hibernate": hibernate, "wakeUp": wake_up, "timezone": "Asia/Jakarta"}
    return whole


def text(*documents: Value) -> str:
    return "---\n".join(yaml.safe_dump(document, sort_keys=False) for document in documents)


def read(written: str) -> list[Value]:
    return list(yaml.safe_load_all(written))
