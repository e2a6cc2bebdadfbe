"""Several things at once, none of which runs on after the function that started them.

A failure does not cut the others short: a write that is cut off leaves an unknown outcome behind, and one
that ends by itself does not. A cancellation from outside cancels them, and waits until they have ended.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def together(works: Iterable[Awaitable[T]]) -> list[T]:
    """The results in the order of the works; if any failed, the first failure, after all have ended."""
    failures: list[Exception] = []

    async def one(work: Awaitable[T]) -> list[T]:
        try:
            return [await work]
        except Exception as error:  # noqa: BLE001 — kept until the others have ended, and then raised
            failures.append(error)
            return []

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(work)) for work in works]
    if failures:
        raise failures[0]
    return [result for task in tasks for result in task.result()]
