"""What a plan remembers of its exceptions, so that policies can count those that were deleted."""

import msgspec
from whenever import Instant

from hibernator.api.planstatus import RecentException
from hibernator.decisions.hibernateplan import remembered

NOW = Instant.from_utc(2026, 1, 29, 10)


def held(uid: str, since: int, until: int) -> RecentException:
    """One that holds from and until so many hours from now."""
    return msgspec.convert(
        {
            "uid": uid,
            "name": uid,
            "beganAt": NOW.add(hours=since).to_stdlib(),
            "validUntil": NOW.add(hours=until).to_stdlib(),
        },
        RecentException,
    )


def test_one_that_was_deleted_stays_for_a_week_and_ends_where_it_was_deleted() -> None:
    gone = remembered([held("a", -2, 5)], (), NOW)
    assert gone == (held("a", -2, 0),)
    assert remembered(gone, (), NOW.add(hours=6 * 24)) == gone
    assert remembered(gone, (), NOW.add(hours=7 * 24 - 3)) == gone
    assert remembered(gone, (), NOW.add(hours=7 * 24)) == ()


def test_one_that_never_held_is_forgotten() -> None:
    assert remembered([held("a", 1, 5)], (), NOW) == ()


def test_those_in_force_are_remembered_as_they_are() -> None:
    assert remembered([held("a", -2, 5)], [held("a", -2, 9), held("b", 3, 4)], NOW) == (
        held("a", -2, 9),
        held("b", 3, 4),
    )
