"""Who agreed to what, and whether that is enough: one pure machine for everything that people must approve.

It knows people, not Kubernetes. A request says who must agree; votes come in any order, twice, too late, from
the wrong people or about something that was changed since. What counts is decided here and nowhere else, and
whoever is refused is told who decided what, and when.

Each person fills one place. Somebody who holds two of the required roles is still one pair of eyes, so places
are given out such that as many of them are filled as there are people for.
"""

import hashlib
import json
import string
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
from whenever import Instant

APPROVAL_TIMEOUT: Final = "ApprovalTimeout"
OPERATOR: Final = "hibernator"  # the actor of what no person did

Verdict = Literal["approve", "reject"]
State = Literal["Pending", "Approved", "Rejected"]
Refused = Literal[
    "AlreadyDecided",
    "DecidedBefore",
    "NotAsked",
    "OwnRequest",
    "RequesterUnknown",
    "Stale",
    "TooEarly",
    "TooLate",
]
_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
DONE: Final[Mapping[Verdict, str]] = {"approve": "approved", "reject": "rejected"}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody, as the cluster knows them; the e-mail is empty where none is known."""

    user: str
    email: str = ""
    roles: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()  # what else was authenticated about them, by its key

    @property
    def claimed(self) -> tuple[str, ...]:
        """The addresses in `extra`; several under one key have spaces between them."""
        return tuple(address for _, value in self.extra for address in value.split())


@dataclass(frozen=True, slots=True)
class Seat:
    """One person, or one role, that must agree."""

    kind: Literal["email", "role"]
    name: str

    def fits(self, person: Person) -> bool:
        if self.kind == "role":
            return self.name in person.roles
        return bool(person.email) and mailbox(person.email) == mailbox(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked for, by whom, and who must agree until when."""

    requester: Person
    places: tuple[Seat, ...]
    needed: int  # how many places must be filled
    asked_at: Instant
    deadline: Instant
    uid: str
    spec_hash: str
    own_allowed: bool = False  # whether the requester may be one of those who agree


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one person said. An approval names what was approved; `place` is set when they chose one."""

    by: Person
    verdict: Verdict
    at: Instant
    uid: str = ""
    spec_hash: str = ""
    place: Seat | None = None
    channel: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended, through whom, and when."""

    state: Literal["Approved", "Rejected"]
    actor: str
    at: Instant
    reason: str = ""

    @property
    def is_timeout(self) -> bool:
        """Whether nobody ended it: people may give any reason, that of a time-out too."""
        return (self.actor, self.reason) == (OPERATOR, APPROVAL_TIMEOUT)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a vote does not count, for a program and for the person."""

    reason: Refused
    message: str


@dataclass(frozen=True, slots=True)
class Standing:
    state: State
    outcome: Outcome | None
    filled: Mapping[Seat, Vote]
    counted: tuple[Vote, ...]  # oldest first
    refused: tuple[tuple[Vote, Refusal], ...]

    def status_of(self, place: Seat) -> Literal["pending", "approved", "rejected"]:
        if place in self.filled:
            return "approved"
        said_no = (vote for vote in self.counted if vote.verdict == "reject")
        return "rejected" if any(place in _open_to(vote, (place,)) for vote in said_no) else "pending"


def fingerprint(spec: msgspec.Struct) -> str:
    """A hash of everything in a spec, which a decision can be bound to."""
    told = json.dumps(msgspec.to_builtins(spec), sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(told.encode()).hexdigest()}"


def stand(request: Request, votes: Iterable[Vote], now: Instant) -> Standing:
    """How a request stands now. Votes count in the order of their times; of two at once, the no is first."""
    counted: list[Vote] = []
    refused: list[tuple[Vote, Refusal]] = []
    filled: dict[Seat, Vote] = {}
    outcome: Outcome | None = None
    for vote in sorted(votes, key=_order):
        refusal = _refusal(request, vote, counted, outcome)
        if refusal:
            refused.append((vote, refusal))
            continue
        counted.append(vote)
        if vote.verdict == "approve":
            filled = _filled(request.places, counted)
        if vote.verdict == "reject" or len(filled) >= request.needed:
            state: Literal["Approved", "Rejected"] = "Rejected" if vote.verdict == "reject" else "Approved"
            outcome = Outcome(state, vote.by.user, vote.at, vote.reason)
    if outcome is None and now >= request.deadline:
        outcome = timed_out(request)
    return Standing(outcome.state if outcome else "Pending", outcome, filled, tuple(counted), tuple(refused))


def timed_out(request: Request) -> Outcome:
    return Outcome("Rejected", OPERATOR, request.deadline, APPROVAL_TIMEOUT)


def over(outcome: Outcome) -> Refusal:
    """What somebody is told who comes after the end."""
    at = outcome.at.format_iso()
    if outcome.is_timeout:
        return Refusal("TooLate", f"It is too late to decide: the deadline was {at}.")
    why = f" ({outcome.reason})" if outcome.reason else ""
    said = outcome.state.lower()
    return Refusal("DecidedBefore", f"It was {said} already, by {outcome.actor} at {at}{why}.")


def mailbox(email: str) -> str:
    """An address such that two ways to write the same one are equal.

    Mail systems in use take no notice of the case of plain letters. All else is left alone: who asks for the
    agreement of `ops+oncall@…` does not ask for that of `ops@…`, nor of one with letters that look alike.
    """
    return email.translate(_LOWER)


def same_human(one: Person, other: Person) -> bool:
    """Whether two may well be the same human being: what merely looks different is seen through here."""
    return one.user == other.user or not set(map(_owner, _addresses(one))).isdisjoint(
        map(_owner, _addresses(other))
    )


def _addresses(person: Person) -> Iterator[str]:
    """All that are known of somebody, also those that no place is filled by."""
    yield from (address for address in (person.email, *person.claimed) if "@" in address)


def _owner(email: str) -> str:
    local, _, domain = unicodedata.normalize("NFKC", email).strip().casefold().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"


def _order(vote: Vote) -> tuple[Instant, bool, str]:
    return vote.at, vote.verdict == "approve", vote.by.user


def _refusal(
    request: Request, vote: Vote, counted: Sequence[Vote], outcome: Outcome | None
) -> Refusal | None:
    """The first reason for which a vote does not count."""
    earlier = next((one for one in counted if _same_voter(one.by, vote.by)), None)
    if earlier:
        done, at = DONE[earlier.verdict], earlier.at.format_iso()
        return Refusal("AlreadyDecided", f"{vote.by.user} has {done} it already, at {at}; that is final.")
    if outcome:
        return over(outcome)
    if vote.at >= request.deadline:
        return over(timed_out(request))
    if vote.at < request.asked_at:
        return Refusal("TooEarly", "It was decided before the approvers were asked; decide again.")
    if vote.verdict == "approve" and (refusal := _unapprovable(request, vote)):
        return refusal
    if not _open_to(vote, request.places):
        asked = ", ".join(place.name for place in request.places)
        return Refusal("NotAsked", f"{vote.by.user} is not among those whose agreement is needed: {asked}.")
    return None


def _unapprovable(request: Request, vote: Vote) -> Refusal | None:
    """Why somebody cannot approve this, who could still reject it."""
    if (vote.uid, vote.spec_hash) != (request.uid, request.spec_hash):
        return Refusal("Stale", "Something else was approved than what is asked for now: look at it again.")
    if request.own_allowed:
        return None
    if not request.requester.user:
        return Refusal("RequesterUnknown", "The requester is unknown, and may be the one who approves.")
    if same_human(vote.by, request.requester):
        return Refusal(
            "OwnRequest", f"{vote.by.user} requested it and cannot approve it: ask another approver."
        )
    return None


def _same_voter(one: Person, other: Person) -> bool:
    return one.user == other.user or not set(map(mailbox, _addresses(one))).isdisjoint(
        map(mailbox, _addresses(other))
    )


def _open_to(vote: Vote, places: Iterable[Seat]) -> list[Seat]:
    """The places that somebody may fill: the one that they chose, or all that fit."""
    chosen = vote.place
    return [
        place
        for place in places
        if place.fits(vote.by)
        and (chosen is None or (chosen.kind == place.kind and mailbox(chosen.name) == mailbox(place.name)))
    ]


def _filled(places: Sequence[Seat], votes: Iterable[Vote]) -> dict[Seat, Vote]:
    """As many places as can be filled, each by one vote, each vote in one place (Kuhn's matching)."""
    filled: dict[Seat, Vote] = {}

    def seat(vote: Vote, tried: set[Seat]) -> bool:
        for place in _open_to(vote, places):
            if place in tried:
                continue
            tried.add(place)
            if place not in filled or seat(filled[place], tried):
                filled[place] = vote
                return True
        return False

    for vote in votes:
        if vote.verdict == "approve":
            seat(vote, set())
    return filled
