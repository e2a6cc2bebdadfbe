"""What the two ends of the trail's read API agree upon: paths, questions and answers.

The web process reads the trail here where the database is a file on the operator's volume. Entries go over
the wire byte for byte as they were hashed, so that a reader can check the chain.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from whenever import Instant

from hibernator.audit.chain import Entry
from hibernator.audit.event import as_text
from hibernator.audit.reading import PAGE, Filter

PREFIX: Final = "/trail/v1"
EVENTS: Final = f"{PREFIX}/events"
LATEST: Final = f"{PREFIX}/latest"
HEAD: Final = f"{PREFIX}/head"
PATHS: Final = (EVENTS, LATEST, HEAD)  # what an account must be allowed to get

_LONGEST: Final = 4096  # characters of one parameter
_MOST_TYPES: Final = 100


class Position(msgspec.Struct, frozen=True):
    """Where the chain ends, as JSON."""

    sequence: int
    hash: str


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked for, as the parameters of a URL; all of them are text."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    actor: str = ""
    type: str = ""
    types: str = ""  # with commas between
    since: str = ""
    until: str = ""
    after: int = 0
    limit: int = PAGE

    @property
    def wanted(self) -> Filter:
        """The filter; ValueError says which parameter cannot be used."""
        types = tuple(word for word in self.types.split(",") if word)
        if len(types) > _MOST_TYPES:
            raise ValueError(f"types has {len(types)} entries: send at most {_MOST_TYPES}")
        return Filter(
            kind=self.kind,
            namespace=self.namespace,
            name=self.name,
            actor=self.actor,
            type=self.type,
            types=types,
            since=_moment("since", self.since),
            until=_moment("until", self.until),
        )


def question(wanted: Filter, *, after: int, limit: int) -> dict[str, str]:
    """A filter as the parameters of a URL; what is empty is left out."""
    given = {
        "kind": wanted.kind,
        "namespace": wanted.namespace,
        "name": wanted.name,
        "actor": wanted.actor,
        "type": wanted.type,
        "types": ",".join(wanted.types),
        "since": as_text(wanted.since) if wanted.since else "",
        "until": as_text(wanted.until) if wanted.until else "",
        "after": str(after) if after else "",
        "limit": str(min(limit, PAGE)),
    }
    return {name: value for name, value in given.items() if value}


def read_question(parameters: Mapping[str, str]) -> Question:
    """What the parameters of a URL ask for; ValueError names the one that cannot be used."""
    for name, value in parameters.items():
        if len(value) > _LONGEST or "\0" in value:
            raise ValueError(f"{name[:50]} cannot be used: send at most {_LONGEST} characters, without NUL")
    try:
        found = msgspec.convert(dict(parameters), Question, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    if not 1 <= found.limit <= PAGE:
        raise ValueError(f"limit is {found.limit}: send a number from 1 to {PAGE}")
    if not 0 <= found.after < 2**63:
        raise ValueError(f"after is {found.after}: send the number of an event, or 0")
    return found


def _moment(name: str, text: str) -> Instant | None:
    try:
        return Instant.parse_iso(text) if text else None
    except ValueError as error:
        raise ValueError(f"{name} is {text!r}: send a time such as 2026-03-02T12:00:00Z") from error


encode: Final = msgspec.json.Encoder(enc_hook=as_text).encode
decode_entries: Final = msgspec.json.Decoder(
    list[Entry], dec_hook=lambda _type, text: Instant.parse_iso(text)
).decode
decode_position: Final = msgspec.json.Decoder(Position).decode
