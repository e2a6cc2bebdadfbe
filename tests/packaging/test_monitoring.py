"""Alerts and dashboard name only what the operator counts, and every alert has its runbook."""

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser as promql
import pytest
import yaml

from hibernator.kube.metrics import Metric, Metrics
from hibernator.operator.app import METRICS
from hibernator.web.app import METRICS as WEB_METRICS
from support.helm import CHART, ROOT
from tools.dashboard import ROWS

RULES = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
RUNBOOKS = (ROOT / "docs" / "runbooks.md").read_text(encoding="utf-8")
QUERIES = {
    **{alert["alert"]: alert["expr"] for alert in ALERTS},
    **{
        f"{row}, {panel.title}, {legend}": query
        for row, panels in ROWS.items()
        for panel in panels
        for legend, query in panel.queries.items()
    },
}
# Prometheus adds these to everything that it scrapes from a pod.
SCRAPED = {"pod", "job", "instance", "namespace", "service"}


def series() -> dict[str, Metric]:
    """Every name under which a metric can be asked for."""
    found: dict[str, Metric] = {}
    for metric in {*METRICS, *WEB_METRICS}:
        if metric.type == "histogram":
            bucket = metric._replace(labels=(*metric.labels, "le"))
            found |= {
                f"{metric.name}_bucket": bucket,
                f"{metric.name}_sum": metric,
                f"{metric.name}_count": metric,
            }
        else:
            found[metric.name] = metric
    return found


def parsed(query: str) -> promql.Expr:
    return promql.parse(query.replace("$__rate_interval", "5m"))


def parts(node: Any) -> Iterator[Any]:
    yield node
    for name in ("lhs", "rhs", "expr", "param", "vector_selector", "args"):
        inner = getattr(node, name, None)
        for each in inner if isinstance(inner, list) else [inner]:
            if each is not None:
                yield from parts(each)


def selectors(query: str) -> list[Any]:
    return [part for part in parts(parsed(query)) if isinstance(part, promql.VectorSelector)]


@pytest.mark.parametrize("name", QUERIES)
def test_every_metric_and_label_that_is_asked_for_exists(name: str) -> None:
    known, standard = series(), Metrics().text().decode()
    found = selectors(QUERIES[name])
    assert found, "it asks for nothing"
    labels: set[str] = set(SCRAPED)
    for selector in found:
        if selector.name.startswith("process_"):
            assert f"\n{selector.name} " in standard, selector.name
            continue
        metric = known[selector.name]
        labels |= set(metric.labels)
        for matcher in selector.matchers.matchers:
            assert matcher.name in metric.labels, f"{selector.name} has no label {matcher.name}"
    for part in parts(parsed(QUERIES[name])):
        if isinstance(part, promql.AggregateExpr) and part.modifier:
            assert set(part.modifier.labels) <= labels


@pytest.mark.parametrize("name", QUERIES)
def test_words_that_a_label_is_compared_with_are_words_that_it_can_have(name: str) -> None:
    """As far as the metric's own description lists them; HTTP status codes speak for themselves."""
    for selector in selectors(QUERIES[name]):
        for matcher in selector.matchers.matchers:
            if matcher.name not in {"code", "job"}:
                described = set(re.findall(r"`(\w+)`", series()[selector.name].help))
                assert set(matcher.value.split("|")) <= described, f"{selector.name}: {matcher.value}"


@pytest.mark.parametrize("query", [query for query in QUERIES.values() if "_total" in query])
def test_counters_are_asked_how_fast_they_grow(query: str) -> None:
    for part in parts(parsed(query)):
        if isinstance(part, promql.Call) and part.func.name in {"rate", "increase"}:
            (range_,) = part.args
            assert range_.vector_selector.name.endswith(("_total", "_bucket"))


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_every_alert_says_what_it_is_and_where_to_read_on(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert {"summary", "description", "runbook"} == set(alert["annotations"])
    assert alert["annotations"]["runbook"] == f"docs/runbooks.md#{alert['alert'].lower()}"
    assert f"\n## {alert['alert']}\n" in RUNBOOKS
    used = set(re.findall(r"\$labels\.(\w+)", json.dumps(alert["annotations"])))
    kept = {
        label
        for part in parts(parsed(alert["expr"]))
        if isinstance(part, promql.AggregateExpr) and part.modifier
        for label in part.modifier.labels
    }
    assert used <= kept, "a label that the expression does not keep would be shown as nothing"


def test_every_runbook_belongs_to_an_alert() -> None:
    assert re.findall(r"^## (\w+)$", RUNBOOKS, re.MULTILINE) == [alert["alert"] for alert in ALERTS]


def test_panels_of_the_dashboard_do_not_lie_on_each_other() -> None:
    dashboard = json.loads((CHART / "files" / "dashboard.json").read_text(encoding="utf-8"))
    cells = [
        (column, line)
        for panel in dashboard["panels"]
        for column in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for line in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
