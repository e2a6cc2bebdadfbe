"""Schedules at the largest that the CRDs allow: laying them out costs milliseconds."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta

import msgspec
import pytest
from whenever import Instant

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.hibernateplan import HibernatePlan, PlanHolidays, Schedule
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions import scaler_timeline
from hibernator.decisions.hibernateplan_order import cut_off
from hibernator.decisions.impact import impact
from hibernator.schedule.cron import convert_off_hours_to_cron, cron_to_off_hours
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.holidays import NO_HOLIDAYS, DaysOff, load_holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.problems import check_scaler_beta
from hibernator.schedule.zones import _known
from support.costs import at_most

ENOUGH = 5_000_000  # lines; a quarter of a second
NOON = Instant("2026-03-02T12:00:00Z")
DAYS = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
WINDOWS = [
    {
        "start": f"{number % 24:02}:{number * 7 % 60:02}",
        "end": f"{(number + 5) % 24:02}:{number * 11 % 60:02}",
        "daysOfWeek": DAYS,
    }
    for number in range(64)
]
SCHEDULE = {"timezone": "Europe/Berlin", "offHours": WINDOWS, "holidays": {"mode": "stay-awake"}}


def scaler(zones: Callable[[int], str]) -> v1beta1.TimeWindowScalerSpec:
    windows = [
        {
            "days": [day.title() for day in DAYS],
            "start": window["start"],
            "end": window["end"],
            "replicas": number,
            "timezone": zones(number),
        }
        for number, window in enumerate(WINDOWS)
    ]
    spec = {
        "targetRef": {"kind": "Deployment", "name": "web"},
        "timezone": "Europe/Berlin",
        "defaultReplicas": 0,
        "gracePeriodSeconds": 3600,
        "windows": windows,
    }
    return msgspec.convert(spec, v1beta1.TimeWindowScalerSpec)


def test_a_plan_with_as_many_windows_exceptions_and_holidays_as_there_can_be() -> None:
    days = {date(2022, 1, 1) + timedelta(days=2 * number): "off" for number in range(1600)}
    holidays, _ = load_holidays(PlanHolidays(mode="stay-awake"), DaysOff.of(days))
    exception = msgspec.convert(
        {
            "metadata": {"name": "long"},
            "spec": {
                "planRef": {"name": "p"},
                "type": "suspend",
                "leadTime": "2160h",
                "validFrom": "2026-03-01T00:00:00Z",
                "validUntil": "2026-05-29T00:00:00Z",
                "windows": WINDOWS,
            },
        },
        ScheduleException,
    )
    targets = [{"name": "apps", "type": "noop"}]
    plan = msgspec.convert(
        {"metadata": {"name": "p"}, "spec": {"schedule": SCHEDULE, "targets": targets}}, HibernatePlan
    )
    schedule = msgspec.convert(SCHEDULE, Schedule)
    PlanTimeline(schedule).at(NOON)  # learns the zone
    with at_most(ENOUGH):
        timeline = PlanTimeline(schedule, [(f"e{number}", exception.spec) for number in range(100)], holidays)
        assert timeline.at(NOON).message
        assert timeline.explain(NOON).rules
    with at_most(ENOUGH):
        impact(plan, exception, holidays)


def test_a_scaler_with_as_many_windows_and_zones_as_there_can_be() -> None:
    zones = sorted(_known())
    spec = scaler(lambda number: zones[number * 9])
    with at_most(ENOUGH):
        timeline = scaler_timeline.timeline(spec, NO_HOLIDAYS, 1, {})
        for month in range(1, 13):
            moment = Instant.from_utc(2026, month, 2, 12)
            assert timeline.at(moment).message
            scaler_timeline.present_window(spec, timeline, moment)


@pytest.mark.parametrize("zone", ["Nowhere/Zone", "Nowhere/" * 500, "CEST"])
def test_zones_that_do_not_exist(zone: str) -> None:
    spec = scaler(lambda number: f"{zone}{number}")
    with at_most(ENOUGH):
        problems = list(check_scaler_beta(spec))
    assert len(problems) == 64
    assert all(len(problem.message) < 200 for problem in problems)


@pytest.mark.parametrize(
    ("hibernate", "wake_up"),
    [
        (",".join(["*/2"] * 20_000) + " * * * *", "1 * * * *"),
        ("*/2 * * * *", "1-59/2 * * * *"),
        ("0 20 * * " + ",".join(["MON-FRI/1"] * 20_000), "0 6 * * *"),
        ("0" * 100_000 + " 20 * * *", "0 6 * * *"),
        ("0 20 * * *" + " *" * 100_000, "0 6 * * *"),
    ],
    ids=["a long list", "every minute", "many ranges", "a long number", "many fields"],
)
def test_cron_lines_of_any_length(hibernate: str, wake_up: str) -> None:
    with at_most(ENOUGH), suppress(ScheduleError):
        cron_to_off_hours(hibernate, wake_up)


def test_as_many_windows_as_there_can_be_as_cron_lines() -> None:
    windows = msgspec.convert(SCHEDULE, Schedule).off_hours
    with at_most(ENOUGH), suppress(ScheduleError):
        convert_off_hours_to_cron(windows)


def test_an_order_of_as_many_targets_and_dependencies_as_there_can_be() -> None:
    names = [f"t{number}" for number in range(100)]
    plan = msgspec.convert(
        {
            "metadata": {"name": "p"},
            "spec": {
                "schedule": SCHEDULE,
                "targets": [{"name": name, "type": "noop"} for name in names],
                "execution": {
                    "strategy": {
                        "type": "DAG",
                        "dependencies": [
                            {"from": names[number], "to": names[number + 1]} for number in reversed(range(99))
                        ]
                        * 2,
                    }
                },
            },
            "status": {
                "targets": [
                    {"name": name, "state": "Failed" if name == "t0" else "Pending"} for name in names
                ]
            },
        },
        HibernatePlan,
    )
    states = {target.name: target for target in plan.status.targets}
    with at_most(ENOUGH):
        pairs = [(edge.from_, edge.to) for edge in plan.spec.execution.strategy.dependencies]
        assert len(cut_off(pairs, states)) == 99
