"""Holidays from dates, calendars and countries; and what is said of those that cannot be read."""

from datetime import date

import pytest

from hibernator.api.hibernateplan import PlanHolidays
from hibernator.api.problem import Problem
from hibernator.api.timewindowscaler import ScalerHolidays
from hibernator.schedule.calendars import MOST_EVENTS
from hibernator.schedule.holidays import DaysOff, Holidays, load_holidays, read_dates, years_around
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.ticks import date_of, day_of
from hibernator.schedule.timeline import Reason
from schedule.builders import at, plan, window

SOME = PlanHolidays(mode="sleep-all-day")


def dates(holidays: Holidays, first: str, last: str) -> list[str]:
    found = holidays.named(day_of(date.fromisoformat(first)), day_of(date.fromisoformat(last)))
    return [str(date_of(day)) for day in sorted(found)]


def loaded(
    block: PlanHolidays | ScalerHolidays | None, data: dict[str, str], years: range = range(2015, 2031)
) -> tuple[Holidays, tuple[Problem, ...]]:
    return load_holidays(block, DaysOff.of(*read_dates(data, years)))


def calendar(*events: str) -> str:
    body = "".join(f"BEGIN:VEVENT\n{event}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test//EN\n{body}END:VCALENDAR\n"


def from_calendar(*events: str) -> Holidays:
    holidays, problems = loaded(SOME, {"team.ics": calendar(*events)})
    assert problems == ()
    return holidays


def test_keys_that_are_dates_are_holidays_whatever_their_value() -> None:
    holidays, problems = loaded(SOME, {"2026-12-25": "Christmas Day", "2026-12-26": ""})
    assert problems == ()
    assert dates(holidays, "2026-12-01", "2027-01-31") == ["2026-12-25", "2026-12-26"]


@pytest.mark.parametrize("key", ["2026-13-01", "2026-02-30", "2026-2-3", "20260203", "readme", "2026-W01-1"])
def test_a_key_that_is_neither_a_date_nor_a_calendar_is_told_and_left_out(key: str) -> None:
    holidays, (problem,) = loaded(SOME, {key: "", "2026-05-01": ""})
    assert (problem.path, problem.value) == (f'data["{key}"]', key)
    assert problem.message == f"{key!r} is neither a date nor a calendar"
    assert dates(holidays, "2026-01-01", "2026-12-31") == ["2026-05-01"]


def test_an_all_day_event_of_several_days_ends_before_its_end() -> None:
    holidays = from_calendar("UID:1\nDTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227\nSUMMARY:Xmas")
    assert dates(holidays, "2026-12-01", "2026-12-31") == ["2026-12-24", "2026-12-25", "2026-12-26"]


def test_an_event_may_reach_over_the_end_of_the_year() -> None:
    holidays = from_calendar("UID:1\nDTSTART;VALUE=DATE:20261231\nDTEND;VALUE=DATE:20270103")
    assert dates(holidays, "2026-12-30", "2027-01-05") == ["2026-12-31", "2027-01-01", "2027-01-02"]


def test_an_event_that_repeats_every_year_is_a_holiday_every_year_from_its_first_on() -> None:
    holidays = from_calendar(
        "UID:1\nDTSTART;VALUE=DATE:20240229\nRRULE:FREQ=YEARLY",
        "UID:2\nDTSTART;VALUE=DATE:20200501\nRRULE:FREQ=YEARLY",
    )
    assert dates(holidays, "2019-01-01", "2028-12-31") == [
        "2020-05-01", "2021-05-01", "2022-05-01", "2023-05-01", "2024-02-29", "2024-05-01",
        "2025-05-01", "2026-05-01", "2027-05-01", "2028-02-29", "2028-05-01",
    ]  # fmt: skip


def test_exceptions_to_a_rule_and_cancelled_events_are_no_holidays() -> None:
    holidays = from_calendar(
        "UID:1\nDTSTART;VALUE=DATE:20250501\nRRULE:FREQ=YEARLY\nEXDATE;VALUE=DATE:20260501",
        "UID:2\nDTSTART;VALUE=DATE:20260601\nSTATUS:CANCELLED",
    )
    assert dates(holidays, "2025-01-01", "2027-12-31") == ["2025-05-01", "2027-05-01"]


def test_events_with_a_time_of_day_are_no_holidays() -> None:
    holidays = from_calendar(
        "UID:1\nDTSTART:20260601T100000Z\nDTEND:20260601T110000Z", "UID:2\nDTSTART;VALUE=DATE:20260602"
    )
    assert dates(holidays, "2026-01-01", "2026-12-31") == ["2026-06-02"]


def test_a_file_may_hold_several_calendars() -> None:
    text = calendar("UID:1\nDTSTART;VALUE=DATE:20260601") + calendar("UID:2\nDTSTART;VALUE=DATE:20260602")
    holidays, problems = loaded(SOME, {"both.ics": text})
    assert problems == ()
    assert dates(holidays, "2026-01-01", "2026-12-31") == ["2026-06-01", "2026-06-02"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "BEGIN:VCALENDAR\n",
        "BEGIN:VCALENDAR\nEND:VEVENT\n",
        calendar(),
        calendar("UID:1\nSUMMARY:no start"),
        calendar("UID:1\nDTSTART;VALUE=DATE:2026"),
        calendar("UID:1\nDTSTART;VALUE=DATE:20260230"),
        calendar("UID:1\nDTSTART;VALUE=DATE:20260101\nRRULE:FREQ=SOMETIMES"),
        calendar("UID:1\nDTSTART;VALUE=DATE:20260101\nRRULE:FREQ=SECONDLY"),
        calendar("UID:1\nDTSTART:20260101T100000Z"),
    ],
)
def test_a_broken_calendar_is_told_and_left_out(text: str) -> None:
    holidays, (problem,) = loaded(SOME, {"team.ics": text, "2026-05-01": ""})
    assert problem.path == 'data["team.ics"]'
    assert problem.message.startswith("the calendar cannot be read: ")
    assert "\n" not in problem.message
    assert dates(holidays, "2026-01-01", "2026-12-31") == ["2026-05-01"]


