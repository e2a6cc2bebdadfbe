"""The approval machine beside a model that thinks as slowly and plainly as a clerk with a list.

Any order of requests, decisions, retries, stale and foreign votes, changes of the spec and waiting. The model
hears each vote when it is cast and never looks back; the machine is given everything anew each time.
"""

from itertools import permutations

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from whenever import Instant

from hibernator.decisions.approval import Request, Seat, Verdict, Vote, stand
from hibernator.decisions.person import Person

START = Instant.from_utc(2026, 1, 1)
PATIENCE = 1000  # minutes
ROLES = ("head", "manager", "oncall")
PEOPLE = tuple(
    Person(f"user{number}", f"user{number}@x.example", frozenset(roles))
    for number, roles in enumerate([(), ("head",), ("manager",), ("head", "manager"), ("oncall",), (), ROLES])
)
ALIASES = {  # other log-ins, of people who are known by an address
    Person("alias", "User1@X.example", frozenset({"head"})): PEOPLE[1],
    Person("claims", roles=frozenset({"manager"}), extra=(("mail", "USER2@x.example"),)): PEOPLE[2],
}
PLACES = (*(Seat("role", role) for role in ROLES), *(Seat("email", one.email) for one in PEOPLE[:6]))


class Approval(RuleBasedStateMachine):
    @initialize(
        places=st.lists(st.sampled_from(PLACES), min_size=1, max_size=4, unique=True),
        data=st.data(),
        requester=st.sampled_from(PEOPLE),
        own_allowed=st.booleans(),
    )
    def ask(self, places: list[Seat], data: st.DataObject, requester: Person, *, own_allowed: bool) -> None:
        self.minute = 0
        self.request = Request(
            requester=requester,
            places=tuple(places),
            needed=data.draw(st.integers(1, len(places))),
            asked_at=START,
            deadline=START.add(minutes=PATIENCE),
            uid="uid",
            spec_hash="asked",
            own_allowed=own_allowed,
        )
        self.votes: list[Vote] = []
        self.heard: dict[Person, Verdict] = {}  # the clerk's list: whose word counts
        self.ended: tuple[str, str] | None = None

    @property
    def now(self) -> Instant:
        return START.add(minutes=self.minute)

    @rule(minutes=st.sampled_from([1, 5, 100, 999]))
    def wait(self, minutes: int) -> None:
        self.minute += minutes
        if not self.ended and self.minute >= PATIENCE:
            self.ended = "Rejected", "hibernator"

    @rule(
        person=st.sampled_from([*PEOPLE, *ALIASES]),
        verdict=st.sampled_from(["approve", "approve", "reject"]),
        spec_hash=st.sampled_from(["asked", "asked", "asked", "older"]),
    )
    def say(self, person: Person, verdict: Verdict, spec_hash: str) -> None:
        self.minute += 1
        if not self.ended and self.minute >= PATIENCE:
            self.ended = "Rejected", "hibernator"
        vote = Vote(by=person, verdict=verdict, at=self.now, uid="uid", spec_hash=spec_hash)
        expected = self.hears(vote)
        self.votes.append(vote)
        assert any(vote is one for one in stand(self.request, self.votes, self.now).counted) == expected

    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        """A retry of what may have been written already changes nothing."""
        if self.votes:
            again = data.draw(st.sampled_from(self.votes))
            twice = stand(self.request, [*self.votes, again], self.now)
            assert twice.outcome == stand(self.request, self.votes, self.now).outcome

    @invariant()
    def they_agree(self) -> None:
        found = stand(self.request, reversed(self.votes), self.now)
        outcome = (found.outcome.state, found.outcome.actor) if found.outcome else None
        assert outcome == self.ended
        assert {(vote.by, vote.verdict) for vote in found.counted} == set(self.heard.items())
        assert len(found.counted) + len(found.refused) == len(self.votes)
        assert len(set(map(id, found.filled.values()))) == len(found.filled)

    def hears(self, vote: Vote) -> bool:
        human = ALIASES.get(vote.by, vote.by)
        known = {ALIASES.get(person, person) for person in self.heard}
        welcome = any(_fits(place, vote.by) for place in self.request.places)
        if self.ended or human in known or not welcome:
            return False
        if vote.verdict == "approve":
            own = human == self.request.requester and not self.request.own_allowed
            if own or vote.spec_hash != "asked":
                return False
        self.heard[vote.by] = vote.verdict
        if vote.verdict == "reject":
            self.ended = "Rejected", vote.by.user
        elif self.most_places() >= self.request.needed:
            self.ended = "Approved", vote.by.user
        return True

    def most_places(self) -> int:
        """Try every way to seat those who agreed."""
        places = self.request.places
        agreed = [person for person, verdict in self.heard.items() if verdict == "approve"]
        chairs: list[Seat | None] = [*places, *([None] * len(agreed))]
        return max(
            sum(place is not None and _fits(place, one) for one, place in zip(agreed, seats, strict=True))
            for seats in set(permutations(chairs, len(agreed)))
        )


def _fits(place: Seat, person: Person) -> bool:
    return place.name in person.roles or place.name == person.email.lower()


TestApproval = Approval.TestCase
TestApproval.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
