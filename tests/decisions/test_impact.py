"""What an exception changes, counted in hours of sleep."""

from typing import Any

import msgspec
import pytest
from whenever import Instant

from decisions.exception_seen import PLAN, exception
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.impact import Change, beside, changes, impact
from hibernator.schedule.timeline import State

# On Monday the plan sleeps from 20:00 on: no night begins on Sunday.
MONDAY: dict[str, Any] = {"validFrom": "2026-02-02T00:00:00Z", "validUntil": "2026-02-03T00:00:00Z"}


def window(start: str, end: str) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "daysOfWeek": ["MON"]}]


def active(name: str, **spec: Any) -> ScheduleException:
    found: ScheduleException = exception(name, **(MONDAY | {"windows": window("12:00", "13:00")} | spec))
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, state="Active"))


def test_each_stretch_is_named_with_what_it_becomes() -> None:
    replaced = active("party", type="replace", windows=window("04:00", "22:00"))
    assert changes(PLAN, replaced) == (
        Change(Instant("2026-02-02T04:00:00Z"), Instant("2026-02-02T20:00:00Z"), State.ASLEEP),
        Change(Instant("2026-02-02T22:00:00Z"), Instant("2026-02-03T00:00:00Z"), State.AWAKE),
    )
    found = impact(PLAN, replaced)
    assert (found.hours_asleep_gained, found.hours_asleep_lost) == (16.0, 2.0)


def test_hours_are_written_with_two_places() -> None:
    found = impact(PLAN, active("party", windows=window("12:00", "12:20")))
    assert (found.hours_asleep_gained, found.hours_asleep_lost) == (0.33, 0.0)


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({}, True),
        ({"planRef": {"name": "another"}}, False),
        ({"validFrom": "2026-02-03T00:00:00Z", "validUntil": "2026-02-04T00:00:00Z"}, False),
        ({"validFrom": "2026-02-01T00:00:00Z", "validUntil": "2026-02-02T00:00:00Z"}, False),
        ({"validFrom": "2026-02-01T00:00:00Z", "validUntil": "2026-02-02T00:00:01Z"}, True),
    ],
)
def test_only_those_of_the_plan_that_are_valid_at_the_same_time_are_beside_it(
    spec: dict[str, Any], *, counts: bool
) -> None:
    assert bool(beside(active("mine"), [active("other", **spec)])) is counts


def test_neither_itself_nor_one_that_is_over_or_going_is_beside_it() -> None:
    over = msgspec.structs.replace(active("over"), status=exception("over").status)
    going = msgspec.convert(
        msgspec.to_builtins(active("going"))
        | {"metadata": {"name": "going", "deletionTimestamp": "2026-02-01T00:00:00Z"}},
        ScheduleException,
    )
    assert beside(active("mine"), [active("mine"), over, going]) == ()


@pytest.mark.parametrize(
    ("items", "total"), [([], None), ([None], None), ([{}], None), ([{"total": 0}, None, {"total": 3}], 3)]
)
def test_workloads_are_counted_where_the_plan_has_counted_them(items: list[Any], total: int | None) -> None:
    targets = [
        {"name": str(number), "state": "Completed"} | ({} if one is None else {"items": one})
        for number, one in enumerate(items)
    ]
    plan = msgspec.convert(msgspec.to_builtins(PLAN) | {"status": {"targets": targets}}, HibernatePlan)
    assert impact(plan, active("party")).workloads == total
