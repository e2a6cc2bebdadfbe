"""Keeps the journal in an object's status: what is new comes in, what the audit trail has goes out.

An entry goes only together with a new one that comes, so that to be forgotten costs no write of its own, and
the last one stays, because the next takes its number from it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from whenever import Instant

from hibernator.api.meta import MOST_UNTOLD, Condition, ObjectMeta, Transition
from hibernator.decisions.author import author
from hibernator.decisions.conditions import find, whole_second

USER: Final = "user"  # in the data of an entry: who did it, where that is known

_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class News:
    """Something that happened in this pass, or at a moment that is known better."""

    type: str
    message: str = ""
    data: Mapping[str, int | str] = field(default_factory=dict)
    at: Instant | None = None


def noted(
    journal: Sequence[Transition], news: Iterable[News], recorded: Collection[int], now: Instant
) -> tuple[Transition, ...]:
    """The journal with the news, without what is on record."""
    last = journal[-1].number if journal else 0
    fresh = [_numbered(one, last + place, now) for place, one in enumerate(news, 1)]
    if not fresh:
        return tuple(journal)
    return (*(one for one in journal if one.number not in recorded), *fresh)[-MOST_UNTOLD:]


def spec_news(before: int | None, metadata: ObjectMeta) -> Iterator[News]:
    """From the generation that the status speaks about to that of the object."""
    now = metadata.generation
    if before is None:
        yield News("created", data={"generation": now, **by_user(author(metadata, 1))})
    elif before != now:
        yield News("changed", data={"generation": now, **by_user(author(metadata, now))})


def by_author(before: int | None, metadata: ObjectMeta) -> dict[str, str]:
    """Who brought about what follows from the spec; of several changes at once it may have been any."""
    now = metadata.generation
    return by_user(author(metadata, now) if (before or 0) + 1 == now else "")


def by_user(name: str) -> dict[str, str]:
    return {USER: name} if name else {}


def degraded_news(before: Sequence[Condition], after: Sequence[Condition], type_: str) -> Iterator[News]:
    """Another reason is another trouble; other words for the same one are not."""
    old, new = find(before, type_), find(after, type_)
    was = old.reason if old and old.status == "True" else ""
    if new and new.status == "True" and new.reason != was:
        yield News("degraded", new.message, {"reason": new.reason})
    elif was and new and new.status != "True":
        yield News("recovered", data={"reason": was})


def _numbered(news: News, number: int, now: Instant) -> Transition:
    return Transition(
        number=number,
        type=news.type,
        at=whole_second(news.at or now),
        message=news.message[:_LONGEST],
        data=news.data,
    )
