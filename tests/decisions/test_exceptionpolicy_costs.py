"""Policies at the largest that the CRD allows: what a planner writes keeps no other namespace waiting."""

from typing import Any

import pytest

from decisions.exception_seen import exception
from decisions.policies import asked, policy
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.pattern import found_in
from support.costs import at_most

ENOUGH = 5_000_000  # lines; a quarter of a second
DAYS = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]


def windows(number: int, minute: int) -> list[dict[str, Any]]:
    return [
        {"start": f"{one % 24:02}:{minute + one // 24:02}", "end": f"{one % 24:02}:50", "daysOfWeek": DAYS}
        for one in range(number)
    ]


def longest() -> ScheduleException:
    found: ScheduleException = exception(
        validFrom="2026-02-01T00:00:00Z",
        validUntil="2026-05-01T00:00:00Z",
        windows=windows(64, 0),
        reason="".join(map(chr, range(32, 1055))),
    )
    return found


def heavy(name: str, freezes: int, hours: int, **more: Any) -> Any:
    frozen = {"windows": windows(hours, 30), "override": {"roles": ["director"]}}
    return policy(name, require={"roles": ["manager"]}, freeze=[frozen] * freezes, **more)


def test_sixteen_policies_with_all_windows_and_the_slowest_patterns() -> None:
    patterns = [chr(97 + number) + ".?[^a]?\\w?" * 12 for number in range(8)]
    patterns += [f"{chr(97 + number)}.{{200}}\x00" for number in range(8)]
    found_in.cache_clear()
    many = [
        heavy(f"p{number}", 1, 8, reasonRequired=True, reasonPattern=pattern)
        for number, pattern in enumerate(patterns)
    ]
    with at_most(ENOUGH):
        assert len(asked(longest(), *many).each) == 16


@pytest.mark.parametrize(
    ("policies", "why"),
    [
        ([heavy(f"p{number}", 16, 16) for number in range(16)], "more than 128 windows"),
        (
            [heavy(f"p{number}", 0, 0, unless=[{"withinHours": windows(16, 30)}] * 8) for number in range(2)],
            "more than 128 windows",
        ),
        ([heavy(f"p{number:03}", 0, 0) for number in range(500)], "500 policies are about this exception"),
    ],
)
def test_more_than_can_be_laid_out_at_once_holds_and_is_not_even_read(policies: Any, why: str) -> None:
    with at_most(500_000):
        found = asked(longest(), *policies)
    assert why in found.problems[0]