def test_public_holidays_of_a_country_and_of_a_part_of_it() -> None:
    germany, _ = load_holidays(PlanHolidays(mode="sleep-all-day", country="DE"))
    bavaria, _ = load_holidays(PlanHolidays(mode="sleep-all-day", country="DE", subdivision="BY"))
    assert "2026-10-03" in dates(germany, "2026-10-01", "2026-10-31")
    assert "2026-01-06" not in dates(germany, "2026-01-01", "2026-01-31")
    assert "2026-01-06" in dates(bavaria, "2026-01-01", "2026-01-31")


def test_all_sources_count_together() -> None:
    block = ScalerHolidays(mode="treat-as-closed", country="DE")
    data = {"2026-07-01": "", "x.ics": calendar("UID:1\nDTSTART;VALUE=DATE:20260702")}
    holidays, problems = loaded(block, data)
    assert problems == ()
    assert dates(holidays, "2026-07-01", "2026-10-03") == ["2026-07-01", "2026-07-02", "2026-10-03"]


@pytest.mark.parametrize(
    ("country", "subdivision", "path", "message", "fix"),
    [
        ("XX", None, "country", "'XX' is not a country whose holidays are known", None),
        ("de", None, "country", "'de' is not a country whose holidays are known", "Did you mean DE?"),
        ("DE", "by", "subdivision", "'by' is not a part of DE with holidays of its own", "Did you mean BY?"),
        (
            "Germany",
            None,
            "country",
            "'Germany' is not a country whose holidays are known",
            "Did you mean DE?",
        ),
        (
            "DE",
            "Bayern",
            "subdivision",
            "'Bayern' is not a part of DE with holidays of its own",
            "Did you mean BY?",
        ),
        (
            "GB",
            "Scotland",
            "subdivision",
            "'Scotland' is not a part of GB with holidays of its own",
            "Did you mean SCT?",
        ),
        (None, "BY", "subdivision", "its country is missing", "Set country too, for example DE."),
    ],
)
def test_an_unknown_country_or_part_is_told(
    country: str | None, subdivision: str | None, path: str, message: str, fix: str | None
) -> None:
    holidays, (problem,) = load_holidays(
        PlanHolidays(mode="stay-awake", country=country, subdivision=subdivision)
    )
    assert (problem.path, problem.message) == (path, message)
    assert fix is None or problem.fix == fix
    assert dates(holidays, "2026-01-01", "2026-12-31") == []


def test_without_a_block_there_are_no_holidays() -> None:
    holidays, problems = loaded(None, {"2026-05-01": ""})
    assert problems == ()
    assert dates(holidays, "2026-01-01", "2026-12-31") == []


def test_a_holiday_is_told_by_name() -> None:
    holidays, _ = loaded(SOME, {"2026-05-01": "Labour Day"})
    schedule = plan(window("20:00-06:00"), zone="Europe/Berlin", holidays={"mode": "sleep-all-day"})
    answer = PlanTimeline(schedule, holidays=holidays).at(at("2026-05-01 12:00", "Europe/Berlin"))
    assert answer.reason is Reason.HOLIDAY_SLEEP
    assert answer.message == "Asleep: 2026-05-01 is a holiday (Labour Day), and holidays are slept through."


def test_only_the_years_that_matter_are_read() -> None:
    data = {
        "2021-05-01": "",
        "2026-05-01": "",
        "2031-05-01": "",
        "x.ics": calendar("UID:1\nDTSTART;VALUE=DATE:20200501\nRRULE:FREQ=DAILY"),
    }
    holidays, problems = loaded(SOME, data, range(2025, 2028))
    assert problems == ()
    assert dates(holidays, "2020-01-01", "2040-01-01") == [
        str(date_of(day)) for day in range(day_of(date(2025, 1, 1)), day_of(date(2028, 1, 1)))
    ]


@pytest.mark.parametrize(("first", "last"), [(1, 1), (2026, 2026), (9999, 9999), (1, 9999)])
def test_the_years_around_any_year_are_in_the_calendar(first: int, last: int) -> None:
    years = years_around(first, last)
    assert years
    data = {"x.ics": calendar("UID:1\nDTSTART;VALUE=DATE:20260501\nRRULE:FREQ=YEARLY")}
    assert loaded(SOME, data, range(years.stop - 1, years.stop))[1] == ()
    assert loaded(SOME, data, range(years.start, years.start + 1))[1] == ()


def test_an_event_that_lasts_as_long_as_the_calendar_is_told_and_left_out() -> None:
    text = calendar("UID:1\nDTSTART;VALUE=DATE:00010101\nDTEND;VALUE=DATE:99991231")
    _, (problem,) = loaded(SOME, {"x.ics": text})
    assert problem.message == (
        "the calendar cannot be read: an event in it reaches to the first or the last year of the calendar"
    )


def test_a_calendar_with_too_many_events_is_told_and_left_out() -> None:
    events = [f"UID:{number}\nDTSTART;VALUE=DATE:20260501" for number in range(MOST_EVENTS + 1)]
    _, (problem,) = loaded(SOME, {"x.ics": calendar(*events)})
    assert problem.message == (
        f"the calendar cannot be read: it has {MOST_EVENTS + 1} events, and at most {MOST_EVENTS} are read"
    )


def test_no_message_of_a_library_is_passed_on() -> None:
    _, (problem,) = loaded(SOME, {"x.ics": calendar("UID:1\nDTSTART;VALUE=DATE:<script>")})
    assert "script" not in problem.message + problem.fix


def test_a_name_that_is_long_or_has_control_characters_is_not_shown() -> None:
    data = {"2026-05-01": "x" * 81, "2026-05-02": "a\x1b[31mb", "2026-05-03": " Labour Day "}
    holidays, _ = loaded(SOME, data)
    found = holidays.named(day_of(date(2026, 5, 1)), day_of(date(2026, 5, 3)))
    assert list(found.values()) == ["", "", "Labour Day"]


def test_who_has_the_same_sources_shares_one_calendar() -> None:
    days_off = DaysOff.of({date(2026, 5, 1): ""})
    block = PlanHolidays(mode="sleep-all-day", country="DE")
    other = ScalerHolidays(mode="treat-as-closed", country="DE")
    assert load_holidays(block, days_off)[0] is load_holidays(other, days_off)[0]
