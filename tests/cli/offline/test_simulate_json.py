"""The JSON of `simulate` is a contract: its shape, its cover, and that it says what the engine says."""

import json
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import given, strategies as st
from whenever import Instant

from cli.offline import samples, schedules
from hibernator.api.hibernateplan import Schedule
from hibernator.schedule.plan import PlanTimeline
from support.command import hibernator


def simulated(*documents: samples.Value, start: str, end: str) -> list[dict[str, Any]]:
    ran = hibernator(
        "simulate", "-f", "-", "--from", start, "--to", end, "-o", "json", stdin=samples.text(*documents)
    )
    assert ran.code == 0, ran.err
    timelines: list[dict[str, Any]] = json.loads(ran.out)["timelines"]
    return timelines


def test_a_night_of_a_plan() -> None:
    assert simulated(samples.plan(), start="2026-03-02T12:00:00Z", end="2026-03-03T12:00:00Z") == [
        {
            "kind": "HibernatePlan",
            "namespace": "default",
            "name": "dev",
            "timezone": "Europe/Berlin",
            "intervals": [
                {
                    "from": "2026-03-02T12:00:00Z",
                    "to": "2026-03-02T19:00:00Z",
                    "state": "Awake",
                    "window": None,
                    "reason": "WorkingHours",
                    "message": "Awake: no off-hours cover this time (Europe/Berlin).",
                },
                {
                    "from": "2026-03-02T19:00:00Z",
                    "to": "2026-03-03T05:00:00Z",
                    "state": "Asleep",
                    "window": "20:00-06:00 Mon-Fri",
                    "reason": "OffHours",
                    "message": "Asleep: the off-hours 20:00-06:00 Mon-Fri (Europe/Berlin) cover this time.",
                },
                {
                    "from": "2026-03-03T05:00:00Z",
                    "to": "2026-03-03T12:00:00Z",
                    "state": "Awake",
                    "window": None,
                    "reason": "WorkingHours",
                    "message": "Awake: no off-hours cover this time (Europe/Berlin).",
                },
            ],
        }
    ]


def test_a_day_of_a_scaler() -> None:
    [timeline] = simulated(samples.scaler(), start="2026-03-02T00:00:00Z", end="2026-03-02T12:00:00Z")
    assert [
        (each["from"], each["to"], each["replicas"], each["window"], each["reason"])
        for each in timeline["intervals"]
    ] == [
        ("2026-03-02T00:00:00Z", "2026-03-02T07:00:00Z", 1, "OffHours", "OutsideWindows"),
        ("2026-03-02T07:00:00Z", "2026-03-02T12:00:00Z", 4, "BusinessHours", "Window"),
    ]
    assert all("state" not in each for each in timeline["intervals"])


def test_a_date_begins_each_resource_at_its_own_midnight() -> None:
    timelines = simulated(
        samples.plan("a", timezone="Asia/Jakarta"),
        samples.plan("b", timezone="America/New_York"),
        start="2026-03-02",
        end="2026-03-03",
    )
    assert [timeline["intervals"][0]["from"] for timeline in timelines] == [
        "2026-03-01T17:00:00Z",
        "2026-03-02T05:00:00Z",
    ]


def test_without_a_range_it_is_two_weeks_from_todays_local_midnight() -> None:
    ran = hibernator(
        "simulate",
        "-f",
        "-",
        "-o",
        "json",
        stdin=samples.text(samples.plan()),
        now=Instant.from_utc(2026, 3, 24, 23, 30),
    )
    [timeline] = json.loads(ran.out)["timelines"]
    assert timeline["intervals"][0]["from"] == "2026-03-24T23:00:00Z"
    assert timeline["intervals"][-1]["to"] == "2026-04-07T22:00:00Z"  # the clock has changed on the way


@given(schedules.scenes(), st.integers(1, 21 * 24 * 60))
def test_intervals_cover_the_range_and_neighbours_differ(
    scene: tuple[datetime, list[samples.Value]], minutes: int
) -> None:
    start, documents = scene
    end = start + timedelta(minutes=minutes)
    for timeline in simulated(*documents, start=_rfc3339(start), end=_rfc3339(end)):
        intervals = timeline["intervals"]
        assert (intervals[0]["from"], intervals[-1]["to"]) == (_rfc3339(start), _rfc3339(end))
        assert all(each["from"] < each["to"] for each in intervals)
        for before, after in pairwise(intervals):
            assert before["to"] == after["from"]
            assert _told(before) != _told(after)


@given(schedules.plans, schedules.moments, st.lists(st.integers(0, 14 * 24 * 60 - 1), max_size=20))
def test_what_is_printed_is_what_the_engine_answers(
    plan: samples.Value, start: datetime, minutes: list[int]
) -> None:
    end = start + timedelta(days=14)
    [timeline] = simulated(plan, start=_rfc3339(start), end=_rfc3339(end))
    engine = PlanTimeline(msgspec.convert(plan["spec"]["schedule"], Schedule))
    for minute in minutes:
        moment = _rfc3339(start + timedelta(minutes=minute))
        [printed] = [each for each in timeline["intervals"] if each["from"] <= moment < each["to"]]
        answer = engine.at(Instant.parse_iso(moment))
        assert (printed["state"], printed["reason"]) == (answer.value, answer.reason)


def _told(interval: dict[str, Any]) -> tuple[Any, ...]:
    return interval.get("state"), interval.get("replicas"), interval["reason"]


def _rfc3339(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
