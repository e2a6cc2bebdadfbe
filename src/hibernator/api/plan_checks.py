"""What must fit together in a HibernatePlan: targets, their connectors, and the order of the work.

The same as the rules of the CRD, and what CEL cannot say: that dependencies do not run in a circle, and that
the parameters of a target are those of its type.
"""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise

from hibernator.api.parameter_checks import check_parameters
from hibernator.api.parts import Document, block, entries, text, texts
from hibernator.api.planstatus import LONGEST_NAME
from hibernator.api.problem import Problem
from hibernator.api.structural import MOST_PROBLEMS

_STRATEGY = "spec.execution.strategy"
_ACCOUNTS = frozenset({"ec2", "asg", "rds", "cloudsql"})
_CLOUD_CLUSTERS = frozenset({"eks", "gke"})
_MOST_NAMED = 10
_IN_CLUSTERS = frozenset({"workloadscaler", "karpenter"})


def check_plan(document: Document) -> Iterator[Problem]:
    """Tell what does not fit together: as much of it as anybody reads."""
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
    strategy = block(document, "spec", "execution", "strategy")
    targets = [text(target, "name") for _, target in entries(document, "spec", "targets")]
    yield from _shape(strategy)
    yield from _dependencies(strategy, targets)
    yield from _stages(strategy, targets)


def _target(target: Document, path: str) -> Iterator[Problem]:
    kind, connector = text(target, "type"), block(target, "connectorRef")
    if kind in _ACCOUNTS | _CLOUD_CLUSTERS and not connector:
        wanted = "CloudProvider or a K8SCluster" if kind in _CLOUD_CLUSTERS else "CloudProvider"
        yield Problem(
            f"{path}.connectorRef",
            None,
            f"a target of type {kind} is reached through a {wanted}",
            "Add connectorRef with kind and name.",
        )
    wanted = "CloudProvider" if kind in _ACCOUNTS else "K8SCluster" if kind in _IN_CLUSTERS else ""
    if wanted and text(connector, "kind") in {"CloudProvider", "K8SCluster"} - {wanted}:
        yield Problem(
            f"{path}.connectorRef.kind",
            connector["kind"],
            f"a target of type {kind} is reached through a {wanted}",
            f"Refer to a {wanted}.",
        )
    yield from check_parameters(kind, block(target, "parameters"), connector, f"{path}.parameters")


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
