"""Which exceptions bend a plan, which are only shown as proposals, and which are left out with a note."""

import json
from typing import Any

import pytest

from cli.offline import samples
from support.command import Ran, hibernator

REFUSED = {
    "type": "Ready",
    "status": "False",
    "reason": "PolicyRefused",
    "lastTransitionTime": "2026-03-02T00:00:00Z",
}
RANGE = ("--from", "2026-03-03T12:00:00Z", "--to", "2026-03-04T12:00:00Z")


def reasons(*documents: samples.Value) -> list[str]:
    ran = hibernator("simulate", "-f", "-", *RANGE, "-o", "json", stdin=samples.text(*documents))
    assert ran.code == 0, ran.err
    [timeline] = json.loads(ran.out)["timelines"]
    return [interval["reason"] for interval in timeline["intervals"]]


def notes(*documents: samples.Value) -> list[str]:
    return hibernator("simulate", "-f", "-", *RANGE, stdin=samples.text(*documents)).err.splitlines()


UNBENT = ["WorkingHours", "OffHours", "WorkingHours"]
BENT = ["WorkingHours", "OffHours", "ExceptionSuspend", "OffHours", "WorkingHours"]


def test_an_exception_that_needs_no_approval_bends() -> None:
    assert reasons(samples.plan(), samples.exception()) == BENT


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, UNBENT),
        ({"state": "Pending"}, UNBENT),
        ({"state": "Approved"}, BENT),
        ({"state": "Active"}, BENT),
        ({"state": "Expired", "appliedAt": "2026-03-02T00:00:00Z"}, BENT),
        ({"state": "Expired"}, UNBENT),
        ({"state": "Rejected"}, UNBENT),
        ({"state": "Cancelled"}, UNBENT),
    ],
)
def test_an_exception_that_needs_approval_bends_once_its_status_says_so(
    status: dict[str, str], expected: list[str]
) -> None:
    assert reasons(samples.plan(), samples.pending(status=status)) == expected


@pytest.mark.parametrize("state", ["Pending", "Expired"])
def test_an_exception_that_waits_because_a_policy_asks_for_approval_does_not_bend(state: str) -> None:
    asked = samples.exception(status={"state": state, "approvalState": "Pending"})
    assert reasons(samples.plan(), asked) == UNBENT


@pytest.mark.parametrize("field", ["draft", "cancelled"])
def test_a_draft_and_a_cancelled_exception_do_not_bend(field: str) -> None:
    exception = samples.exception()
    exception["spec"][field] = True
    assert reasons(samples.plan(), exception) == UNBENT


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"state": "Rejected"}, "rejected"),
        ({"state": "Cancelled"}, "cancelled"),
        ({"state": "Expired"}, "over without having been active"),
        ({"state": "Pending", "conditions": [REFUSED]}, "held back, as its status says"),
    ],
)
def test_an_exception_without_effect_is_noted(status: dict[str, Any], words: str) -> None:
    assert notes(samples.plan(), samples.pending(status=status)) == [
        f"note: ScheduleException default/late changes nothing: it is {words}."
    ]


def test_one_that_no_one_must_approve_and_that_is_pending_waits_for_another() -> None:
    older, younger = samples.exception(), samples.exception()
    older["metadata"] |= {"creationTimestamp": "2026-03-01T00:00:00Z"}
    younger["metadata"] |= {"name": "later", "creationTimestamp": "2026-03-02T00:00:00Z"}
    younger["status"] = {"state": "Pending"}
    assert notes(samples.plan(), older | {"status": {"state": "Active"}}, younger) == [
        "note: later changes nothing: its windows overlap an older exception's."
    ]


def test_an_exception_of_another_namespace_is_not_of_this_plan() -> None:
    elsewhere = samples.exception()
    elsewhere["metadata"]["namespace"] = "other"
    assert reasons(samples.plan(), elsewhere) == UNBENT
    assert notes(samples.plan(), elsewhere) == [
        "note: ScheduleException other/late is left out: its plan other/dev is not among the files."
    ]
    misspelt = samples.exception(planRef={"name": "devs"})
    assert notes(samples.plan(), misspelt)[0].endswith(
        "default/devs is not among the files. Did you mean dev?"
    )


def test_of_two_that_overlap_the_older_one_holds() -> None:
    def made(name: str, when: str, kind: str) -> samples.Value:
        whole: dict[str, Any] = samples.exception(name, type=kind)
        whole["metadata"]["creationTimestamp"] = when
        return whole

    younger = made("a", "2026-02-02T00:00:00Z", "replace")
    older = made("b", "2026-02-01T00:00:00Z", "suspend")
    assert reasons(samples.plan(), younger, older) == BENT


