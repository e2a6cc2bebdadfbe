"""Moments and ranges on the command line: what is understood, and what is said when it is not."""

import pytest
from hypothesis import given, strategies as st
from whenever import Date, Instant

from hibernator.cli.exits import CliError, Exit
from hibernator.cli.offline.times import Range, midnight, parse

NOW = Instant.from_utc(2026, 3, 1, 23, 30)


def moment(text: str, zone: str = "UTC") -> Instant:
    parsed = parse("--at", text)
    assert parsed
    return parsed.seen_from(zone)


def complaint(text: str) -> str:
    with pytest.raises(CliError) as raised:
        parse("--at", text)
    assert raised.value.code is Exit.USAGE
    return str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T08:00:00Z",
        "2026-03-01T08:00Z",
        "2026-03-01t08:00:00z",
        "2026-03-01 08:00:00Z",
        "2026-03-01T09:00:00+01:00",
        "2026-03-01T08:00:00.000Z",
    ],
)
def test_an_instant_may_be_written_in_every_way_of_rfc_3339(text: str) -> None:
    assert moment(text) == Instant.from_utc(2026, 3, 1, 8)


def test_a_date_is_midnight_on_the_clock_of_what_is_shown() -> None:
    assert moment("2026-03-01", "Asia/Jakarta") == Instant.from_utc(2026, 2, 28, 17)
    assert moment("2026-03-01", "America/New_York") == Instant.from_utc(2026, 3, 1, 5)


def test_a_day_without_a_midnight_begins_when_its_clock_begins() -> None:
    assert midnight(Date(2026, 3, 8), "America/Havana") == Instant.from_utc(2026, 3, 8, 5)
    assert midnight(Date(2011, 12, 30), "Pacific/Apia") == Instant.from_utc(2011, 12, 30, 10)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-03-01T08:00:00", "this moment does not say in which zone it is"),
        ("2026-02-30", "there is no such moment in the calendar"),
        ("2026-02-30T08:00:00", "there is no such moment in the calendar"),
        ("2026-03-01T25:00:00Z", "there is no such moment in the calendar"),
        ("tomorrow", "this is not a moment in time"),
        ("", "this is not a moment in time"),
        ("1200", "this is not a moment in time"),
        ("9999-01-01", "only the years 1970 to 2199 can be shown"),
        ("1812-06-24T00:00:00Z", "only the years 1970 to 2199 can be shown"),
    ],
)
def test_what_is_no_moment_is_refused_with_the_reason(text: str, words: str) -> None:
    assert complaint(text) == f"--at {text}: {words}."


def test_without_options_a_range_begins_at_todays_local_midnight() -> None:
    assert Range(None, None, 14).seen_from("Europe/Berlin", NOW) == (
        Instant.from_utc(2026, 3, 1, 23),
        Instant.from_utc(2026, 3, 15, 23),
    )


def test_days_are_counted_on_the_wall_clock() -> None:
    start, end = Range(parse("--from", "2026-03-28"), None, 2).seen_from("Europe/Berlin", NOW)
    assert (end - start).total("hours") == 47


def test_a_range_must_not_end_before_it_begins() -> None:
    backwards = Range(parse("--from", "2026-03-02"), parse("--to", "2026-03-01"), 14)
    with pytest.raises(
        CliError, match="The range is empty: it would begin at 2026-03-02T00:00:00Z and end at"
    ):
        backwards.seen_from("UTC", NOW)


def test_a_range_has_an_end() -> None:
    endless = Range(parse("--from", "2026-01-01"), parse("--to", "2036-01-01"), 14)
    with pytest.raises(CliError, match="longer than five years"):
        endless.seen_from("UTC", NOW)


@given(st.text())
def test_no_text_is_answered_with_a_traceback(text: str) -> None:
    try:
        parse("--from", text)
    except CliError as error:
        assert error.code is Exit.USAGE  # noqa: PT017 - both outcomes are fine, a third is not
