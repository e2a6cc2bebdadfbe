"""Waiting for the operator: looks again and again until something is so, but not for ever."""

from collections.abc import Awaitable, Callable
from typing import Final

from hibernator.kube.clock import steady

_LOOK_EVERY: Final = 0.2


async def until(fact: Callable[[], Awaitable[bool]], longest_seconds: float) -> bool:
    """Whether it became so in time.

    No look is broken off: its connection would still be closing when the command ends. It has a deadline.
    """
    import asyncio

    give_up = steady() + longest_seconds
    while True:
        if await fact():
            return True
        if steady() >= give_up:
            return False
        await asyncio.sleep(_LOOK_EVERY)
