"""Two versions: what changes, in hours and as marks on the timeline."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from whenever import Instant

from cli.offline import samples, schedules
from support.command import Ran, hibernator

WEEK = ("--from", "2026-03-02", "--to", "2026-03-09")


def compared(old: list[samples.Value], new: list[samples.Value], folder: Path, *options: str) -> Ran:
    (folder / "old.yaml").write_text(samples.text(*old), encoding="utf-8")
    (folder / "new.yaml").write_text(samples.text(*new), encoding="utf-8")
    return hibernator("diff", "-f", folder / "old.yaml", "-f", folder / "new.yaml", *options)


def test_a_shifted_night_is_marked_on_the_days_it_changes(tmp_path: Path) -> None:
    later = samples.plan(offHours=[samples.window(start="21:00", end="07:30", daysOfWeek=["MON", "THU"])])
    sooner = samples.plan(offHours=[samples.window(daysOfWeek=["MON", "THU"])])
    ran = compared([sooner], [later], tmp_path, *WEEK)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "HibernatePlan default/dev  Europe/Berlin",
        "20 hours asleep before, 21 after (+1), of 168 hours",
        "           00    03    06    09    12    15    18    21",
        "Mon 02 Mar ········································--██████",
        "Tue 03 Mar ████████████+++·································",
        "Thu 05 Mar ········································--██████",
        "Fri 06 Mar ████████████+++·································",
        "██ asleep  ·· awake  ++ asleep in the new version only",
        "-- asleep in the old version only",
        "Mon 2026-03-02 20:00 to Mon 2026-03-02 21:00: asleep before, awake after",
        "Tue 2026-03-03 06:00 to Tue 2026-03-03 07:30: awake before, asleep after",
        "Thu 2026-03-05 20:00 to Thu 2026-03-05 21:00: asleep before, awake after",
        "Fri 2026-03-06 06:00 to Fri 2026-03-06 07:30: awake before, asleep after",
        "",
        "1 changed; +1 hours asleep in all.",
    ]


def test_what_is_new_gone_or_the_same_is_told(tmp_path: Path) -> None:
    ran = compared(
        [samples.plan("same"), samples.plan("gone")],
        [samples.plan("same"), samples.plan("new")],
        tmp_path,
        *WEEK,
    )
    assert ran.out.splitlines() == [
        "HibernatePlan default/new  Europe/Berlin",
        "new: asleep 50 of 168 hours (30%)",
        "",
        "HibernatePlan default/gone  Europe/Berlin",
        "gone: asleep 50 of 168 hours (30%)",
        "",
        "1 same, 1 new, 1 gone; +0 hours asleep in all.",
    ]


def test_more_and_fewer_replicas_are_marked(tmp_path: Path) -> None:
    few = samples.scaler()
    many = samples.scaler(
        windows=[{"days": ["Mon"], "start": "10:00", "end": "20:00", "replicas": 6}], defaultReplicas=2
    )
    ran = compared([few], [many], tmp_path, "--from", "2026-03-02", "--to", "2026-03-03")
    assert ran.out.splitlines()[1:4] == [
        "60 replica hours before, 88 after (+28), of 24 hours",
        "           00    03    06    09    12    15    18    21",
        "Mon 02 Mar ++++++++++++++++----++++++++++++++++++++++++++++",
    ]


def test_nothing_is_nothing(tmp_path: Path) -> None:
    assert compared([samples.plan()], [samples.plan()], tmp_path, *WEEK).out == "Nothing changes.\n"


def test_without_a_range_it_is_four_weeks(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(samples.text(samples.plan()), encoding="utf-8")
    file = tmp_path / "a.yaml"
    ran = hibernator("diff", "-f", file, "-f", file, "-o", "json", now=Instant.from_utc(2026, 1, 1, 12))
    [entry] = json.loads(ran.out)["resources"]
    assert (entry["from"], entry["to"]) == ("2025-12-31T23:00:00Z", "2026-01-28T23:00:00Z")


def test_json_says_the_same_to_programs(tmp_path: Path) -> None:
    old = samples.plan(offHours=[samples.window(daysOfWeek=["MON"])])
    new = samples.plan(offHours=[samples.window(daysOfWeek=["MON"], end="07:00")])
    ran = compared([old], [new], tmp_path, *WEEK, "-o", "json")
    assert json.loads(ran.out) == {
        "resources": [
            {
                "kind": "HibernatePlan",
                "namespace": "default",
                "name": "dev",
                "outcome": "Changed",
                "from": "2026-03-01T23:00:00Z",
                "to": "2026-03-08T23:00:00Z",
                "hoursAsleep": {"before": 10.0, "after": 11.0},
                "changes": [
                    {
                        "from": "2026-03-03T05:00:00Z",
                        "to": "2026-03-03T06:00:00Z",
                        "before": {"state": "Awake"},
                        "after": {"state": "Asleep"},
                    }
                ],
            }
        ]
    }


def test_one_version_cannot_be_compared() -> None:
    ran = hibernator("diff", "-f", "a.yaml")
    assert (ran.code, ran.err) == (
        2,
        (
            "error: Two versions are compared; the number of -f options is 1.\n"
            "Name the old version first and the new one second: hibernator diff -f old.yaml -f new.yaml\n"
        ),
    )


@given(schedules.plans, schedules.plans, schedules.moments)
def test_the_changes_are_the_difference_in_hours(
    tmp_path_factory: pytest.TempPathFactory, old: samples.Value, new: samples.Value, start: datetime
) -> None:
    folder = tmp_path_factory.mktemp("diff")
    span = ("--from", start.isoformat(), "--to", (start + timedelta(days=7)).isoformat())
    [entry] = json.loads(compared([old], [new], folder, *span, "-o", "json").out)["resources"]
    gained = sum(
        (1 if change["after"]["state"] == "Asleep" else -1) * _hours(change["from"], change["to"])
        for change in entry["changes"]
    )
    amounts = entry["hoursAsleep"]
    assert abs(amounts["after"] - amounts["before"] - gained) < 1e-6


def _hours(start: str, end: str) -> float:
    return (Instant.parse_iso(end) - Instant.parse_iso(start)).total("hours")
