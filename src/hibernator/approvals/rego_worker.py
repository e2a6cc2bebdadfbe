"""The Rego engine, alone in its process: asked on stdin, answers on stdout, a line of JSON each.

Alone, because it is native code that is fed with what strangers wrote. A policy that runs for ever or takes
all memory, or an engine that crashes, ends this process and not the operator; and a policy that asks for its
environment (`opa.runtime`) finds none. Both limits count what is used here and not what the clock says or the
machine has left, so that a policy is not broken on one machine and well on another.
"""

import contextlib
import json
import math
import os
import re
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from regopy import (  # type: ignore[import-untyped]  # it comes without types
    Interpreter,
    RegoError,
    set_default_log_level,
)

_MEMORY: Final = 2**28  # bytes that a policy may take; half of what the operator's container has
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


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    compiled: Compiled | None = None
    answers.write(b"{}\n")  # ready
    answers.flush()
    for line in asked:
        request = json.loads(line)
        modules, query = request["modules"], request["query"]
        _limit_time(request["seconds"])
        try:
            if compiled is None or compiled.key != (modules, query):
                compiled = Compiled(modules, query)
            answer = compiled.ask(request["input"]) if "input" in request else {}
        except RegoError as error:
            compiled = None
            answer = {"error": explain(str(error), modules)}
        except json.JSONDecodeError as error:  # what regopy took for a result is another error
            if "bad_alloc" in error.doc:
                raise MemoryError from error  # what is left of the engine is not to be trusted
            answer = {"error": explain(error.doc, modules)}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _limit_time(seconds: int) -> None:
    """End this process by SIGXCPU when it has worked on one question for so long."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + seconds, most))


def _limit_memory() -> None:
    """Count from what is taken by now: the engine's allocator has reserved 256 GiB for an almost empty table.

    A limit below that would let nothing grow at all, and this process would end as soon as anything has to.
    """
    with contextlib.suppress(FileNotFoundError):  # only Linux tells, and only there the operator is shipped
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> None:
    _limit_memory()
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
