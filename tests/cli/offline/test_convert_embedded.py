"""Exceptions within a plan become objects of their own."""

from typing import Any

import yaml

from cli.offline import samples
from support.command import Ran, hibernator

EVENT = {
    "name": "on-site-event",
    "type": "extend",
    "validFrom": "2026-01-29T00:00:00Z",
    "validUntil": "2026-02-28T23:59:59Z",
    "windows": [{"start": "06:00", "end": "11:00", "daysOfWeek": ["SAT", "SUN"]}],
    "approvalRequired": True,
    "approverEmails": ["bob@company.com"],
}


def converting(*documents: samples.Value) -> tuple[Ran, list[Any]]:
    done = hibernator("convert", "-f", "-", "--to", "off-hours", stdin=samples.text(*documents))
    return done, list(yaml.safe_load_all(done.out)) if done.out else []


def test_exceptions_are_taken_out_of_a_plan_and_come_after_it() -> None:
    plan = samples.plan(exceptions=[EVENT, {**EVENT, "name": None, "type": "suspend"}])
    plan["metadata"]["namespace"] = "team-a"
    done, (bare, event, nameless) = converting(plan)
    assert done.code == 0, done.err
    assert bare["spec"]["schedule"] == samples.schedule()
    assert event["metadata"] == {"name": "on-site-event", "namespace": "team-a"}
    assert event["spec"] == {"planRef": {"name": "dev"}} | {k: v for k, v in EVENT.items() if k != "name"}
    assert (nameless["metadata"]["name"], nameless["spec"]["type"]) == ("dev-exception-2", "suspend")
    assert "lost its exceptions, which became 2 ScheduleExceptions." in done.err


def test_what_was_made_is_valid() -> None:
    done, made = converting(samples.plan(exceptions=[EVENT]))
    checked = hibernator("validate", "-f", "-", stdin=samples.text(*made))
    assert (done.code, checked.code) == (0, 0), checked


def test_cron_lines_of_the_same_plan_are_converted_along_with_it() -> None:
    plan = samples.old_plan()
    plan["spec"]["schedule"]["exceptions"] = [EVENT]
    done, (bare, event) = converting(plan)
    assert done.code == 0, done.err
    assert "offHours" in bare["spec"]["schedule"]
    assert bare["apiVersion"] == event["apiVersion"] == "hibernator.ardikabs.com/v1alpha1"


def test_a_mistake_within_is_told_and_nothing_is_printed() -> None:
    wrong = {**EVENT, "type": "bend"}
    for exceptions in ([wrong], "none", ["none"]):
        done, made = converting(samples.plan(exceptions=exceptions))
        assert (done.code, made) == (1, [])


def test_validate_says_how_to_convert_them() -> None:
    done = hibernator("validate", "-f", "-", stdin=samples.text(samples.plan(exceptions=[EVENT])))
    assert done.code == 1
    assert done.out.count("spec.schedule.exceptions") == 1
    assert "Run: hibernator convert -f - --to off-hours" in done.out
