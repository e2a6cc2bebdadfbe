"""Keeps the journal in an object's status: what is new comes in, what the audit trail has goes out.

An entry goes only together with a new one that comes, so that to be forgotten costs no write of its own, and
the last one stays, because the next takes its number from it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import json, to_builtins
from whenever import Instant

from hibernator.api.kind import DOMAIN
from hibernator.api.meta import MOST_UNRECORDED, Condition, ObjectMeta, Transition
from hibernator.api.people import KnownBy
from hibernator.decisions.conditions import find, whole_second

CHANGED_BY: Final = f"{DOMAIN}/changed-by"  # of a generation
RETRIED_BY: Final = f"{DOMAIN}/retried-by"  # of what the annotation `retry` says


def note(of: int | str, user: str) -> str:
    return f"{of} {user}"


def author(metadata: ObjectMeta, of: int | str, key: str = CHANGED_BY) -> str:
    """Who made this generation, or asked for this; empty when no one knows."""
    about = note(of, "")
    written = metadata.annotations.get(key, "")
    return written.removeprefix(about) if written.startswith(about) else ""


# In the data of an entry, where a person did it: who, or nothing where that is unknown, and through what.
USER: Final = "user"
CHANNEL: Final = "channel"
BEHALF: Final = "onBehalfOf"  # for whom a deputy decided

_LONGEST: Final = 4096
_MOST_BYTES: Final = 400_000  # of all entries; the API server stores 1.5 MB, and that is not all of a status


@dataclass(frozen=True, slots=True)
class News:
    """Something that happened in this pass, or at a moment that is known better."""

    type: str
    message: str = ""
    data: Mapping[str, int | str] = field(default_factory=dict)
    at: Instant | None = None
    identity: tuple[str, ...] | None = None  # where number and time do not name it in the audit trail


def noted(
    journal: Sequence[Transition],
    news: Iterable[News],
    recorded: Collection[int],
    now: Instant,
    *,
    story: Iterable[News] = (),
) -> tuple[Transition, ...]:
    """The journal with the news, without what is on record. The `story` is for `journal_or`."""
    if not (fresh := tuple(news)):
        return tuple(journal)
    known = journal_or(journal, story)
    last = known[-1].number if known else 0
    numbered = (_numbered(one, last + place, now) for place, one in enumerate(fresh, 1))
    return _fitting([*(one for one in known if one.number not in recorded), *numbered])


def _fitting(journal: Sequence[Transition]) -> tuple[Transition, ...]:
    """The newest entries, as many as the API server takes; at least one."""
    kept: list[Transition] = []
    size = 0
    for one in reversed(journal[-MOST_UNRECORDED:]):
        size += len(json.encode(one))
        if kept and size > _MOST_BYTES:
            break
        kept.append(one)
    return tuple(reversed(kept))


def journal_or(journal: Sequence[Transition], story: Iterable[News]) -> tuple[Transition, ...]:
    """The journal; of an object from before its kind had one, all that its status tells, each with its time.

    The identities are those by which it was recorded then, so that nothing is recorded twice.
    """
    return tuple(journal) or noted((), story, (), Instant.MIN)


def spec_news(before: int | None, metadata: ObjectMeta) -> Iterator[News]:
    """From the observed generation to that of the object."""
    if before is None:
        yield News("created", data={"generation": metadata.generation, **by_user(author(metadata, 1))})
    yield from change_news(before, metadata)


def change_news(before: int | None, metadata: ObjectMeta) -> Iterator[News]:
    now = metadata.generation
    if before is not None and before != now:
        yield News("changed", data={"generation": now, **by_user(author(metadata, now))})


def creation_news(
    before: int | None, after: int | None, metadata: ObjectMeta, data: Mapping[str, int | str]
) -> Iterator[News]:
    """From when the API server made it: the first pass may come much later."""
    if before is None and after is not None:
        yield News("created", data=data, at=created_at(metadata), identity=())


def created_at(metadata: ObjectMeta) -> Instant:
    return Instant(metadata.creation_timestamp) if metadata.creation_timestamp else Instant.MIN


def by_author(before: int | None, metadata: ObjectMeta) -> dict[str, str]:
    """Who brought about what follows from the spec; of several changes at once it may have been any."""
    now = metadata.generation
    return by_user(author(metadata, now) if (before or 0) + 1 == now else "")


def how_known(known_by: KnownBy | None) -> dict[str, str]:
    """How the web process knew who decided, for the audit trail."""
    return {} if known_by is None else {key: str(value) for key, value in to_builtins(known_by).items()}


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
        identity=news.identity,
    )
