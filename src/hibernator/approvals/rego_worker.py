"""The Rego engine, alone in its process (`kube.child`): native code that is fed with what strangers wrote.

A policy that runs for ever or takes all memory, or an engine that crashes, ends this process and not the
operator; and a policy that asks for its environment (`opa.runtime`) finds none.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from regopy import (  # type: ignore[import-untyped]  # it comes without types
    Interpreter,
    RegoError,
    set_default_log_level,
)

from hibernator.kube.child_worker import run

# `(error 11:policy.rego|24|2 (errormsg 27:Invalid assignment operator) …`: lengths, texts and an offset.
# Name and offset are missing where it is about no place in a module.
_ERROR: Final = re.compile(r"\(error(?: \d+:([^|()]*)\|(\d+)\|\d+)?\s*\(errormsg (\d+):")


class Compiled:
    """The modules that were last asked about, ready to be asked again."""

    def __init__(self, modules: Mapping[str, str], query: str) -> None:
        self.key = (dict(modules), query)
        self._engine = Interpreter()
        for name, text in modules.items():
            self._engine.add_module(name, text)
        self._bundle = self._engine.build(f"answer = {query}")

    def ask(self, given: Any) -> dict[str, Any]:
        self._engine.set_input(given)
        output = self._engine.query_bundle(self._bundle)
        if not output.ok():
            return {"error": "the rules contradict each other, or a rule failed, for this input"}
        found = output.results[0].bindings if len(output) else {}
        return {"answer": found["answer"]} if "answer" in found else {}


def explain(error: str, modules: Mapping[str, str]) -> str:
    """The engine's first complaint, with the line that it is about."""
    found = _ERROR.search(error)
    if not found:
        return error[:500]
    name, length = found[1], int(found[3])
    message = error[found.end() : found.end() + length]
    if name not in modules:
        return message
    line = modules[name].encode()[: int(found[2])].count(b"\n") + 1
    return f"{name}, line {line}: {message}"


def main() -> None:
    compiled: Compiled | None = None

    def answer(question: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal compiled
        modules, query = question["modules"], question["query"]
        try:
            if compiled is None or compiled.key != (modules, query):
                compiled = Compiled(modules, query)
            return compiled.ask(question["input"]) if "input" in question else {}
        except RegoError as error:
            compiled = None
            return {"error": explain(str(error), modules)}
        except json.JSONDecodeError as error:  # what regopy took for a result is another error
            if "bad_alloc" in error.doc:
                raise MemoryError from error  # what is left of the engine is not to be trusted
            return {"error": explain(error.doc, modules)}

    set_default_log_level("none")
    run(answer)


if __name__ == "__main__":
    main()
