"""Whether the parameters of a target are those of its type, and say what they must."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from hibernator.api.parameters import PARAMETERS
from hibernator.api.parts import Document, block, entries, text, texts
from hibernator.api.problem import Problem
from hibernator.api.schema import Schema, schema_of
from hibernator.api.structural import check

_UNTOUCHABLE = "kube-system"


def check_parameters(kind: str, parameters: Document, connector: Document, path: str) -> Iterator[Problem]:
    """Check the parameters of a target of some type; of no type at all, when that is itself a mistake."""
    if kind not in PARAMETERS:
        return
    yield from check(_schema(kind), parameters, path)
    match kind:
        case "workloadscaler":
            yield from _namespaces(_selector(parameters, "namespace"), f"{path}.namespace")
            yield from _expressions(block(parameters, "workloadSelector"), f"{path}.workloadSelector")
        case "karpenter":
            yield from _some(parameters, ("nodePools", "selector"), path, "node pools")
            yield from _expressions(block(parameters, "selector"), f"{path}.selector")
        case "ec2":
            yield from _some(_selector(parameters), ("tags", "instanceIds"), f"{path}.selector", "instances")
        case "asg":
            yield from _some(_selector(parameters), ("tags", "names"), f"{path}.selector", "groups")
        case "rds":
            yield from _databases(_selector(parameters), f"{path}.selector")
        case "eks":
            yield from _cluster(parameters, ("clusterName",), connector, path)
        case "gke":
            yield from _cluster(parameters, ("clusterName", "location"), connector, path)


@cache
def _schema(kind: str) -> Schema:
    return schema_of(PARAMETERS[kind])


def _selector(parameters: Document, name: str = "selector") -> Document | None:
    """Find a required selector. Where there is none, that has already been told."""
    found = parameters.get(name)
    return found if isinstance(found, dict) else None


def _some(selector: Document | None, ways: tuple[str, ...], path: str, what: str) -> Iterator[Problem]:
    """An empty selector would mean everything there is; nobody puts that to sleep by leaving a field out."""
    if selector is not None and not any(selector.get(way) for way in ways):
        yield Problem(path, selector, f"no {what} are selected", f"Set {' or '.join(ways)}.")


def _one(selector: Document, ways: Mapping[str, Any], path: str, what: str) -> Iterator[Problem]:
    chosen = [way for way, value in ways.items() if value]
    if not chosen:
        yield Problem(path, selector, f"no {what} are selected", f"Set one of {', '.join(ways)}.")
    elif len(chosen) > 1:
        yield Problem(
            path,
            selector,
            f"{' and '.join(chosen)} exclude each other",
            "Keep one of them and remove the rest.",
        )


def _namespaces(selector: Document | None, path: str) -> Iterator[Problem]:
    if selector is None:
        return
    ways = {"literals": selector.get("literals"), "selector": selector.get("selector")}
    yield from _one(selector, ways, path, "namespaces")
    for index, name in enumerate(texts(selector, "literals")):
        if name == _UNTOUCHABLE:
            yield Problem(
                f"{path}.literals[{index}]", name, f"{_UNTOUCHABLE} is never put to sleep", "Remove it."
            )


def _expressions(selector: Document, path: str) -> Iterator[Problem]:
    for index, expression in entries(selector, "matchExpressions"):
        operator, values = text(expression, "operator"), expression.get("values")
        place = f"{path}.matchExpressions[{index}].values"
        if operator in {"In", "NotIn"} and not values:
            yield Problem(place, values, f"{operator} needs values", "List at least one value.")
        elif operator in {"Exists", "DoesNotExist"} and values:
            yield Problem(place, values, f"{operator} compares with no values", "Remove values.")


def _databases(selector: Document | None, path: str) -> Iterator[Problem]:
    if selector is None:
        return
    named = bool(selector.get("instanceIds") or selector.get("clusterIds"))
    ways = {
        "tags": selector.get("tags"),
        "excludeTags": selector.get("excludeTags"),
        "instanceIds or clusterIds": named,
        "includeAll": selector.get("includeAll"),
    }
    yield from _one(selector, ways, path, "databases")
    searched = selector.get("discoverInstances") or selector.get("discoverClusters")
    if any(ways.values()) and not named and not searched:
        yield Problem(
            path,
            selector,
            "nothing is searched for",
            "Set discoverInstances or discoverClusters, or both, to true.",
        )


def _cluster(
    parameters: Document, needed: tuple[str, ...], connector: Document, path: str
) -> Iterator[Problem]:
    """A K8SCluster knows which cluster it is; a CloudProvider has many."""
    for field in needed:
        if text(connector, "kind") == "CloudProvider" and not parameters.get(field):
            yield Problem(
                f"{path}.{field}",
                None,
                "it is missing, and a CloudProvider does not say which cluster is meant",
                f"Set {field}, or refer to a K8SCluster.",
            )
