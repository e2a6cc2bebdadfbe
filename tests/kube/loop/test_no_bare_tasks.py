"""No task outlives the function that started it: tasks belong to a TaskGroup, everywhere in the source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "hibernator"

# Those that are not in a group, and why nothing runs on all the same.
NAMED = {
    "audit/trail.py: shield": "a future that the loop of the trail completes, and no task of its own",
    "executors/gcp/googleauth.py: create_task": "belongs to the group of the fetch that it is handed",
    "kube/serving.py: ensure_future": "serves on while it is asked to stop, and is awaited in a `finally`",
    "kube/serving.py: shield": "the same one",
}

_BARE = {"as_completed", "ensure_future", "gather", "run_coroutine_threadsafe", "shield"}
_STARTS = _BARE | {"create_task"}


def bare(text: str) -> Iterator[str]:
    """What starts a task without a group around it, by name."""
    tree = ast.parse(text)
    groups = set(_groups(tree))
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="asyncio", names=names):
                yield from (one.name for one in names if one.name in _STARTS)
            case ast.Call(func=ast.Attribute(attr=name, value=owner)) if name in _BARE:
                if ast.unparse(owner) == "self":  # a method of ours
                    continue
                yield name
            case ast.Call(func=ast.Attribute(attr="Task", value=ast.Name(id="asyncio"))):
                yield "Task"
            case ast.Call(func=ast.Attribute(attr="create_task", value=ast.Name(id=owner))):
                if owner not in groups:
                    yield "create_task"
            case ast.Call(func=ast.Attribute(attr="create_task")):
                yield "create_task"


def _groups(tree: ast.AST) -> Iterator[str]:
    """The names of task groups: what `async with` makes, and parameters of that type."""
    for node in ast.walk(tree):
        match node:
            case ast.withitem(context_expr=ast.Call(func=made), optional_vars=ast.Name(id=name)):
                if ast.unparse(made) == "asyncio.TaskGroup":
                    yield name
            case ast.arg(arg=name, annotation=ast.expr() as type_):
                if ast.unparse(type_) == "asyncio.TaskGroup":
                    yield name


def test_every_task_belongs_to_a_group_but_for_a_named_few() -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        for name in bare(path.read_text(encoding="utf-8"))
    }
    assert found == set(NAMED)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("asyncio.create_task(x())", ["create_task"]),
        ("task = asyncio.get_running_loop().create_task(x())", ["create_task"]),
        ("self._loop.create_task(x())", ["create_task"]),
        ("await asyncio.gather(x(), y())", ["gather"]),
        ("asyncio.ensure_future(x())", ["ensure_future"]),
        ("from asyncio import gather", ["gather"]),
        ("await asyncio.shield(x())", ["shield"]),
        ("asyncio.Task(x())", ["Task"]),
        ("async def f():\n  async with asyncio.TaskGroup() as group:\n    group.create_task(x())", []),
        ("def f(group: asyncio.TaskGroup):\n  group.create_task(x())", []),
        ("def f(group):\n  group.create_task(x())", ["create_task"]),
    ],
)
def test_a_task_without_a_group_is_found_in_each_of_its_forms(text: str, expected: list[str]) -> None:
    assert list(bare(text)) == expected
