"""Executors of other packages, found by their entry points in the group `hibernator.executors`.

The name of an entry point is the type of the targets, such as `lamps.example.com`; what it names is called
with the `Connectors` and gives an `Executor`. A broken plug-in concerns only targets of its type: the log,
`hibernator doctor` and the status of the plans that need it say what is wrong.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from hibernator.api.hibernateplan import PLUGIN_TYPE
from hibernator.executors.connectors import Connectors
from hibernator.executors.protocol import Executor, ExecutorError, Retryable

GROUP: Final = "hibernator.executors"

_ASYNCHRONOUS: Final = ("discover", "asleep", "sleep", "wake", "settled")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point: usable, or with the problem that makes it unusable."""

    type: str
    package: str  # with its version
    factory: Callable[[Connectors], Executor] | None = None
    problem: str = ""

    def executor(self, connectors: Connectors) -> Executor:
        """Make the executor; raises whatever the plug-in raises."""
        if self.factory is None:
            raise ValueError(self.problem)
        made = self.factory(connectors)
        if not isinstance(made, Executor):
            raise TypeError(f"it gave a {type(made).__name__}, which is no Executor")
        for name in _ASYNCHRONOUS:
            setattr(made, name, _guarded(self.type, getattr(made, name)))
        return made


def plugins() -> tuple[Plugin, ...]:
    """Every executor that other packages bring, whether it can be used or not."""
    found = sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value))
    return tuple(_loaded(found))


def _loaded(found: list[EntryPoint]) -> Iterator[Plugin]:
    times = Counter(one.name for one in found)
    for one in found:
        package = f"{one.dist.name} {one.dist.version}" if one.dist else one.value
        if not re.fullmatch(PLUGIN_TYPE, one.name):
            why = "its type has to be a lower-case name with a dot, such as lamps.example.com"
            yield Plugin(one.name, package, problem=why)
        elif times[one.name] > 1:
            yield Plugin(one.name, package, problem="several packages bring this type: uninstall all but one")
        else:
            yield _load(one, package)


def _load(one: EntryPoint, package: str) -> Plugin:
    try:
        factory = one.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is not our code, and must not stop ours
        return Plugin(one.name, package, problem=described(error))
    if not callable(factory):
        return Plugin(one.name, package, problem=f"{one.value} cannot be called with the connectors")
    return Plugin(one.name, package, factory)


def described(error: BaseException) -> str:
    """An error of a plug-in in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _guarded(type_: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def call(*arguments: Any) -> Any:
        try:
            return await method(*arguments)
        except ExecutorError:
            raise
        except Exception as error:
            raise Retryable(f"The plug-in for {type_} failed: {described(error)}.") from error

    return call
