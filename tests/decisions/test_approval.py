"""What counts as agreement, case by case."""

from typing import Any

import pytest
from whenever import Instant, TimeDelta

from hibernator.decisions.approval import Outcome, Request, Seat, Vote, over, stand
from hibernator.decisions.person import Person

NOON = Instant.from_utc(2026, 1, 29, 12)
ALICE = Person("alice", "alice@company.com")
BOB = Person("bob", "bob@company.com", frozenset({"engineeringHead"}))
CAROL = Person("carol", "carol@company.com", frozenset({"manager"}))
DAVE = Person("dave", "dave@company.com")
BOTH = Person("erin", "erin@company.com", frozenset({"engineeringHead", "manager"}))
TO_BOB, TO_CAROL = Seat("email", "bob@company.com"), Seat("email", "carol@company.com")
HEAD, MANAGER = Seat("role", "engineeringHead"), Seat("role", "manager")


def request(*places: Seat, **terms: Any) -> Request:
    places = places or (TO_BOB, TO_CAROL)
    given: dict[str, Any] = {
        "requester": ALICE,
        "places": places,
        "needed": len(places),
        "asked_at": NOON,
        "deadline": NOON.add(hours=24 * 30),
        "uid": "u1",
        "spec_hash": "h1",
    }
    return Request(**(given | terms))


def approval(by: Person, minutes: float = 1, **more: Any) -> Vote:
    at = NOON + TimeDelta(minutes=minutes)
    given: dict[str, Any] = {"by": by, "verdict": "approve", "at": at, "uid": "u1", "spec_hash": "h1"}
    return Vote(**(given | more))


def rejection(by: Person, minutes: float = 1, reason: str = "") -> Vote:
    return Vote(by=by, verdict="reject", at=NOON + TimeDelta(minutes=minutes), reason=reason)


def state(asked: Request, *votes: Vote, hours: float = 1) -> str:
    return stand(asked, votes, NOON + TimeDelta(hours=hours)).state


def refusal(asked: Request, *votes: Vote) -> tuple[str, str]:
    """Why the last of these does not count."""
    refused = stand(asked, votes, NOON.add(hours=1)).refused
    found = next((why for vote, why in refused if vote is votes[-1]), None)
    return (found.reason, found.message) if found else ("", "")


def test_it_waits_until_everyone_has_agreed() -> None:
    assert state(request()) == "Pending"
    assert state(request(), approval(BOB)) == "Pending"
    assert state(request(), approval(BOB), approval(CAROL, 2)) == "Approved"


def test_a_number_of_them_is_enough_where_a_number_was_asked_for() -> None:
    assert state(request(needed=1), approval(CAROL)) == "Approved"


def test_the_last_who_was_needed_decides() -> None:
    found = stand(request(), [approval(CAROL, 2), approval(BOB)], NOON.add(hours=1))
    assert found.outcome == Outcome("Approved", "carol", NOON.add(minutes=2))


def test_one_rejection_ends_it() -> None:
    found = stand(request(), [approval(BOB), rejection(CAROL, 2, "not in freeze")], NOON.add(hours=1))
    assert found.outcome == Outcome("Rejected", "carol", NOON.add(minutes=2), "not in freeze")
    assert [found.status_of(place) for place in (TO_BOB, TO_CAROL)] == ["approved", "rejected"]


def test_of_two_who_speak_at_once_the_no_is_heard() -> None:
    assert state(request(needed=1), approval(BOB), rejection(CAROL)) == "Rejected"


def test_a_rejection_by_someone_who_was_not_asked_is_no_rejection() -> None:
    assert state(request(), rejection(DAVE)) == "Pending"


def test_who_comes_after_the_end_is_told_who_decided_what_and_when() -> None:
    votes = approval(BOB), rejection(CAROL, 2, "freeze")
    assert refusal(request(needed=1), *votes) == (
        "DecidedBefore",
        "It was approved already, by bob at 2026-01-29T12:01:00Z.",
    )
    told = over(Outcome("Rejected", "carol", NOON, "freeze"))
    assert told.message == "It was rejected already, by carol at 2026-01-29T12:00:00Z (freeze)."


def test_no_one_decides_twice() -> None:
    assert refusal(request(), approval(BOB), rejection(BOB, 2)) == (
        "AlreadyDecided",
        "bob has approved it already, at 2026-01-29T12:01:00Z; that is final.",
    )
    assert refusal(request(), approval(BOB), approval(BOB, 2))[0] == "AlreadyDecided"


def test_one_person_under_two_user_names_decides_once() -> None:
    other = Person("sso:bob", "Bob@Company.com")
    assert refusal(request(), approval(BOB), approval(other, 2))[0] == "AlreadyDecided"


def test_silence_ends_at_the_deadline() -> None:
    found = stand(request(), [approval(BOB)], NOON.add(hours=24 * 30))
    assert found.outcome == Outcome("Rejected", "hibernator", NOON.add(hours=24 * 30), "ApprovalTimeout")
    assert state(request(), approval(BOB), hours=24 * 30 - 0.01) == "Pending"


def test_what_is_said_at_the_deadline_is_too_late() -> None:
    late = approval(CAROL, 30 * 24 * 60)
    assert refusal(request(), approval(BOB), late) == (
        "TooLate",
        "It is too late to decide: the deadline was 2026-02-28T12:00:00Z.",
    )


def test_what_was_said_before_anybody_was_asked_does_not_count() -> None:
    assert refusal(request(), approval(BOB, -1))[0] == "TooEarly"
    assert refusal(request(), rejection(BOB, -1))[0] == "TooEarly"