def test_a_missing_config_map_is_noted_and_no_day_is_a_holiday() -> None:
    plan = samples.plan(holidays={"mode": "sleep-all-day", "sourceRef": {"name": "holidays"}})
    assert reasons(plan) == UNBENT
    assert notes(plan) == [
        (
            "note: HibernatePlan default/dev takes holidays from the ConfigMap holidays, which is not among "
            "the files: no day of it counts as a holiday."
        )
    ]


def test_holidays_come_from_config_maps_and_countries() -> None:
    source = samples.config_map({"2026-03-04": "Founders' day"})
    plan = samples.plan(holidays={"mode": "sleep-all-day", "sourceRef": {"name": "holidays"}})
    assert reasons(plan, source) == ["WorkingHours", "OffHours", "HolidaySleep"]
    unity = samples.plan(holidays={"mode": "stay-awake", "country": "DE"})
    ran = hibernator(
        "simulate", "-f", "-", "--from", "2025-10-03", "--to", "2025-10-04", stdin=samples.text(unity)
    )
    assert "Fri 03 Oct " in ran.out
    assert "★ Tag der Deutschen" in ran.out or "★ German Unity Day" in ran.out


def test_a_holiday_that_cannot_be_read_is_noted_and_left_out() -> None:
    plan = samples.plan(holidays={"mode": "sleep-all-day", "sourceRef": {"name": "holidays"}})
    [note] = notes(plan, samples.config_map({"christmas": ""}))
    assert note.startswith("note: HibernatePlan default/dev leaves out a holiday: 'christmas' is neither")


def test_what_does_not_follow_its_schedule_is_noted() -> None:
    suspended = samples.plan()
    suspended["spec"]["suspend"] = True
    assert notes(suspended) == [
        "note: HibernatePlan default/dev is suspended: until it goes on, nothing follows this schedule."
    ]
    assert notes(samples.scaler(pause=True)) == [
        "note: TimeWindowScaler default/shop is paused: until it goes on, nothing is scaled."
    ]


def test_documents_of_other_kinds_are_ignored() -> None:
    namesake = samples.plan("namesake") | {"apiVersion": "example.com/v1"}
    assert reasons(samples.plan(), {"kind": "Deployment"}, {"replicaCount": 1}, namesake) == UNBENT
    assert notes(samples.plan(), {"kind": "Deployment"}, {"replicaCount": 1}, namesake) == []


def test_the_old_format_is_shown_as_if_it_had_been_converted() -> None:
    ran = hibernator("simulate", "-f", "-", *RANGE, "-o", "json", stdin=samples.text(samples.old_plan()))
    [timeline] = json.loads(ran.out)["timelines"]
    assert [each["reason"] for each in timeline["intervals"]] == ["WorkingHours", "OffHours", "WorkingHours"]
    assert ran.err == (
        "note: HibernatePlan default/dev is in the old format, and shown as if converted: "
        "hibernator convert -f - --to off-hours\n"
    )


def test_all_that_are_in_force_together_are_shown() -> None:
    lunch = samples.exception(
        "lunch", type="extend", windows=[samples.window(start="12:00", end="14:00", daysOfWeek=["TUE"])]
    )
    shown = simulated(samples.plan(), samples.exception("late"), lunch)
    assert "◆ late, ◆ lunch" in shown.out or "◆ lunch, ◆ late" in shown.out
    assert "late: suspend, in force" in shown.out
    assert "lunch: extend, in force" in shown.out
    assert shown.err == ""


def test_one_that_conflicts_is_said_to_wait() -> None:
    older = samples.exception("a", validUntil="2026-03-05T00:00:00Z")
    shown = simulated(samples.plan(), older, samples.exception("b"))
    assert "note: b waits until Thu 2026-03-05 01:00: its windows overlap an older exception's." in shown.err
    shown = simulated(samples.plan(), samples.exception("a"), samples.exception("b"))
    assert "note: b changes nothing: its windows overlap an older exception's." in shown.err
    assert "b: suspend" not in shown.out


def simulated(*documents: samples.Value) -> Ran:
    dates = ("--from", "2026-03-02", "--to", "2026-03-09")
    return hibernator("simulate", "-f", "-", *dates, stdin=samples.text(*documents))
