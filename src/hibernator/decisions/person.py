"""Who a person is, and whether two are the same: by user name, by address, and as the deputy of another."""

import string
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from whenever import Instant

_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass(frozen=True, slots=True)
class Person:
    """Someone, as the cluster knows them; the e-mail is empty where none is known."""

    user: str
    email: str = ""
    roles: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()  # what else was authenticated about them, by its key
    deputy_for: tuple["Absence", ...] = ()

    @property
    def claimed(self) -> tuple[str, ...]:
        """The addresses in `extra`; several under one key have spaces between them."""
        return tuple(address for _, value in self.extra for address in value.split())


@dataclass(frozen=True, slots=True)
class Absence:
    """A person who is away for a while, and the name of the deputy who decides in their place meanwhile."""

    away: Person
    deputy: str
    since: Instant
    until: Instant

    def covers(self, at: Instant) -> bool:
        return self.since <= at < self.until


def voices(who: Person, at: Instant, requester: Person) -> Iterator[Person]:
    """As whom a person may decide: as themselves, and as those whose deputy they are then."""
    yield who
    if not same_human(who, requester):
        for absence in who.deputy_for:
            if absence.covers(at) and not same_human(absence.away, requester):
                yield absence.away


def in_place_of(who: str, away: str) -> str:
    """How people read who decided: `dave for carol`."""
    return f"{who} for {away}" if away else who


def mailbox(email: str) -> str:
    """An address such that two ways to write the same one are equal.

    Mail systems in use take no notice of the case of plain letters. All else is left alone: who asks for the
    agreement of `ops+oncall@…` does not ask for that of `ops@…`, nor of one with letters that look alike.
    """
    return email.lower() if email.isascii() else email.translate(_LOWER)  # which takes ten times as long


def same_human(one: Person, other: Person) -> bool:
    """Whether two may well be the same human being: what merely looks different is seen through here."""
    return one.user == other.user or not set(map(_owner, _addresses(one))).isdisjoint(
        map(_owner, _addresses(other))
    )


def same_voter(one: Person, other: Person) -> bool:
    """Whether two are certainly the same: a user name or an address that both have."""
    return one.user == other.user or not set(map(mailbox, _addresses(one))).isdisjoint(
        map(mailbox, _addresses(other))
    )


def _addresses(person: Person) -> Iterator[str]:
    """All that are known of someone, also those that no place is filled by."""
    yield from (address for address in (person.email, *person.claimed) if "@" in address)


def _owner(email: str) -> str:
    local, _, domain = unicodedata.normalize("NFKC", email).strip().casefold().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"
