"""The proof: each event carries a hash over itself and the hash of the event before it.

To change, remove, insert or move an event means to recompute every later hash, and anyone with an earlier
hash sees that. Pure; where events are stored is no matter here.
"""

import hashlib
from typing import Final, NamedTuple

import msgspec
from whenever import Instant

from hibernator.audit.event import AuditEvent, as_text

GENESIS: Final = "0" * 64  # the hash before the first event

_encode: Final = msgspec.json.Encoder(order="sorted", enc_hook=as_text).encode


class Link(NamedTuple):
    """A place in the chain: how many events up to here, and the hash of the last of them."""

    sequence: int
    hash: str

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"


START: Final = Link(0, GENESIS)


class _Placed(AuditEvent):
    """What is hashed, besides the hash before."""

    sequence: int
    recorded_at: Instant


class Entry(_Placed):
    """An event in its place in the chain."""

    previous_hash: str
    hash: str

    @property
    def link(self) -> Link:
        return Link(self.sequence, self.hash)


def append(previous: Link, event: AuditEvent, recorded_at: Instant) -> Entry:
    """Put an event behind the last one."""
    fields = msgspec.structs.asdict(event)
    fields["sequence"] = previous.sequence + 1
    fields["recorded_at"] = recorded_at
    digest = _digest(previous.hash, _Placed(**fields))
    return Entry(**fields, previous_hash=previous.hash, hash=digest)


def misfit(previous: Link, entry: Entry) -> str:
    """Why this entry cannot come after that link; empty when it can."""
    if entry.sequence > previous.sequence + 1:
        gone = previous.sequence + 1, entry.sequence - 1
        return (
            f"event {gone[0]} is missing"
            if gone[0] == gone[1]
            else f"events {gone[0]} to {gone[1]} are missing"
        )
    if entry.sequence <= previous.sequence:
        return "its number is taken by another event"
    if entry.previous_hash != previous.hash:
        return "it does not continue from the event before it"
    fields = {name: getattr(entry, name) for name in _Placed.__struct_fields__}
    if entry.hash != _digest(previous.hash, _Placed(**fields)):
        return "its content does not match its hash"
    return ""


def missing(first: int, last: int) -> str:
    return f"event {first} is missing" if first == last else f"events {first} to {last} are missing"


def _digest(previous: str, placed: _Placed) -> str:
    return hashlib.sha256(previous.encode() + _encode(placed)).hexdigest()
