"""Somebody who is away has a deputy, who never adds a voice that nobody gave them."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from whenever import TimeDelta

from decisions.test_approval import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    NOON,
    TO_BOB,
    TO_CAROL,
    approval,
    rejection,
    request,
)
from hibernator.decisions.approval import Request, Seat, Vote, stand
from hibernator.decisions.person import Absence, Person

ERIN = Person("erin", "erin@company.com")
HEAD, MANAGER = Seat("role", "engineeringHead"), Seat("role", "manager")


def deputy(of: Person, who: Person = DAVE, since: float = 0, until: float = 60) -> Person:
    """Somebody who decides for another in these minutes after noon."""
    one = Absence(of, who.email, NOON + TimeDelta(minutes=since), NOON + TimeDelta(minutes=until))
    return replace(who, deputy_for=(*who.deputy_for, one))


def found(asked: Request, *votes: Vote) -> Any:
    return stand(asked, votes, NOON.add(hours=1))


def refusal(asked: Request, *votes: Vote) -> str:
    refused = found(asked, *votes).refused
    return next((why.message for vote, why in refused if vote is votes[-1]), "")


def test_a_deputy_fills_the_place_of_the_one_who_is_away() -> None:
    for seat in (TO_CAROL, MANAGER):
        yes = approval(deputy(CAROL))
        standing = found(request(seat), yes)
        assert standing.state == "Approved"
        assert standing.behalf_of(yes) == "carol@company.com"


@pytest.mark.parametrize(
    ("minutes", "state"), [(4, "Pending"), (5, "Approved"), (9, "Approved"), (10, "Pending")]
)
def test_a_deputy_decides_only_while_the_other_is_away(minutes: int, state: str) -> None:
    assert found(request(TO_CAROL), approval(deputy(CAROL, since=5, until=10), minutes)).state == state


def test_a_deputy_may_reject() -> None:
    no = rejection(deputy(CAROL))
    assert (found(request(), no).state, found(request(), no).behalf_of(no)) == (
        "Rejected",
        "carol@company.com",
    )


def test_who_is_asked_decides_for_themselves_and_is_one_pair_of_eyes() -> None:
    yes = approval(deputy(CAROL, BOB))
    standing = found(request(), yes)
    assert (standing.state, standing.behalf_of(yes)) == ("Pending", "")
    assert [place.name for place in standing.filled] == ["bob@company.com"]
    both = request(HEAD, MANAGER)
    assert found(both, approval(deputy(CAROL, BOB))).state == "Pending"


def test_who_is_asked_by_one_policy_may_fill_the_place_of_another_in_a_second() -> None:
    places = replace(TO_BOB, policy="a"), replace(TO_CAROL, policy="b")
    asked = request(*places, needed=0, needs=(("a", 1), ("b", 1)))
    assert found(asked, approval(deputy(CAROL, BOB))).state == "Approved"


def test_who_has_a_deputy_still_has_one_voice() -> None:
    """Or a member of two required roles could go away, and approve twice with a friend's help."""
    carol = replace(CAROL, roles=frozenset({"manager", "engineeringHead"}))
    asked = request(HEAD, MANAGER)
    first, second = approval(carol), approval(deputy(carol), 2)
    assert found(asked, first, second).state == "Pending"
    assert "dave is the deputy of carol, who has decided already" in refusal(asked, first, second)
    assert found(asked, approval(deputy(carol)), approval(carol, 2)).state == "Pending"


def test_the_deputy_of_two_gives_way_to_the_one_who_comes_back() -> None:
    dave = deputy(ERIN, deputy(CAROL))
    asked = request(TO_CAROL, Seat("email", "erin@company.com"))
    assert found(asked, approval(dave)).state == "Pending"
    assert found(asked, approval(dave), approval(CAROL, 2)).state == "Approved"


def test_it_does_not_matter_which_of_two_deputies_approves_first() -> None:
    """Dave is the deputy of both who are away, frank of one: together they are enough."""
    dave, frank = deputy(ERIN, deputy(CAROL)), deputy(CAROL, Person("frank", "frank@company.com"))
    asked = request(TO_CAROL, Seat("email", "erin@company.com"))
    for first, second in ((dave, frank), (frank, dave)):
        yes = approval(first), approval(second, 2)
        standing = found(asked, *yes)
        assert standing.state == "Approved"
        spoken = {vote.by.user: standing.behalf_of(vote) for vote in yes}
        assert spoken == {"dave": "erin@company.com", "frank": "carol@company.com"}


def test_a_deputy_speaks_for_whom_a_place_is_left() -> None:
    """Bob fills the one place of carol, so dave approves for erin, whose role is asked for, too."""
    bob = replace(BOB, roles=frozenset({"manager"}))
    dave = deputy(replace(ERIN, roles=frozenset({"manager", "engineeringHead"})), deputy(CAROL))
    standing = found(request(MANAGER, HEAD), approval(bob), approval(dave, 2))
    assert standing.state == "Approved"


def test_the_requester_is_no_ones_deputy_and_has_none() -> None:
    assert "cannot approve it" in refusal(request(TO_CAROL), approval(deputy(CAROL, ALICE)))
    allowed = request(TO_CAROL, own_allowed=True)
    assert "not among those" in refusal(allowed, approval(deputy(CAROL, ALICE)))
    mine = request(Seat("email", "alice@company.com"), TO_CAROL, needed=1)
    assert "not among those" in refusal(mine, approval(deputy(ALICE)))
    assert "not among those" in refusal(mine, approval(deputy(Person("x", "Alice+away@company.com"))))


def test_a_deputy_of_a_deputy_decides_nothing() -> None:
    erin = deputy(deputy(CAROL), ERIN)
    assert "not among those" in refusal(request(TO_CAROL), approval(erin))


_ALL = (ALICE, BOB, CAROL, DAVE, ERIN)
_ROLES = st.sets(st.sampled_from(["manager", "engineeringHead"]), max_size=2)
_SEATS = st.sets(
    st.sampled_from([TO_BOB, TO_CAROL, HEAD, MANAGER, Seat("email", "erin@company.com")]), min_size=1
)


@settings(max_examples=300)
@given(
    _SEATS,
    st.lists(_ROLES, min_size=5, max_size=5),
    st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6),
    st.permutations(range(5)),
    st.integers(1, 5),
)
def test_each_place_is_filled_by_other_eyes_and_by_the_voice_of_another(
    seats: Any, roles: Any, absences: Any, order: Any, number: int
) -> None:
    people = [replace(one, roles=frozenset(held)) for one, held in zip(_ALL, roles, strict=True)]
    deputies = list(people)
    for who, away in sorted(absences):
        if who != away:
            deputies[who] = deputy(people[away], deputies[who])
    asked = request(*sorted(seats, key=str))
    standing = found(
        asked, *(approval(deputies[one], minute) for minute, one in enumerate(order[:number], 1))
    )
    voices = []
    for place, vote in standing.filled.items():
        assert vote.by.user != "alice"
        able = [vote.by] if place.fits(vote.by) else []
        able += [one.away for one in vote.by.deputy_for if place.fits(one.away)]
        voices.append({one.user for one in able} - {"alice"})
    assert len({vote.by.user for vote in standing.filled.values()}) == len(standing.filled)
    assert _each_its_own(voices)


def _each_its_own(sets: list[set[str]]) -> bool:
    """Whether each place can be spoken for by a person of its own."""
    if not sets:
        return True
    return any(_each_its_own([other - {one} for other in sets[1:]]) for one in sets[0])
