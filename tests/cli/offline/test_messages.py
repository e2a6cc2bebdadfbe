"""Each message that a person who made a mistake reads, through the real command."""

from pathlib import Path
from typing import Any

import pytest

from cli.offline import samples
from support.command import hibernator


def complaints(*documents: samples.Value) -> list[str]:
    """What `validate` says about documents, without the place in the file and the count at the end."""
    ran = hibernator("validate", "-f", "-", stdin=samples.text(*documents))
    assert (ran.code, ran.err) == (1, ""), ran
    *lines, count = ran.out.splitlines()
    assert count.split()[1].startswith("mistake")
    return [line.partition("): ")[2] for line in lines]


def test_a_zone_that_does_not_exist_is_named_with_the_one_that_was_meant() -> None:
    assert complaints(samples.plan(timezone="Europe/Berln")) == [
        (
            "spec.schedule.timezone: 'Europe/Berln' is not a zone in the IANA time zone database. "
            "Did you mean Europe/Berlin?"
        )
    ]
    assert complaints(samples.scaler(timezone="Mars/Olympus_Mons")) == [
        (
            "spec.timezone: 'Mars/Olympus_Mons' is not a zone in the IANA time zone database. "
            "Write an IANA name such as Europe/Berlin or UTC."
        )
    ]


def test_quiet_hours_in_a_zone_that_does_not_exist_are_told() -> None:
    notification = {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "HibernateNotification",
        "metadata": {"name": "on-call"},
        "spec": {
            "selector": {},
            "onEvents": ["Failure"],
            "sinks": [{"name": "out", "type": "webhook", "secretRef": {"name": "out"}}],
            "quietHours": {"start": "20:00", "end": "06:00", "timezone": "Berlin"},
        },
    }
    [said] = complaints(notification)
    assert said.startswith("spec.quietHours.timezone: 'Berlin' is not a zone")


@pytest.mark.parametrize("time", ["25:00", "20:60", "8", "20.00", "20:00:00"])
def test_a_time_that_no_clock_shows_is_refused(time: str) -> None:
    assert complaints(samples.plan(offHours=[samples.window(start=time)])) == [
        (
            f"spec.schedule.offHours[0].start: '{time}' is not a time of day. "
            "Write the time as HH:MM from 00:00 to 23:59, for example 20:00."
        )
    ]


def test_labels_without_match_labels_and_a_type_in_another_case_are_told_what_was_meant() -> None:
    written = samples.plan()
    [target] = written["spec"]["targets"]
    target["type"] = "workloadScaler"
    assert complaints(written)[0].startswith(
        'spec.targets[0].type: "workloadScaler" does not have the right form. Did you mean workloadscaler? '
    )
    target["type"] = "workloadscaler"
    target["parameters"]["workloadSelector"] = {"app": "web"}
    assert complaints(written) == [
        (
            'spec.targets[0].parameters.workloadSelector.app: "web": there is no such field. '
            "Write it below matchLabels: app: web."
        )
    ]


def test_a_number_that_would_be_wrong_in_quotes_too_gets_what_is_right_there_as_its_fix() -> None:
    assert complaints(samples.plan(offHours=[samples.window(start=20, daysOfWeek=[1])])) == [
        (
            "spec.schedule.offHours[0].start: 20: it must be text, not a number. "
            "Write the time as HH:MM, for example 20:00."
        ),
        (
            "spec.schedule.offHours[0].daysOfWeek[0]: 1: it must be text, not a number. "
            "Write a day of the week, for example MON or Monday."
        ),
    ]


def test_no_days_are_too_few() -> None:
    assert complaints(samples.plan(offHours=[samples.window(daysOfWeek=[])])) == [
        "spec.schedule.offHours[0].daysOfWeek: []: no day is listed. List at least one day, for example MON."
    ]


def test_a_day_that_is_none_is_refused() -> None:
    assert complaints(samples.plan(offHours=[samples.window(daysOfWeek=["MON", "FUNDAY"])])) == [
        (
            "spec.schedule.offHours[0].daysOfWeek[1]: 'FUNDAY' is not a day of the week. "
            "Write MON, TUE, WED, THU, FRI, SAT or SUN, or the full name."
        )
    ]


