"""Asks a Rego policy, in a process of its own, and never waits for ever.

It lives beside people and channels and not among the decisions, although an answer follows from policy and
input alone: there is a process to start and to end. What an answer means is decided in `decisions.rego`.
"""

import asyncio
import contextlib
import json
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from typing import Any, Final, Self

import msgspec
import structlog

from hibernator.decisions.rego import QUERY, SUFFIX, Answer, Broken, read_answer

_log: Final = structlog.get_logger(__name__)

_START: Final = 60.0  # real seconds; Python starts slowly where much else is started
_PATIENCE: Final = 5  # seconds of computing for an answer that takes a fraction of a millisecond
_LONGEST: Final = 60.0  # real seconds in which a busy machine must have let it compute that much
_LAST_WORDS: Final = 5.0  # real seconds for an engine that ends by itself to do so
_LONGEST_LINE: Final = 2**20  # bytes of an answer, which takes hundreds
_TRIES: Final = 3  # the engine may have died of what it was asked before, so a new one is asked the same
_CRASHED: Final = "The Rego engine ended over it, perhaps because it needs too much memory."
_WORKER: Final = "hibernator.approvals.rego_worker"


def modules_of(data: Mapping[str, str]) -> dict[str, str]:
    """The modules in a ConfigMap."""
    return {key: text for key, text in data.items() if key.endswith(SUFFIX)}


class Rego:
    """`async with Rego() as rego: await rego.ask(data, input)`; its process starts when it is first asked."""

    def __init__(self, patience: int = _PATIENCE) -> None:
        self._patience = patience
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    async def ask(self, data: Mapping[str, str], given: Any) -> Answer | Broken:
        """What the policy in a ConfigMap says about an input."""
        reply = await self._query(data, {"input": given})
        if isinstance(reply, Broken):
            return reply
        if "answer" not in reply:
            return Broken(f"{QUERY} says nothing about this analysis. Give it a `default`.")
        return read_answer(reply["answer"])

    async def check(self, data: Mapping[str, str]) -> Broken | None:
        """Why the policy in a ConfigMap cannot be used for anything; None when it can."""
        reply = await self._query(data, {})
        return reply if isinstance(reply, Broken) else None

    async def _query(self, data: Mapping[str, str], more: Mapping[str, Any]) -> dict[str, Any] | Broken:
        modules = modules_of(data)
        if not modules:
            return Broken(f"The ConfigMap has no key that ends in {SUFFIX}.")
        question = {"modules": modules, "query": QUERY, "seconds": self._patience, **more}
        async with self._turn:
            for _ in range(_TRIES):
                try:
                    return await self._exchange(question)
                except TimeoutError:
                    await self._end()
                    return Broken(f"The Rego engine had {_LONGEST:g} seconds and came to no end.")
                except (ValueError, asyncio.LimitOverrunError):
                    await self._end()
                    return Broken(f"{QUERY} is far too long, or no JSON.")
                except (OSError, EOFError) as error:
                    code = await self._end(_LAST_WORDS)
                    _log.warning("the Rego engine ended", why=repr(error), code=code)
                    if code == -signal.SIGXCPU:
                        return Broken(f"The policy has no answer after {self._patience} s of computing.")
                except asyncio.CancelledError:
                    await self._end()  # or the next question would get the answer to this one
                    raise
            return Broken(_CRASHED)

    async def _exchange(self, question: Mapping[str, Any]) -> dict[str, Any] | Broken:
        process = self._process or await self._start()
        if process.stdin is None or process.stdout is None:
            raise OSError("the engine has no pipes")
        async with asyncio.timeout(_LONGEST):
            process.stdin.write(msgspec.json.encode(question) + b"\n")
            await process.stdin.drain()
            reply: dict[str, Any] = json.loads(await process.stdout.readuntil())
        return Broken(f"The policy is broken: {reply['error']}.") if "error" in reply else reply

    async def _start(self) -> Process:
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-m", _WORKER),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={},
            limit=_LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is for the operator, which may still have something to ask
        )
        async with asyncio.timeout(_START):
            if process.stdout is not None:
                await process.stdout.readuntil()  # it is ready
        return process

    async def _end(self, patience: float = 0.0) -> int | None:
        """See the process off; returns what it ended with, if there was one.

        One that is about to end by itself is given the time for it, so that the code tells of what.
        """
        process, self._process = self._process, None
        if process is None:
            return None
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                return await process.wait()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        return await process.wait()
