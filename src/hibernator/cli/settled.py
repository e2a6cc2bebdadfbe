"""Waits until the operator has acted on what a command changed: a success is reported when it is seen."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import typer

from hibernator.cli.cluster import Session
from hibernator.cli.exits import CliError, Exit

if TYPE_CHECKING:
    from hibernator.api.kind import Kind
    from hibernator.api.meta import Object

T = TypeVar("T", bound="Object")


async def settled(
    session: Session, kind: "Kind[T]", name: str, fact: Callable[[T], bool], words: str, longest: float
) -> T | None:
    """Say that `words` are requested, and return the object once they are so: None for who does not wait."""
    from hibernator.cli.leader import about_the_leader, until
    from hibernator.schedule.spoken import span
    from hibernator.schedule.ticks import SECOND

    typer.echo(f"requested: {name} {words}")
    if not longest:
        return None
    found: T | None = None

    async def is_so() -> bool:
        nonlocal found
        found = await session.client.get(kind, name, session.namespace)
        return fact(found)

    if await until(is_so, longest):
        return found
    raise CliError(
        f"{name} is not {words} yet: the operator has not done it within {span(int(longest * SECOND))}.",
        hint=await about_the_leader(session),
        code=Exit.UNAVAILABLE,
    )
