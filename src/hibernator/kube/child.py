"""A process of its own for what strangers wrote: asked on stdin, answers on stdout, a line of JSON each.

Whatever runs without end, takes all memory or crashes native code ends that process and not this one, and
the event loop does not even notice. The other side of the pipe is `kube.child_worker`.
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

_log: Final = structlog.get_logger(__name__)

LONGEST: Final = 60.0  # real seconds in which a busy machine must have let it compute its CPU seconds
_START: Final = 60.0  # real seconds; Python starts slowly where much else is started
_LAST_WORDS: Final = 5.0  # real seconds for a process that ends by itself to do so
_LONGEST_LINE: Final = 2**20  # bytes of an answer, which takes hundreds
_TRIES: Final = 3  # it may have died of what it was asked before, so a new one is asked the same


class ChildError(Exception):
    """There is no answer."""


class TooSlowError(ChildError):
    """The question took more CPU seconds, or more time, than it may."""


class TooLongError(ChildError):
    """The answer is longer than any sensible one, or no JSON."""


class CrashedError(ChildError):
    """The process ended over the question, each time."""


class Child:
    """`async with Child(module, seconds=2) as child: await child.ask(…)`; it starts when first asked."""

    def __init__(self, worker: str, *, seconds: int, tries: int = _TRIES) -> None:
        self._worker = worker
        self._seconds = seconds  # of computing, for one question
        self._tries = tries
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question; one question at a time."""
        line = msgspec.json.encode({**question, "seconds": self._seconds}) + b"\n"
        async with self._turn:
            for _ in range(self._tries):
                try:
                    return await self._exchange(line)
                except TimeoutError as error:
                    await self._end()
                    raise TooSlowError(f"no answer after {LONGEST:g} seconds") from error
                except (ValueError, asyncio.LimitOverrunError) as error:
                    await self._end()
                    raise TooLongError("the answer is far too long, or no JSON") from error
                except (OSError, EOFError) as error:
                    code = await self._end(_LAST_WORDS)
                    _log.warning("child process ended", worker=self._worker, why=repr(error), code=code)
                    if code == -signal.SIGXCPU:
                        raise TooSlowError(f"no answer after {self._seconds} s of computing") from error
                except asyncio.CancelledError:
                    await self._end()  # or the next question would get the answer to this one
                    raise
            raise CrashedError("the process ended over it")

    async def _exchange(self, line: bytes) -> dict[str, Any]:
        process = self._process or await self._start()
        if process.stdin is None or process.stdout is None:
            raise OSError("the process has no pipes")
        async with asyncio.timeout(LONGEST):
            process.stdin.write(line)
            await process.stdin.drain()
            reply: dict[str, Any] = json.loads(await process.stdout.readuntil())
        return reply

    async def _start(self) -> Process:
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-m", self._worker),
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

        One that is about to end by itself is given the time for it, so that the exit code says why.
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
