"""Changes one comparison, condition or number at a time and sees whether the pure tests notice.

    python -m tools.mutants --count 120 --seed 7        # a sample of all rooms
    python -m tools.mutants --only decisions/savings    # every mutant of some files

A mutant lives in memory only: a process is forked, its import of the one module gives the changed code, and
it runs those tests of `tests/decisions`, `tests/schedule` and `tests/approvals` that reach the module, the
nearest first. What no such test reaches is not changed: it is for the tests on the control plane. A survivor
is a missing assertion, or a change that changes nothing.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn

ROOT: Final = Path(__file__).parents[1]
ROOMS: Final = ("decisions", "schedule", "approvals")
ENOUGH: Final = 0.9  # of a sample must be noticed
LONGEST_SECONDS: Final = 120  # a mutant that runs so long was noticed

_COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_DECLARATIONS: Final = {"says", "TypeVar", "NewType", "Rule"}  # what they take decides nothing here


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the n-th thing in a module that can be changed, in its k-th way."""

    path: Path
    site: int
    way: int
    line: int
    words: str

    @property
    def module(self) -> str:
        return _module(self.path)

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.words}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file."""
    for site, node in enumerate(_sites(ast.parse(path.read_text()))):
        for way, changed in enumerate(_changes(node)):
            line = getattr(node, "lineno", 0)
            yield Mutant(path, site, way, line, f"{_short(node)}  ->  {_short(changed)}")


def mutated(mutant: Mutant) -> ast.Module:
    """The module with that one change."""
    tree = ast.parse(mutant.path.read_text())
    node = list(_sites(tree))[mutant.site]
    changed = list(_changes(node))[mutant.way]
    _Put(node, changed).visit(tree)
    return ast.fix_missing_locations(tree)


def survives(mutant: Mutant | None, tests: Sequence[Path]) -> bool:
    """Whether these tests pass in spite of it, or as they should without any."""
    child = os.fork()
    if not child:
        _run(mutant, tests)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def tests_of(module: str) -> list[Path]:
    """The pure tests that reach a module: those that import it themselves, then those named alike."""
    leaf = module.rpartition(".")[2]
    found = [path for path in _pure_tests() if module in _reached(path)]
    return sorted(
        found, key=lambda path: (module not in _imports(path), not path.stem.startswith(f"test_{leaf}"), path)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=120, help="how many to try (0: all)")
    parser.add_argument("--seed", type=int, default=1, help="which")
    parser.add_argument("--only", default="", help="only files whose path contains this")
    asked = parser.parse_args(arguments)
    tried = _chosen(asked.only, asked.count, asked.seed)
    if not survives(None, _pure_tests()[-1:]):
        print("the tests fail without any change: run them, and mend what they say", file=sys.stderr)  # noqa: T201
        return 2
    alive = []
    for number, mutant in enumerate(tried, 1):
        if survives(mutant, tests_of(mutant.module)):
            alive.append(mutant)
            print(f"survived  {mutant}", flush=True)  # noqa: T201 - this is what it is for
        elif sys.stderr.isatty():
            print(f"\r{number} of {len(tried)}", end="\r", file=sys.stderr, flush=True)  # noqa: T201
    killed = len(tried) - len(alive)
    print(f"{killed} of {len(tried)} mutants were noticed by the pure tests")  # noqa: T201
    return 0 if killed >= ENOUGH * len(tried) else 1


def _chosen(only: str, count: int, seed: int) -> list[Mutant]:
    files = [path for room in ROOMS for path in sorted((ROOT / "src/hibernator" / room).rglob("*.py"))]
    reached = {name for path in _pure_tests() for name in _reached(path)}
    found = [one for path in files if only in str(path) and _module(path) in reached for one in mutants(path)]
    return random.Random(seed).sample(found, min(count, len(found)) if count else len(found))


def _run(mutant: Mutant | None, tests: Sequence[Path]) -> NoReturn:
    """Run the tests in this process, which ends with it."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.chdir(ROOT)
    if mutant:
        sys.meta_path.insert(0, _Finder(mutant))
    import pytest

    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    code = pytest.main([*options, *map(str, tests)], plugins=[_Deadline()])
    os._exit(int(code))


class _Deadline:
    """Ends a run that takes too long, counted from when its tests are collected."""

    def pytest_collection(self) -> None:
        signal.alarm(LONGEST_SECONDS)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed code where the one module is imported."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, name: str, _path: object, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._mutant.module:
            return None
        return importlib.util.spec_from_file_location(name, self._mutant.path, loader=self)

    def exec_module(self, module: types.ModuleType) -> None:
        code = compile(mutated(self._mutant), str(self._mutant.path), "exec")
        exec(code, module.__dict__)  # noqa: S102 - it is our own code, but for one change


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def _sites(node: ast.AST) -> Iterator[ast.expr]:
    """What can be changed in it, outside of annotations, decorators and declarations."""
    if isinstance(node, ast.expr):
        yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        if isinstance(node, ast.ClassDef) and name == "keywords":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_declaration(child):
                yield from _sites(child)


def _is_declaration(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in _DECLARATIONS
    if isinstance(node, ast.keyword):
        return node.arg == "strict"  # of zip: its lists are as long as each other, or it is a bug elsewhere
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _changes(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                for other in _COMPARISONS[type(operator)]:
                    changed = copy.copy(node)
                    changed.ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                    yield changed
        case ast.BoolOp():
            changed_op = copy.copy(node)
            changed_op.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield changed_op
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.IfExp():
            changed_if = copy.copy(node)
            changed_if.test = ast.UnaryOp(ast.Not(), node.test)
            yield changed_if
        case ast.Constant(value=bool()):
            yield ast.copy_location(ast.Constant(not node.value), node)
        case ast.Constant(value=int() | float()):
            number: Any = node.value
            yield ast.copy_location(ast.Constant(number + 1), node)
            yield ast.copy_location(ast.Constant(number - 1), node)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) < 70 else f"{text[:66]} …"  # noqa: PLR2004 - a line on a terminal


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)


@cache
def _pure_tests() -> tuple[Path, ...]:
    return tuple(path for room in ROOMS for path in sorted((ROOT / "tests" / room).rglob("test_*.py")))


@cache
def _imports(path: Path) -> frozenset[str]:
    """The modules of ours that a file names in its imports."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    names = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
    return frozenset(name for name in names | {str(node.module) for node in nodes} if _file(name))


@cache
def _reached(path: Path) -> frozenset[str]:
    """The modules of ours that come along when a file is imported."""
    found: set[str] = set()
    todo = list(_imports(path))
    while todo:
        name = todo.pop()
        file = _file(name)
        if name not in found and file:
            found.add(name)
            todo += _imports(file)
    return frozenset(found)


@cache
def _file(module: str) -> Path | None:
    if module.partition(".")[0] in {"hibernator", *ROOMS, "support"}:
        for root in (ROOT / "src", ROOT / "tests"):
            path = (root / module.replace(".", "/")).with_suffix(".py")
            if path.is_file():
                return path
    return None


if __name__ == "__main__":
    # Whatever takes long to import and is not ours is imported once, before the first fork.
    for name in ("pytest", "msgspec", "whenever", "holidays", "aiohttp"):
        importlib.import_module(name)
    sys.exit(main())
