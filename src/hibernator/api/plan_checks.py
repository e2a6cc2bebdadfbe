"""What must fit together in a HibernatePlan: targets, their connectors, and the order of the work.

The same as the rules of the CRD, and what CEL cannot say: that dependencies do not run in a circle, and that
the parameters of a target are those of its type.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise
from typing import Any

from hibernator.api.hibernateplan import CLOUD_CLUSTERS, IN_ACCOUNTS, IN_CLUSTERS
from hibernator.api.parameters import PARAMETERS
from hibernator.api.patching import MOST_NAMESPACES, group_of, patch_problems, refusal
from hibernator.api.planstatus import LONGEST_NAME
from hibernator.api.problem import Problem
from hibernator.api.schema import Schema, schema_of
from hibernator.api.structural import MOST_PROBLEMS, check

Document = dict[str, Any]


def block(document: Any, *path: str) -> Document:
    """Find a block of fields; an empty one where there is none."""
    found = _find(document, path)
    return found if isinstance(found, dict) else {}


def entries(document: Any, *path: str) -> Iterator[tuple[int, Document]]:
    """Find the blocks of a list, with their places in it."""
    found = _find(document, path)
    for index, entry in enumerate(found if isinstance(found, list) else ()):
        if isinstance(entry, dict):
            yield index, entry


def texts(document: Any, *path: str) -> list[str]:
    """Find the texts of a list."""
    found = _find(document, path)
    return [entry for entry in found if isinstance(entry, str)] if isinstance(found, list) else []


def text(document: Any, *path: str) -> str:
    """Find a text; an empty one where there is none."""
    found = _find(document, path)
    return found if isinstance(found, str) else ""


def _find(document: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


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
        case "patches":
            yield from _namespaces(_selector(parameters, "namespace"), f"{path}.namespace")
            yield from _expressions(block(parameters, "selector"), f"{path}.selector")
            yield from _patches(parameters, path)
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
    """Find a required selector. Where there is none, that has already been reported."""
    found = parameters.get(name)
    return found if isinstance(found, dict) else None


def _some(selector: Document | None, ways: tuple[str, ...], path: str, what: str) -> Iterator[Problem]:
    """An empty selector selects everything: a field that was left out must not put all to sleep."""
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


def _patches(parameters: Document, path: str) -> Iterator[Problem]:
    group, resource = group_of(text(parameters, "apiVersion")), text(parameters, "resource")
    if resource and (why := refusal(group, resource)):
        named = f"{resource}.{group}" if group else resource
        yield Problem(
            f"{path}.resource", resource, f"{named} are not patched: {why}", "Name another resource."
        )
    if (patch := parameters.get("patch")) is not None:
        yield from patch_problems(patch, f"{path}.patch")


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


_STRATEGY = "spec.execution.strategy"
_MOST_NAMED = 10


def check_plan(document: Document) -> Iterator[Problem]:
    """What does not fit together; no more of it than people read."""
    return islice(_everything(document), MOST_PROBLEMS)


def _everything(document: Document) -> Iterator[Problem]:
    name = text(document, "metadata", "name")
    if len(name) > LONGEST_NAME:
        yield Problem(
            "metadata.name",
            name,
            f"it is {len(name)} characters long, and exceptions carry it as a label",
            f"Keep it to {LONGEST_NAME}.",
        )
    for index, target in entries(document, "spec", "targets"):
        yield from _target(target, f"spec.targets[{index}]")
    yield from _patched_namespaces(document)
    strategy = block(document, "spec", "execution", "strategy")
    targets = [text(target, "name") for _, target in entries(document, "spec", "targets")]
    yield from _shape(strategy)
    if any(targets):  # otherwise the schema says why there are none
        yield from _dependencies(strategy, targets)
        yield from _stages(strategy, targets)


def _target(target: Document, path: str) -> Iterator[Problem]:
    kind, connector = text(target, "type"), block(target, "connectorRef")
    if kind in IN_ACCOUNTS + CLOUD_CLUSTERS and not connector:
        wanted = "CloudProvider or a K8SCluster" if kind in CLOUD_CLUSTERS else "CloudProvider"
        yield Problem(
            f"{path}.connectorRef",
            None,
            f"a target of type {kind} is reached through a {wanted}",
            "Add connectorRef with kind and name.",
        )
    wanted = "CloudProvider" if kind in IN_ACCOUNTS else "K8SCluster" if kind in IN_CLUSTERS else ""
    if wanted and text(connector, "kind") in {"CloudProvider", "K8SCluster"} - {wanted}:
        yield Problem(
            f"{path}.connectorRef.kind",
            connector["kind"],
            f"a target of type {kind} is reached through a {wanted}",
            f"Refer to a {wanted}.",
        )
    if kind == "patches" and connector:
        yield Problem(
            f"{path}.connectorRef",
            connector,
            "a target of type patches works in the operator's own cluster",
            "Remove connectorRef. In another cluster, let an operator there do it.",
        )
    yield from check_parameters(kind, block(target, "parameters"), connector, f"{path}.parameters")


def _patched_namespaces(document: Document) -> Iterator[Problem]:
    named = [
        name
        for _, target in entries(document, "spec", "targets")
        if text(target, "type") == "patches"
        for name in texts(target, "parameters", "namespace", "literals")
    ]
    if len(named) > MOST_NAMESPACES:
        yield Problem(
            "spec.targets",
            len(named),
            f"targets of type patches name {len(named)} namespaces, for each of which rights are asked",
            f"Keep them to {MOST_NAMESPACES} in one plan, or select namespaces by label.",
        )


def _shape(strategy: Document) -> Iterator[Problem]:
    kind = text(strategy, "type") or "Sequential"
    for field, needed in (("dependencies", "DAG"), ("stages", "Staged")):
        if strategy.get(field) and kind != needed:
            yield Problem(
                f"{_STRATEGY}.{field}",
                strategy[field],
                f"the strategy {kind} has no {field}",
                f"Write type: {needed}, or remove {field}.",
            )
    if kind == "Staged" and not strategy.get("stages"):
        yield Problem(
            f"{_STRATEGY}.stages", None, "the strategy Staged needs stages", "List the stages in their order."
        )


def _dependencies(strategy: Document, targets: list[str]) -> Iterator[Problem]:
    edges: set[tuple[str, str]] = set()
    for index, dependency in entries(strategy, "dependencies"):
        path = f"{_STRATEGY}.dependencies[{index}]"
        ends = text(dependency, "from"), text(dependency, "to")
        for field, name in zip(("from", "to"), ends, strict=True):
            if name and name not in targets:
                yield _no_such_target(f"{path}.{field}", name, targets)
        if ends[0] and ends[0] == ends[1]:
            yield Problem(
                f"{path}.to", ends[1], "a target cannot wait for itself", "Name another target, or remove it."
            )
        elif all(ends):
            edges.add(ends)
    yield from _circles(edges)


def _circles(edges: set[tuple[str, str]]) -> Iterator[Problem]:
    """Find circles one by one, each time without the edges of those before."""
    while True:
        order: TopologicalSorter[str] = TopologicalSorter()
        for before, after in sorted(edges):
            order.add(after, before)
        try:
            order.prepare()
        except CycleError as error:
            names = _from_the_first(error.args[1])
            circle = " → ".join(names)
            yield Problem(
                f"{_STRATEGY}.dependencies",
                circle,
                f"these targets wait for each other in a circle: {circle}",
                "Remove one of these dependencies.",
            )
            edges = edges - set(pairwise(names))
        else:
            return


def _from_the_first(circle: list[str]) -> list[str]:
    """Begin a circle, whose first name is also its last, with the name that comes first in the alphabet."""
    start = circle.index(min(circle))
    return [*circle[start:-1], *circle[: start + 1]]


def _stages(strategy: Document, targets: list[str]) -> Iterator[Problem]:
    home: dict[str, str] = {}
    for index, stage in entries(strategy, "stages"):
        stage_name = text(stage, "name")
        for position, name in enumerate(texts(stage, "targets")):
            path = f"{_STRATEGY}.stages[{index}].targets[{position}]"
            if name not in targets:
                yield _no_such_target(path, name, targets)
            if home.setdefault(name, stage_name) != stage_name:
                yield Problem(
                    path,
                    name,
                    f"{name} is already in the stage {home[name]}",
                    "Keep each target in exactly one stage.",
                )
    missing = [name for name in targets if name and name not in home]
    if home and missing:
        yield Problem(
            f"{_STRATEGY}.stages",
            missing,
            f"no stage has {', '.join(missing)}",
            "Put each target into exactly one stage.",
        )


def _no_such_target(path: str, name: str, targets: list[str]) -> Problem:
    known = ", ".join([target for target in targets if target][:_MOST_NAMED])
    known += ", …" if len(targets) > _MOST_NAMED else ""
    return Problem(path, name, f"this plan has no target {name}", f"Its targets are {known}.")