def test_a_window_must_not_end_where_it_starts() -> None:
    same = samples.window(start="6:00", end="06:00")
    assert complaints(samples.plan(offHours=[same])) == [
        (
            'spec.schedule.offHours[0]: "6:00-06:00": Invalid window: start must not equal end. '
            "Write two different times; 00:00 to 23:59 is a whole day."
        )
    ]


def test_an_exception_must_not_end_before_it_begins() -> None:
    backwards = samples.exception(validFrom="2026-03-09T00:00:00Z", validUntil="2026-03-02T00:00:00Z")
    [complaint] = complaints(samples.plan(), backwards)
    assert complaint == (
        'spec.validUntil: "2026-03-02T00:00:00Z": the exception ends before it begins, at '
        "2026-03-09T00:00:00Z. Let validUntil be later than validFrom."
    )


def test_an_exception_lasts_at_most_90_days() -> None:
    [complaint] = complaints(samples.plan(), samples.exception(validUntil="2026-06-01T00:00:00Z"))
    assert complaint == (
        'spec.validUntil: "2026-06-01T00:00:00Z": the exception lasts longer than 90 days. '
        "Let it end by 2026-05-31T00:00:00Z, or change the plan instead."
    )


@pytest.mark.parametrize("duration", ["an hour", "1", "1d", "-1h", "1h 30m"])
def test_a_lead_time_must_be_a_duration(duration: str) -> None:
    assert complaints(samples.plan(), samples.exception(leadTime=duration)) == [
        (
            f"spec.leadTime: '{duration}' is not a duration. "
            "Write a number and a unit (ms, s, m, h), for example 30m or 1h30m."
        )
    ]


def test_a_moment_needs_its_zone() -> None:
    [complaint] = complaints(samples.plan(), samples.exception(validFrom="2026-03-02T00:00:00"))
    assert complaint.startswith("spec.validFrom: ")
    assert "does not say in which zone it is. Add an offset or Z for UTC" in complaint


def test_a_beginning_that_cannot_be_read_is_not_compared_with_the_end() -> None:
    [complaint] = complaints(samples.plan(), samples.exception(validFrom="2026-03-02"))
    assert complaint.startswith("spec.validFrom: ")


def test_approvers_that_cannot_be_read_are_not_counted() -> None:
    asked: dict[str, Any] = {
        "approvalRequired": True,
        "approverEmails": "bob@example.com",
        "approvalThreshold": 2,
    }
    [complaint] = complaints(samples.plan(), samples.exception(**asked))
    assert complaint.startswith("spec.approverEmails: ")


def test_targets_without_names_are_not_looked_for_in_the_order() -> None:
    plan = samples.plan()
    order = {"type": "DAG", "dependencies": [{"from": "a", "to": "b"}]}
    plan["spec"] |= {"targets": ["a"], "execution": {"strategy": order}}
    [complaint] = complaints(plan)
    assert complaint.startswith("spec.targets[0]: ")


def test_a_field_that_is_one_level_too_high_is_told_where_it_belongs() -> None:
    plan = samples.plan()
    plan["targets"] = plan["spec"].pop("targets")
    missing, misplaced = complaints(plan)
    assert missing.startswith("spec.targets: it is missing.")
    assert misplaced.endswith("there is no such field. Write it below spec, indented.")


@pytest.mark.parametrize(
    ("day", "fix"),
    [
        ("Mon-Fri", "Write each day: MON, TUE, WED, THU, FRI."),
        ("SAT-mon", "Write each day: SAT, SUN, MON."),
        ("weekend", "Write each day: SAT, SUN."),
        ("Tues", "Did you mean TUE?"),
    ],
)
def test_days_in_other_spellings_are_told_as_they_are_written_here(day: str, fix: str) -> None:
    assert complaints(samples.plan(offHours=[samples.window(daysOfWeek=[day])])) == [
        f"spec.schedule.offHours[0].daysOfWeek[0]: '{day}' is not a day of the week. {fix}"
    ]


