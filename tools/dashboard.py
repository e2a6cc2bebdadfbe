"""charts/hibernator/files/dashboard.json: what Grafana shows, from a table of questions to Prometheus."""

import json
from typing import Any, Final, NamedTuple

_PER_ROW: Final = 3
_WIDTH: Final = 24 // _PER_ROW
_HEIGHT: Final = 8
_OURS: Final = '{job=~".*hibernator.*"}'  # for what every Python program has


class Panel(NamedTuple):
    title: str
    unit: str
    queries: dict[str, str]  # from legend to expression
    kind: str = "timeseries"


def _p99(metric: str, by: str) -> str:
    labels = ", ".join(filter(None, (by, "le")))
    return f"histogram_quantile(0.99, sum by ({labels}) (rate({metric}_bucket[$__rate_interval])))"


def _rate(metric: str, *by: str) -> str:
    return f"sum by ({', '.join(by)}) (rate({metric}[$__rate_interval]))"


def _saved(what: str) -> str:
    """Every replica counts the same, and the sum is over plans, not over replicas."""
    counter = f"hibernator_plan_saved_{what}_hours_total"
    return f"sum by (namespace) (max by (namespace, plan) (increase({counter}[1d])))"


ROWS: Final[dict[str, tuple[Panel, ...]]] = {
    "At a glance": (
        Panel("Replicas that lead", "none", {"": "sum(hibernator_leader)"}, "stat"),
        Panel("Audit database away", "bool_yes_no", {"": "max(hibernator_audit_database_away)"}, "stat"),
        Panel(
            "Certificate of the webhooks ends in",
            "s",
            {"": "min(hibernator_webhook_certificate_end_seconds > 0) - time()"},
            "stat",
        ),
    ),
    "Sleeping and waking": (
        Panel(
            "Operations of plans",
            "short",
            {
                "{{operation}} {{result}}": "sum by (operation, result)"
                " (increase(hibernator_plan_operations_total[$__rate_interval]))"
            },
        ),
        Panel(
            "How long they take, 99 %",
            "s",
            {"{{operation}}": _p99("hibernator_plan_operation_seconds", "operation")},
        ),
        Panel(
            "Targets that fail", "ops", {"{{type}}": _rate("hibernator_plan_target_failures_total", "type")}
        ),
        Panel(
            "Scalers: from boundary to write, 99 %", "s", {"lag": _p99("hibernator_scaler_lag_seconds", "")}
        ),
        Panel(
            "Scalers: changes",
            "ops",
            {"{{direction}}": _rate("hibernator_scaler_transitions_total", "direction")},
        ),
        Panel(
            "Scalers: degraded", "ops", {"{{reason}}": _rate("hibernator_scaler_degraded_total", "reason")}
        ),
    ),
    "Savings": (
        Panel("Core hours a day", "none", {"{{namespace}}": _saved("core")}),
        Panel("GiB hours a day", "none", {"{{namespace}}": _saved("gib")}),
        Panel("Node hours a day", "none", {"{{namespace}}": _saved("node")}),
    ),
    "Waiting for people": (
        Panel("Waiting now", "short", {"{{kind}}": "max by (kind) (hibernator_approvals_waiting)"}),
        Panel(
            "Decided",
            "short",
            {
                "{{kind}} {{verdict}}": "sum by (kind, verdict)"
                " (increase(hibernator_approvals_decided_total[$__rate_interval]))"
            },
        ),
        Panel(
            "From request to decision, median and longest wait now",
            "s",
            {
                "{{kind}} decided": "histogram_quantile(0.5, sum by (kind, le)"
                " (rate(hibernator_approval_seconds_bucket[1d])))",
                "{{kind}} waits": "max by (kind) (hibernator_approvals_oldest_seconds)",
            },
        ),
    ),
    "Reconciling": (
        Panel(
            "Reconciles",
            "ops",
            {"{{controller}} {{result}}": _rate("hibernator_reconciles_total", "controller", "result")},
        ),
        Panel(
            "How long they take, 99 %",
            "s",
            {"{{controller}}": _p99("hibernator_reconcile_seconds", "controller")},
        ),
        Panel(
            "How long objects wait, 99 %",
            "s",
            {"{{controller}}": _p99("hibernator_queue_wait_seconds", "controller")},
        ),
        Panel("Waiting now", "short", {"{{controller}}": "sum by (controller) (hibernator_queue_depth)"}),
        Panel(
            "Waiting for later", "short", {"{{controller}}": "sum by (controller) (hibernator_queue_delayed)"}
        ),
        Panel("Event loop late", "s", {"{{pod}}": "max by (pod) (hibernator_loop_lag_seconds)"}),
    ),
    "The API server": (
        Panel(
            "Requests", "reqps", {"{{verb}} {{code}}": _rate("hibernator_api_requests_total", "verb", "code")}
        ),
        Panel("How long it takes, 99 %", "s", {"{{verb}}": _p99("hibernator_api_seconds", "verb")}),
        Panel(
            "Caches: last heard",
            "s",
            {"{{resource}}": "max by (resource) (hibernator_cache_silent_seconds)"},
        ),
        Panel("Caches: objects", "short", {"{{resource}}": "max by (resource) (hibernator_cache_objects)"}),
        Panel("Lists", "ops", {"{{resource}}": _rate("hibernator_relists_total", "resource")}),
        Panel("Events not written", "ops", {"{{why}}": _rate("hibernator_events_dropped_total", "why")}),
    ),
    "Webhooks and audit trail": (
        Panel(
            "Webhook requests",
            "reqps",
            {"{{path}} {{code}}": _rate("hibernator_webhook_requests_total", "path", "code")},
        ),
        Panel("Webhooks, 99 %", "s", {"{{path}}": _p99("hibernator_webhook_seconds", "path")}),
        Panel("Audit: until durable, 99 %", "s", {"lag": _p99("hibernator_audit_lag_seconds", "")}),
        Panel(
            "Audit events",
            "ops",
            {
                "written": "sum(rate(hibernator_audit_events_written_total[$__rate_interval]))",
                "dropped": "sum(rate(hibernator_audit_events_dropped_total[$__rate_interval]))",
            },
        ),
        Panel("Memory", "bytes", {"{{pod}}": f"max by (pod) (process_resident_memory_bytes{_OURS})"}),
        Panel(
            "Processor",
            "none",
            {"{{pod}}": f"sum by (pod) (rate(process_cpu_seconds_total{_OURS}[$__rate_interval]))"},
        ),
    ),
}


def text() -> str:
    dashboard = {
        "uid": "hibernator",
        "title": "Hibernator",
        "tags": ["hibernator", "kubernetes"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-24h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
            ]
        },
        "panels": _panels(),
    }
    return json.dumps(dashboard, indent=2, ensure_ascii=False) + "\n"


def _panels() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    top = 0
    for title, panels in ROWS.items():
        place = {"x": 0, "y": top, "w": 24, "h": 1}
        made.append({"id": len(made) + 1, "type": "row", "title": title, "gridPos": place, "panels": []})
        top += 1
        for index, panel in enumerate(panels):
            row, column = divmod(index, _PER_ROW)
            place = {"x": column * _WIDTH, "y": top + row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
            made.append({"id": len(made) + 1, "gridPos": place} | _panel(panel))
        top += -(-len(panels) // _PER_ROW) * _HEIGHT
    return made


def _panel(panel: Panel) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    targets = [
        {"refId": chr(ord("A") + index), "datasource": source, "expr": expression, "legendFormat": legend}
        for index, (legend, expression) in enumerate(panel.queries.items())
    ]
    return {
        "type": panel.kind,
        "title": panel.title,
        "datasource": source,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }
