"""Who agreed to what, and whether that is enough: one pure machine for everything that people must approve.

It knows people, not Kubernetes. A request says who must agree; votes come in any order, twice, too late, from
the wrong people or about something that was changed since. What counts is decided here and nowhere else, and
a refusal says who decided what, and when.

Each person fills one place. Someone who holds two of the required roles is still one pair of eyes, so places
are given out such that as many of them are filled as there are people for. Places come in groups: those that
the request itself names, and those of each policy. A person may fill a place in each group, and every group
must be complete.

A person who is away may have a deputy, who then fills a place of theirs. Deputies are one pair of eyes, and
speak for one person at a time: not for the requester, not for who decided already, not for other deputies.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

import msgspec
from whenever import Instant

from hibernator.decisions.matching import matched
from hibernator.decisions.person import Person, mailbox, same_human, same_voter, voices

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
    "WrongChannel",
]
DONE: Final[Mapping[Verdict, str]] = {"approve": "approved", "reject": "rejected"}


@dataclass(frozen=True, slots=True)
class Seat:
    """One person, or one role, that must agree."""

    kind: Literal["email", "role"]
    name: str
    policy: str = ""  # which policy asks for it; empty where the request itself does

    def fits(self, person: Person) -> bool:
        if self.kind == "role":
            return self.name in person.roles
        return bool(person.email) and mailbox(person.email) == mailbox(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked for, by whom, and who must agree until when."""

    requester: Person
    places: tuple[Seat, ...]
    needed: int  # how many places of the request itself must be filled
    asked_at: Instant
    deadline: Instant
    uid: str
    spec_hash: str
    own_allowed: bool = False  # whether the requester may be one of those who agree
    needs: tuple[tuple[str, int], ...] = ()  # the same for the places of each policy
    channels: frozenset[str] | None = None  # through which an approval counts; None for all

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """Every group of places, by its policy, with how many of them must be filled."""
        own = (("", self.needed),) if self.needed else ()
        return (*own, *self.needs)

    @property
    def all_needed(self) -> int:
        return sum(needed for _, needed in self.groups)

    def missing(self, filled: Mapping[Seat, "Vote"]) -> tuple[tuple[str, int], ...]:
        """The groups that are not complete, with how many are missing in each."""
        counts = Counter(place.policy for place in filled)
        return tuple(
            (group, needed - counts[group]) for group, needed in self.groups if counts[group] < needed
        )


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
        """Whether no one ended it: people may give any reason, that of a time-out too."""
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
    request: Request

    def status_of(self, place: Seat) -> Literal["pending", "approved", "rejected"]:
        if place in self.filled:
            return "approved"
        said_no = (vote for vote in self.counted if vote.verdict == "reject")
        is_rejected = any(_open_to(vote, voice, (place,)) for vote in said_no for voice in self._voices(vote))
        return "rejected" if is_rejected else "pending"

    def behalf_of(self, vote: Vote) -> str:
        """In whose place a deputy decided; empty for those who decided for themselves alone."""
        groups = _groups(self.request.places)
        seated = [_seated(group, self.counted, self.request.requester) for group in groups]
        heard = [voice for group in seated for by, voice in group.values() if by is vote]
        able = (voice for voice in self._voices(vote) if _open_to(vote, voice, self.request.places))
        spoken = heard or [*islice(able, 1)]
        return next((voice.email or voice.user for voice in spoken if voice is not vote.by), "")

    def _voices(self, vote: Vote) -> Iterator[Person]:
        return voices(vote.by, vote.at, self.request.requester)


def fingerprint(spec: msgspec.Struct) -> str:
    """A hash of everything in a spec, which a decision can be bound to."""
    text = json.dumps(msgspec.to_builtins(spec), sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


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
            filled = _filled(request, counted)
        if vote.verdict == "reject" or not request.missing(filled):
            state: Literal["Approved", "Rejected"] = "Rejected" if vote.verdict == "reject" else "Approved"
            outcome = Outcome(state, vote.by.user, vote.at, vote.reason)
    if outcome is None and now >= request.deadline:
        outcome = timed_out(request)
    return Standing(
        outcome.state if outcome else "Pending", outcome, filled, tuple(counted), tuple(refused), request
    )


def timed_out(request: Request) -> Outcome:
    return Outcome("Rejected", OPERATOR, request.deadline, APPROVAL_TIMEOUT)


def over(outcome: Outcome) -> Refusal:
    """What someone reads who comes after the end."""
    at = outcome.at.format_iso()
    if outcome.is_timeout:
        return Refusal("TooLate", f"It is too late to decide: the deadline was {at}.")
    why = f" ({outcome.reason})" if outcome.reason else ""
    said = outcome.state.lower()
    return Refusal("DecidedBefore", f"It was {said} already, by {outcome.actor} at {at}{why}.")


def wrong_channel(channel: str, counted: Iterable[str]) -> Refusal:
    """What someone hears whose approval came through a channel that the policies do not count."""
    through = ", ".join(sorted(counted))
    said = f" through {channel}" if channel else ""
    return Refusal(
        "WrongChannel", f"An approval{said} does not count here: the policies of this plan count {through}."
    )


def _order(vote: Vote) -> tuple[Instant, bool, str]:
    return vote.at, vote.verdict == "approve", vote.by.user


def _refusal(
    request: Request, vote: Vote, counted: Sequence[Vote], outcome: Outcome | None
) -> Refusal | None:
    """The first reason for which a vote does not count."""
    earlier = next((one for one in counted if same_voter(one.by, vote.by)), None)
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
    able = [
        voice
        for voice in voices(vote.by, vote.at, request.requester)
        if _open_to(vote, voice, request.places)
    ]
    if not able:
        asked = ", ".join(place.name for place in request.places)
        return Refusal("NotAsked", f"{vote.by.user} is not among those whose agreement is needed: {asked}.")
    return _said_by_those_away(vote, able, counted)


def _said_by_those_away(vote: Vote, able: Sequence[Person], counted: Sequence[Vote]) -> Refusal | None:
    """Why a deputy's approval adds nothing: all whose deputy they are have decided."""
    if vote.verdict == "reject" or any(
        not any(same_voter(one.by, voice) for one in counted) for voice in able
    ):
        return None
    names = ", ".join(voice.user for voice in able)
    said = f"{vote.by.user} is the deputy of {names}, who has decided already: that is final."
    return Refusal("AlreadyDecided", said)


def _unapprovable(request: Request, vote: Vote) -> Refusal | None:
    """Why someone cannot approve this, who could still reject it."""
    if (vote.uid, vote.spec_hash) != (request.uid, request.spec_hash):
        return Refusal("Stale", "Something else was approved than what is asked for now: look at it again.")
    if request.channels is not None and vote.channel not in request.channels:
        return wrong_channel(vote.channel, request.channels)
    if request.own_allowed:
        return None
    if not request.requester.user:
        return Refusal("RequesterUnknown", "The requester is unknown, and may be the one who approves.")
    if same_human(vote.by, request.requester):
        return Refusal(
            "OwnRequest", f"{vote.by.user} requested it and cannot approve it: ask another approver."
        )
    return None


def _open_to(vote: Vote, voice: Person, places: Iterable[Seat]) -> list[Seat]:
    """The places that a voice may fill: all that fit, and of the request's own only the chosen one."""
    chosen = vote.place
    return [
        place
        for place in places
        if place.fits(voice)
        and (
            chosen is None
            or place.policy
            or (chosen.kind == place.kind and mailbox(chosen.name) == mailbox(place.name))
        )
    ]


def _groups(places: Iterable[Seat]) -> tuple[tuple[Seat, ...], ...]:
    groups: dict[str, list[Seat]] = {}
    for place in places:
        groups.setdefault(place.policy, []).append(place)
    return tuple(map(tuple, groups.values()))


def _filled(request: Request, votes: Sequence[Vote]) -> dict[Seat, Vote]:
    """As many places as can be filled, in each group on its own."""
    groups = (_seated(group, votes, request.requester) for group in _groups(request.places))
    return {place: vote for group in groups for place, (vote, _) in group.items()}


def _seated(
    places: Sequence[Seat], votes: Iterable[Vote], requester: Person
) -> dict[Seat, tuple[Vote, Person]]:
    """The places of a group, each with the vote that fills it and as whom it speaks.

    Those who are asked there speak as themselves, all others as the person whose deputy they are.
    """
    given = [vote for vote in votes if vote.verdict == "approve"]
    own = [vote for vote in given if _open_to(vote, vote.by, places)]
    deputies = [vote for vote in given if vote not in own]
    number = {place: at for at, place in enumerate(places)}
    people = [vote.by for vote in own]
    may_be = [[at] for at in range(len(own))]
    may_fill = [[number[place] for place in _open_to(vote, vote.by, places)] for vote in own]
    for vote in deputies:
        may_be.append([])
        for voice in voices(vote.by, vote.at, requester):
            at = next((at for at, one in enumerate(people) if same_voter(one, voice)), len(people))
            if at < len(own) or not _open_to(vote, voice, places):
                continue
            if at == len(people):
                people.append(voice)
                may_fill.append([number[place] for place in places if place.fits(voice)])
            may_be[-1].append(at)
    speakers = (*own, *deputies)
    found = matched(may_be, may_fill).items()
    return {places[place]: (speakers[by], people[who]) for place, (by, who) in found}