def test_an_unknown_field_is_told_with_the_one_that_was_meant() -> None:
    typo: dict[str, Any] = samples.window()
    typo["dayOfWeek"] = typo.pop("daysOfWeek")
    assert complaints(samples.plan(offHours=[typo])) == [
        "spec.schedule.offHours[0].daysOfWeek: it is missing. Add it. The days on which it begins.",
        (
            'spec.schedule.offHours[0].dayOfWeek: ["MON","TUE","WED","THU","FRI"]: there is no such field. '
            "Did you mean daysOfWeek?"
        ),
    ]


def test_mistakes_do_not_hide_each_other() -> None:
    window = samples.window(start=None, daysOfWeek=["MON", "FUNDAY"])
    paths = [
        complaint.partition(":")[0]
        for complaint in complaints(
            samples.plan(timezone="Nowhere", offHours=[window, samples.window(end="26:00")], holidays=3)
        )
    ]
    assert paths == [
        "spec.schedule.timezone",
        "spec.schedule.offHours[0].start",
        "spec.schedule.offHours[0].daysOfWeek[1]",
        "spec.schedule.offHours[1].end",
        "spec.schedule.holidays",
    ]


def test_two_documents_of_the_same_name_are_one_too_many() -> None:
    assert complaints(samples.plan(), samples.plan()) == [
        (
            "metadata.name: HibernatePlan default/dev is there already, in stdin (document 1, line 1). "
            "Give it another name, or remove one of the two."
        )
    ]


def test_two_exceptions_may_be_in_force_at_different_times() -> None:
    other = samples.exception("b", windows=[samples.window(start="01:00", end="02:00", daysOfWeek=["WED"])])
    ran = hibernator("validate", "-f", "-", stdin=samples.text(samples.plan(), samples.exception("a"), other))
    assert (ran.code, ran.err) == (0, "")


def test_two_exceptions_cannot_bend_a_plan_at_the_same_time() -> None:
    [complaint] = complaints(samples.plan(), samples.exception("a"), samples.exception("b"))
    assert complaint == (
        'spec.windows: "2026-03-03T21:00:00+01:00[Europe/Berlin]": Plan dev already has active exception a '
        "(expires at 2026-03-09T00:00:00Z). Choose windows that do not overlap, or remove one of the two."
    )


def test_holidays_must_be_dates_or_calendars() -> None:
    holidays = {"mode": "sleep-all-day", "sourceRef": {"name": "holidays"}}
    data = {"2026-12-25": "Christmas", "2026-13-01": "", "feast.ics": "BEGIN:VCALENDAR", "2026-12-26": 3}
    assert complaints(samples.plan(holidays=holidays), samples.config_map(data)) == [
        (
            "data.2026-13-01: '2026-13-01' is neither a date nor a calendar. "
            "Name the key as a date (yyyy-mm-dd), or let it end in .ics and hold an iCalendar file."
        ),
        (
            'data.feast.ics: "feast.ics": the calendar cannot be read: it has no all-day event. '
            "Paste an iCalendar file (BEGIN:VCALENDAR) with all-day events."
        ),
        "data.2026-12-26: 3: the value must be text. Put it in quotes.",
    ]


def test_the_old_format_is_told_with_the_command_that_converts_it(tmp_path: Path) -> None:
    file = tmp_path / "my plan.yaml"
    file.write_text(samples.text(samples.old_plan()), encoding="utf-8")
    ran = hibernator("validate", "-f", file)
    order = f"Run: hibernator convert -f '{file}' --to off-hours"
    assert ran.out.splitlines() == [
        (
            f'{file} (document 1, line 1): apiVersion: "hibernator.ardikasaputro.io/v1alpha1": '
            f"the kind has moved to hibernator.ardikabs.com. {order}"
        ),
        (
            f'{file} (document 1, line 7): spec.schedule.hibernate: "0 20 * * 1-5": '
            f"cron lines have given way to offHours. {order}"
        ),
        "2 mistakes in 1 document.",
    ]
    assert ran.code == 1


def test_a_cron_line_without_equivalent_is_refused() -> None:
    ran = hibernator("validate", "-f", "-", stdin=samples.text(samples.old_plan("0 20 1 * *")))
    assert ran.code == 1
    assert "spec.schedule.hibernate: " in ran.out
    assert "day of the month" in ran.out


