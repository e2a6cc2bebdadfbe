"""The unguessable paths of the webhooks: by which an API server is known from everything else on the network.

Only some clusters give their API server a credential for webhooks, but every one calls exactly the path that
is registered. So the path is the credential: each webhook has one that follows from a random key, and a
request for any other is not found. Each webhook has its own, because an API server quotes the path of a
conversion that fails to the user who asked for the object: what leaks there opens nothing but the conversion,
which is a mere function of what it is sent.

Everything here is computed from the arguments and from chance; `pathsecret` keeps it in the cluster.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from whenever import Instant, TimeDelta

ROTATION: Final = TimeDelta(hours=60 * 24)  # as often as the certificates are replaced
SPREADING: Final = TimeDelta(hours=1)  # in which every replica receives a new key, before it is registered
RETIREMENT: Final = TimeDelta(hours=24)  # in which every API server receives the next, before one is dropped

DATA: Final = "keys"  # of the Secret: one line for each key, the oldest first

_SIZE: Final = 32  # bytes


class PathKey(NamedTuple):
    since: Instant
    secret: bytes

    def path(self, webhook: str) -> str:
        """Where the webhook is found; of characters that a registration may have in a path."""
        return f"/{hmac.new(self.secret, webhook.encode(), hashlib.sha256).hexdigest()}{webhook}"


PathKeys = tuple[PathKey, ...]  # the oldest first; never empty


def first(now: Instant) -> PathKeys:
    return (_made(now),)


def step(keys: PathKeys, now: Instant) -> PathKeys:
    """The keys as they have to be now: the same ones when nothing is to be done."""
    while len(keys) > 1 and now >= _retires(keys[1]):
        keys = keys[1:]
    return (*keys, _made(now)) if now >= keys[-1].since + ROTATION else keys


def registered(keys: PathKeys, now: Instant) -> PathKey:
    """The key whose paths are registered with API servers: the newest that every replica has."""
    known = [key for key in keys if now >= key.since + SPREADING]
    return known[-1] if known else keys[0]


def next_step(keys: PathKeys, now: Instant) -> Instant:
    """When there will be something to do again."""
    later = [key.since + SPREADING for key in keys[1:]] + [_retires(key) for key in keys[1:]]
    return min([keys[-1].since + ROTATION, *(moment for moment in later if moment > now)])


def to_data(keys: PathKeys) -> dict[str, bytes]:
    lines = (f"{key.since.format_iso()} {key.secret.hex()}\n" for key in keys)
    return {DATA: "".join(lines).encode()}


def from_data(data: Mapping[str, bytes]) -> PathKeys:
    """Read the data of a Secret; ValueError says what is wrong with it."""
    lines = data.get(DATA, b"").decode("ascii", errors="replace").splitlines()
    if not lines:
        raise ValueError(f"{DATA} is missing or empty")
    return tuple(_read(number, line) for number, line in enumerate(lines, 1))


@dataclass(slots=True)
class Gate:
    """Which path leads to which webhook just now. Before the first key, none leads anywhere."""

    webhooks: tuple[str, ...]
    _ways: tuple[tuple[bytes, str], ...] = ()

    @property
    def is_open(self) -> bool:
        return bool(self._ways)

    def use(self, keys: Iterable[PathKey]) -> None:
        self._ways = tuple((key.path(one).encode(), one) for key in keys for one in self.webhooks)

    def webhook(self, path: str) -> str:
        """The webhook at this path, empty when there is none; how long it takes says nothing about why."""
        asked = path.encode(errors="replace")
        found = [one for way, one in self._ways if hmac.compare_digest(way, asked)]
        return found[0] if found else ""


def _made(now: Instant) -> PathKey:
    return PathKey(now.round("second", mode="floor"), secrets.token_bytes(_SIZE))


def _retires(successor: PathKey) -> Instant:
    return successor.since + SPREADING + RETIREMENT


def _read(number: int, line: str) -> PathKey:
    since, _, secret = line.partition(" ")
    try:
        key = PathKey(Instant.parse_iso(since), bytes.fromhex(secret))
    except ValueError:
        raise ValueError(f"line {number} of {DATA} is not a time and a key") from None
    if len(key.secret) != _SIZE:
        raise ValueError(f"line {number} of {DATA} has a key of {len(key.secret)} bytes instead of {_SIZE}")
    return key