@pytest.mark.parametrize("change", [{"uid": "u2"}, {"spec_hash": "h2"}, {"spec_hash": ""}, {"uid": ""}])
def test_an_approval_of_something_else_does_not_count(change: dict[str, Any]) -> None:
    assert refusal(request(), approval(BOB, **change))[0] == "Stale"


@pytest.mark.parametrize(
    "myself",
    [
        Person("alice"),
        Person("sso:alice", "ALICE@Company.COM"),
        Person("sso:alice", "alice+approver@company.com"),
        Person("sso:alice", "\N{FULLWIDTH LATIN SMALL LETTER A}lice@company.com"),
        Person("sso:alice", extra=(("mail", "alice@company.com"),)),
        Person("sso:alice", "a.liddell@company.com", extra=(("mail", "Alice+x@company.com"),)),
    ],
)
def test_the_requester_cannot_approve_under_any_name(myself: Person) -> None:
    asked = request(Seat("email", myself.email or "alice@company.com"))
    assert refusal(asked, approval(myself))[0] == "OwnRequest"


def test_two_log_ins_that_bring_the_same_address_are_one_person() -> None:
    one = Person(
        "u-1", roles=frozenset({"manager"}), extra=(("mail", "m@company.com"), ("upn", "m1@x.example"))
    )
    two = Person("u-2", roles=frozenset({"engineeringHead"}), extra=(("email", "M@company.com"),))
    asked = request(HEAD, MANAGER)
    assert refusal(asked, approval(one), approval(two, 2))[0] == "AlreadyDecided"
    assert refusal(request(HEAD, requester=one), approval(two))[0] == "OwnRequest"


def test_no_one_approves_where_no_one_knows_who_asked() -> None:
    assert refusal(request(requester=Person("")), approval(BOB))[0] == "RequesterUnknown"
    assert state(request(requester=Person("")), rejection(BOB)) == "Rejected"


def test_the_requester_may_approve_where_the_operator_allows_it() -> None:
    assert state(request(Seat("email", "alice@company.com"), own_allowed=True), approval(ALICE)) == "Approved"


def test_the_requester_may_say_no() -> None:
    assert state(request(Seat("email", "alice@company.com")), rejection(ALICE)) == "Rejected"


@pytest.mark.parametrize(
    ("email", "counts"),
    [
        ("Bob@COMPANY.com", True),
        (" bob@company.com", False),
        ("bob@\N{CYRILLIC SMALL LETTER ES}ompany.com", False),
        ("bob+x@company.com", False),
        ("bob@company.com.evil.example", False),
        ("", False),
    ],
)
def test_an_address_is_the_same_whatever_its_case_and_another_whatever_it_looks_like(
    email: str,
    counts: bool,  # noqa: FBT001  a column of the table
) -> None:
    assert (refusal(request(), approval(Person("x", email)))[0] == "") is counts


@pytest.mark.parametrize(
    ("asked", "lookalike"),
    [
        ("kate@x.example", "\N{KELVIN SIGN}ate@x.example"),
        ("boss@x.example", "bo\N{LATIN SMALL LETTER SHARP S}@x.example"),
    ],
)
def test_letters_that_only_fold_to_the_same_are_someone_else_who_agrees_for_no_one(
    asked: str, lookalike: str
) -> None:
    assert refusal(request(Seat("email", asked)), approval(Person("x", lookalike)))[0] == "NotAsked"
    own = request(Seat("role", "manager"), requester=Person("me", asked))
    assert refusal(own, approval(Person("x", lookalike, frozenset({"manager"}))))[0] == "OwnRequest"


def test_a_rejection_is_told_as_one_whatever_its_reason_says() -> None:
    found = stand(request(), [rejection(CAROL, 2, "ApprovalTimeout")], NOON.add(hours=1))
    assert found.outcome is not None
    assert not found.outcome.is_timeout
    assert (
        over(found.outcome).message
        == "It was rejected already, by carol at 2026-01-29T12:02:00Z (ApprovalTimeout)."
    )


def test_someone_of_each_role_must_agree() -> None:
    assert state(request(HEAD, MANAGER), approval(BOB)) == "Pending"
    assert state(request(HEAD, MANAGER), approval(BOB), approval(CAROL, 2)) == "Approved"


def test_one_person_with_two_roles_is_one_pair_of_eyes() -> None:
    assert state(request(HEAD, MANAGER), approval(BOTH)) == "Pending"


@pytest.mark.parametrize("other", [BOB, CAROL])
def test_a_person_with_two_roles_makes_room_for_one_who_has_a_single_one(other: Person) -> None:
    assert state(request(HEAD, MANAGER), approval(BOTH), approval(other, 2)) == "Approved"


def test_whoever_names_a_role_agrees_in_that_role_only() -> None:
    chosen = approval(BOTH, place=MANAGER)
    assert state(request(HEAD, MANAGER), chosen, approval(CAROL, 2)) == "Pending"
    assert state(request(HEAD, MANAGER), chosen, approval(BOB, 2)) == "Approved"
    assert refusal(request(HEAD, MANAGER), approval(BOB, place=MANAGER))[0] == "NotAsked"


def test_someone_who_was_not_asked_is_told_who_was() -> None:
    assert refusal(request(HEAD, TO_CAROL), approval(DAVE)) == (
        "NotAsked",
        "dave is not among those whose agreement is needed: engineeringHead, carol@company.com.",
    )
