"""The Rego engine, alone in its process: asked on stdin, answers on stdout, a line of JSON each.

Alone, because it is native code that is fed with what strangers wrote. A policy that runs for ever or takes
all memory, or an engine that crashes, ends this process and not the operator; and a policy that asks for its
environment (`opa.runtime`) finds none.
"""

import json
import os
import re
import resource
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO, Final

from regopy import (  # type: ignore[import-untyped]  # it comes without types
    Interpreter,
    RegoError,
    set_default_log_level,
)

_MEMORY: Final = 2**30
# `(error 11:policy.rego|24|2 (errormsg 27:Invalid assignment operator) …`: lengths, texts and an offset.
_ERROR: Final = re.compile(r"\(error \d+:([^|()]*)\|(\d+)\|\d+\s*\(errormsg (\d+):")


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
    name, offset, length = found[1], int(found[2]), int(found[3])
    message = error[found.end() : found.end() + length]
    if name not in modules:
        return message
    line = modules[name].encode()[:offset].count(b"\n") + 1
    return f"{name}, line {line}: {message}"


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    compiled: Compiled | None = None
    answers.write(b"{}\n")  # ready
    answers.flush()
    for line in asked:
        request = json.loads(line)
        modules, query = request["modules"], request["query"]
        try:
            if compiled is None or compiled.key != (modules, query):
                compiled = Compiled(modules, query)
            answer = compiled.ask(request["input"]) if "input" in request else {}
        except RegoError as error:
            compiled = None
            answer = {"error": explain(str(error), modules)}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    set_default_log_level("none")
    # The engine writes to the standard streams when it likes; what it says there is no answer.
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