def test_a_cron_line_without_equivalent_does_not_hide_other_mistakes() -> None:
    old = samples.old_plan("0 20 1 * *")
    old["spec"]["schedule"]["timezone"] = "Nowhere"
    old["spec"]["targets"] = []
    ran = hibernator("validate", "-f", "-", stdin=samples.text(old))
    paths = [line.partition("): ")[2].partition(":")[0] for line in ran.out.splitlines()[:-1]]
    assert sorted(set(paths)) == [
        "apiVersion",
        "spec.schedule.hibernate",
        "spec.schedule.timezone",
        "spec.targets",
    ]


@pytest.mark.parametrize("command", ["validate", "simulate", "explain"])
def test_bad_yaml_is_told_with_line_and_column(command: str) -> None:
    ran = hibernator(command, "-f", "-", stdin="kind: HibernatePlan\nspec:\n  a: b: c\n")
    assert ran.code == 1
    assert (
        "stdin (document 1, line 3, column 7): this is not valid YAML: mapping values are not allowed in "
        "this context. Check the indentation, the colons and the quotes around this place."
    ) in ran.out + ran.err


@pytest.mark.parametrize("command", ["validate", "simulate", "explain"])
def test_a_missing_file_is_told(command: str) -> None:
    ran = hibernator(command, "-f", "nowhere.yaml")
    assert ran.code == 1
    assert "nowhere.yaml: there is no such file or directory. Check the name after -f." in ran.out + ran.err


def test_an_empty_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "empty.yaml"
    file.write_text("# nothing yet\n---\n", encoding="utf-8")
    ran = hibernator("validate", "-f", file)
    assert (ran.code, ran.out.splitlines()[0]) == (
        1,
        f"{file}: there is nothing in it. Write a document into it.",
    )


def test_commands_that_show_timelines_list_every_mistake_and_show_nothing() -> None:
    documents = samples.text(samples.plan(timezone="Nowhere"), samples.scaler(windows=[]))
    ran = hibernator("simulate", "-f", "-", stdin=documents)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == [
        (
            "stdin (document 1, line 7): spec.schedule.timezone: 'Nowhere' is not a zone in the IANA time "
            "zone database. Write an IANA name such as Europe/Berlin or UTC."
        ),
        "stdin (document 2, line 35): spec.windows: []: no window is listed. Add a window.",
        "error: 2 mistakes, so that there is nothing to show.",
    ]


def test_what_a_plan_targets_is_no_matter_to_its_timeline() -> None:
    bare = samples.plan()
    del bare["spec"]["targets"]
    ran = hibernator("simulate", "-f", "-", "--from", "2026-03-02", stdin=samples.text(bare))
    assert (ran.code, ran.err) == (0, "")


def test_files_without_anything_to_show_are_told() -> None:
    ran = hibernator("simulate", "-f", "-", stdin=samples.text(samples.config_map({})))
    assert (ran.code, ran.err) == (
        1,
        (
            "error: There is no HibernatePlan and no TimeWindowScaler in these files.\n"
            "Name the files that have them: hibernator simulate -f plan.yaml\n"
        ),
    )


def test_what_is_hardly_meant_is_told_without_being_a_mistake() -> None:
    plan = samples.plan(
        offHours=[
            samples.window(start="20:00", end="06:00", daysOfWeek=["MON", "TUE", "WED", "THU", "FRI"]),
            samples.window(start="00:00", end="23:59", daysOfWeek=["SAT", "SUN"]),
        ]
    )
    scenario_3 = samples.exception(
        type="extend",
        validFrom="2026-02-01T20:00:00Z",
        validUntil="2026-02-02T02:00:00Z",
        leadTime="1h",
        windows=[samples.window(start="21:00", end="02:00", daysOfWeek=["Saturday"])],
    )
    ran = hibernator("validate", "-f", "-", stdin=samples.text(plan, scenario_3))
    assert ran.code == 0
    assert "it wakes on Mon 00:00" in ran.err
    assert "Add SUN to the days of 20:00-06:00" in ran.err
    assert "spec.leadTime: it has no effect with type extend" in ran.err
    assert "never falls between validFrom" in ran.err


def test_a_part_of_an_object_is_noted_as_one_without_a_kind() -> None:
    ran = hibernator("validate", "-f", "-", stdin="schedule: {timezone: UTC}")
    assert ran.err == "note: not checked, because the kinds are not ours: 1 without a kind.\n"
