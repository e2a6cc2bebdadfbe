"""What users wrote, as large and as odd as the API server lets it in: checking it costs next to nothing.

Whoever checks is the event loop that everybody's schedule depends on.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hibernator.api.checks import check_document
from hibernator.api.kinds import all_kinds
from hibernator.api.parameters import PARAMETERS
from hibernator.api.schema import Schema, schema_of, schema_of_object
from hibernator.api.structural import MOST_PROBLEMS, check
from support.costs import at_most

ENOUGH = 2_000_000  # lines; a tenth of a second
LARGE = 1_400_000  # bytes; etcd stores no more than a few more


def plan(target: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "HibernatePlan",
        "metadata": {"name": "nightly", "namespace": "team"},
        "spec": {
            "schedule": {
                "timezone": "UTC",
                "offHours": [{"start": "20:00", "end": "06:00", "daysOfWeek": ["MON"]}],
            },
            "targets": [{"name": "apps", "type": "noop"} | (target or {})],
        }
        | spec,
    }


def workloads(**parameters: Any) -> dict[str, Any]:
    whole = {"namespace": {"literals": ["team"]}} | parameters
    return plan({"type": "workloadscaler", "parameters": whole})


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


NAMES = [f"target-{number:03}" + "x" * 50 for number in range(100)]
TARGETS = [{"name": name, "type": "noop"} for name in NAMES]


def ordered(strategy: str, **more: Any) -> dict[str, Any]:
    return plan(targets=TARGETS, execution={"strategy": {"type": strategy, **more}})


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "unknown fields": lambda: workloads(**{f"literalz{number}": 1 for number in range(LARGE // 20)}),
    "an unknown field with a long name": lambda: workloads(**{"l" * LARGE: 1}),
    "a long list": lambda: workloads(namespace={"literals": ["team"] * (LARGE // 8)}),
    "a long list of mistakes": lambda: workloads(namespace={"literals": ["TEAM_"] * (LARGE // 8)}),
    "a long text": lambda: workloads(namespace={"literals": ["a" * LARGE + "!"]}),
    "a long duration": lambda: workloads(awaitCompletion={"timeout": "1m" * (LARGE // 2) + "x"}),
    "deep nesting": lambda: workloads(x=nested(900)),
    "dependencies on nobody": lambda: ordered(
        "DAG", dependencies=[{"from": f"a{number}", "to": f"b{number}"} for number in range(200)]
    ),
    "many circles": lambda: ordered(
        "DAG",
        dependencies=[{"from": NAMES[n % 100], "to": NAMES[(n * 7 + 1) % 100]} for n in range(200)],
    ),
    "everybody in every stage": lambda: ordered(
        "Staged", stages=[{"name": f"stage-{number}", "targets": NAMES} for number in range(20)]
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_checking_a_document_of_any_size_and_shape_takes_no_time(case: Callable[[], dict[str, Any]]) -> None:
    document = case()
    check_document(plan())  # makes the schemas
    with at_most(ENOUGH):
        problems = check_document(document)
    assert 0 < len(problems) <= MOST_PROBLEMS + 1
    assert sum(len(problem.message) + len(problem.fix) for problem in problems) < 50_000


def formed(schema: Schema) -> Iterator[Schema]:
    """Every part of a schema that asks for a form."""
    if "pattern" in schema:
        yield schema
    below = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for inner in below:
        if isinstance(inner, dict):
            yield from formed(inner)


def test_a_text_of_the_wrong_form_is_told_in_words_and_never_by_a_pattern() -> None:
    schemas = [schema_of_object(kind.type) for kind in all_kinds()]
    schemas += [schema_of(parameters) for parameters in PARAMETERS.values()]
    found = [part for schema in schemas for part in formed(schema)]
    assert len(found) > 20
    for part in found:
        problem, *_ = check({**part, "type": "string"}, "\n", "spec.field")
        assert problem.fix.endswith(".")
        assert part["pattern"] not in problem.message + problem.fix
