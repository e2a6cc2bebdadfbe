"""Who asked to delete something is who did it, if it went about then; on both databases."""

import pytest
from hypothesis import given, strategies as st
from whenever import Instant, TimeDelta

from hibernator.audit import asked
from hibernator.audit.asked import DeletionRequest, deleter
from hibernator.audit.database import Database
from hibernator.audit.event import AuditEvent, Resource, event, person
from hibernator.audit.store import ChainStore
from support.trail import NOON

ALICE, BOB = "alice@company.com", "bob@company.com"


def wish(user: str, uid: str = "u-1", number: int = 1) -> AuditEvent:
    about = Resource(group="kyklos.io", kind="TimeWindowScaler", namespace="shop", name="hours", uid=uid)
    return event(asked.TYPE, about, at=NOON, identity=(number,), actor=person(user), channel="admission")


def moments() -> st.SearchStrategy[Instant]:
    return st.integers(10**6, 4 * 10**9).map(Instant.from_timestamp)


def later(at: Instant, seconds: float) -> Instant:
    return at + TimeDelta(seconds=seconds)


@given(at=moments(), lasting=st.integers(0, 10**9), seconds=st.integers(-120, 0), user=st.text(min_size=1))
def test_whoever_asked_shortly_before_or_meanwhile_has_done_it(
    at: Instant, lasting: int, seconds: int, user: str
) -> None:
    for moment in (later(at, seconds), later(at, lasting / 2), later(at, lasting - seconds)):
        assert deleter([DeletionRequest("u-1", moment, user)], at, later(at, lasting)) == user


@given(at=moments(), seconds=st.floats(121, 10**6), sign=st.sampled_from([1, -1]))
def test_a_wish_that_was_refused_says_nothing_of_what_happens_later(
    at: Instant, seconds: float, sign: int
) -> None:
    assert deleter([DeletionRequest("u-1", later(at, sign * seconds), BOB)], at, at) == ""


@given(at=moments(), seconds=st.lists(st.integers(-119, 119), min_size=1, unique=True))
def test_of_several_the_last_one_did_it(at: Instant, seconds: list[int]) -> None:
    told = [DeletionRequest("u-1", later(at, one), f"user {one}") for one in seconds]
    assert deleter(told, at, at) == f"user {max(seconds)}"


@pytest.mark.parametrize("moment", [Instant.MIN, Instant.MAX])
def test_the_ends_of_time_name_no_one_and_hold_up_nothing(moment: Instant) -> None:
    assert deleter([DeletionRequest("u-1", moment, BOB)], NOON, NOON) == ""
    assert deleter([DeletionRequest("u-1", NOON, BOB)], moment, moment) == ""


def test_whoever_asked_since_the_beginning_of_time_has_done_it() -> None:
    """A lease that somebody wrote by hand may well have been renewed in the year one."""
    assert deleter([DeletionRequest("u-1", NOON, BOB)], Instant.MIN, Instant.MAX) == BOB


async def test_who_asked_is_found_in_the_chain_and_before_the_leader_has_come_to_it(
    database: Database,
) -> None:
    store = ChainStore(database, now=lambda: NOON)
    await store.prepare()
    epoch = await store.claim("leader")
    await store.append(epoch, [wish(ALICE, "u-1"), wish(ALICE, "other")])
    await store.deliver([wish(BOB, "u-1", 2), wish(BOB, "u-2"), wish(BOB, "other", 2)])
    found = await store.asked(["u-1", "u-2", "u-3"])
    assert sorted(found) == [
        DeletionRequest("u-1", NOON, ALICE),
        DeletionRequest("u-1", NOON, BOB),
        DeletionRequest("u-2", NOON, BOB),
    ]
    assert await store.drain(epoch, 10) == 3
    assert sorted(await store.asked(["u-1", "u-2", "u-3"])) == sorted(found)


async def test_whom_someone_asked_to_delete_does_not_live_because_of_it(database: Database) -> None:
    store = ChainStore(database, now=lambda: NOON)
    await store.prepare()
    await store.append(await store.claim("leader"), [wish(ALICE)])
    assert await store.living() == []
