"""`list`, with or without `--watch`, for every kind: one way to filter, to sort and to go on looking."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.cli.cluster import Session, talk
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.options import ClusterOptions, Listing, Output
from hibernator.cli.output import Column, Table, show, show_one

T = TypeVar("T", bound=Object)
Lets = Callable[[T], bool]


async def everything(_session: Session) -> Callable[[Object], bool]:
    """Let all of them be shown."""
    return lambda _one: True


def by_name(one: Object) -> tuple[str, str]:
    return one.metadata.namespace, one.metadata.name


def show_list(
    kind: Kind[T],
    columns: Sequence[Column[T]],
    listing: Listing,
    place: ClusterOptions,
    *,
    names: Sequence[str] = (),
    wanted: Callable[[Session], Awaitable[Lets[T]]] = everything,
    order: Callable[[T], Any] = by_name,
) -> None:
    """Print what there is of a kind, and with `--watch` each change of it as well, until Ctrl-C."""

    async def ask(session: Session) -> tuple[list[T], str]:
        where = "" if listing.everywhere else session.namespace
        lets = _both(await wanted(session), names)
        there = await _listed(session, kind, where, listing.selector)
        from hibernator.cli.missing import not_found

        if missing := {*names} - {one.metadata.name for one in there}:
            raise await not_found(session.client, kind, sorted(missing), where)
        found = sorted(filter(lets, there), key=order)
        if listing.watch:
            from hibernator.kube.cache import Cache

            table = Table(columns, listing.output, spaces=listing.everywhere)
            watching = _Watching(kind, table, listing.output, lets)
            watching.begin(found)
            cache = Cache(session.client, kind, where, label_selector=listing.selector)
            cache.on_change(watching.show)
            await cache.run()
        which = f"{kind.kind} that fits" if there or listing.selector else kind.kind
        return (
            found,
            f"No {which} is in namespace {where}; -A searches all namespaces."
            if where
            else f"No {which} is there.",
        )

    found, nothing = talk(ask, place, role="hibernator-auditor", everywhere=listing.everywhere)
    show(kind, found, columns, listing.output, spaces=listing.everywhere, nothing=nothing)


async def _listed(session: Session, kind: Kind[T], where: str, selector: str) -> list[T]:
    from hibernator.kube.errors import Invalid

    try:
        return await session.client.list(kind, where, label_selector=selector)
    except Invalid as error:
        if not selector:
            raise
        hint = "Write it as for kubectl, such as team=shop, env!=prod or 'env in (dev, test)'."
        raise CliError(f"--selector is {selector!r}: {error.message}.", hint=hint, code=Exit.USAGE) from error


def _both(lets: Lets[T], names: Sequence[str]) -> Lets[T]:
    """Those that are wanted and, if any are named, named."""
    return lambda one: (not names or one.metadata.name in names) and lets(one)


class _Watching(Generic[T]):
    """What was printed last of each object, so that a change is printed and a repetition is not."""

    def __init__(self, kind: Kind[T], table: Table[T], output: Output, lets: Lets[T]) -> None:
        self._kind = kind
        self._table = table
        self._output = output
        self._lets = lets
        self._shown: dict[tuple[str, str], object] = {}

    def begin(self, found: Sequence[T]) -> None:
        if self._output in {Output.TABLE, Output.WIDE}:
            self._table.head(found)
        for one in found:
            self._print(one)

    def show(self, old: T | None, new: T | None) -> None:
        """Print what is there now; what is gone, or no longer wanted, once more as it was at the end."""
        one = new or old
        if one is None:
            return
        is_wanted = new is not None and self._lets(new)
        key = by_name(one)
        if is_wanted:
            self._print(one)
        elif key in self._shown:
            self._print(one, last=True)
            del self._shown[key]

    def _print(self, one: T, *, last: bool = False) -> None:
        key = by_name(one)
        as_table = self._output in {Output.TABLE, Output.WIDE}
        seen = self._table.lasting(one) if as_table else one.metadata.resource_version
        if not last and self._shown.get(key) == seen:
            return
        self._shown[key] = seen
        if as_table:
            self._table.row(one)
        else:
            show_one(self._kind, one, self._output, among=True)
        sys.stdout.flush()
