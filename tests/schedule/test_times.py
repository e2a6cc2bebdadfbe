"""Times on the command line: what is understood, on whose clock, and what is said when it is not."""

from datetime import datetime, time, timedelta

import pytest
from hypothesis import example, given, settings, strategies as st
from whenever import Instant, TimeDelta

from hibernator.schedule.errors import TimeError
from hibernator.schedule.spoken import relative, shown, span
from hibernator.schedule.ticks import DAY, HOUR, MINUTE, SECOND
from hibernator.schedule.times import length, parse, seconds

NOW = Instant.from_utc(2026, 11, 16, 12)  # a Monday, 13:00 in Berlin
BERLIN = "Europe/Berlin"
# With clocks that change by an hour, by half an hour, at midnight, by a whole day, and never.
ZONES = st.sampled_from(
    ["Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Pacific/Apia", "Asia/Kolkata", "UTC"]
)
# Around changes of these clocks, and where there is none.
TURNS = st.sampled_from(
    [
        Instant.from_utc(2026, 3, 29, 1),
        Instant.from_utc(2026, 10, 25, 1),
        Instant.from_utc(2026, 4, 4, 15),
        Instant.from_utc(2026, 3, 8, 5),
        Instant.from_utc(2011, 12, 30, 10),
        Instant.from_utc(2026, 6, 1),
    ]
)
NOWS = st.builds(lambda turn, minutes: turn.add(minutes=minutes), TURNS, st.integers(-3000, 3000))


def moment(text: str, zone: str = BERLIN, *, now: Instant = NOW, back: bool = False) -> Instant:
    parsed = parse("--until", text, back=back)
    assert parsed
    return parsed.seen_from(zone, now)


def complaint(text: str) -> str:
    with pytest.raises(TimeError) as raised:
        moment(text)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-20T08:00:00Z", "2026-11-20T08:00:00Z"),
        ("2026-11-20T08:00Z", "2026-11-20T08:00:00Z"),
        ("2026-11-20t08:00:00z", "2026-11-20T08:00:00Z"),
        ("2026-11-20 08:00:00Z", "2026-11-20T08:00:00Z"),
        ("2026-11-20T09:00:00+01:00", "2026-11-20T08:00:00Z"),
        ("2026-11-20T08:00:00.000Z", "2026-11-20T08:00:00Z"),
        ("2026-11-20T08:00:00", "2026-11-20T07:00:00Z"),
        ("2026-11-20 08:00", "2026-11-20T07:00:00Z"),
        ("Fri 2026-11-20 08:00 Asia/Tokyo", "2026-11-19T23:00:00Z"),
        ("2026-11-20", "2026-11-19T23:00:00Z"),
        ("02:00", "2026-11-17T01:00:00Z"),
        ("2:00", "2026-11-17T01:00:00Z"),
        ("13:00", "2026-11-17T12:00:00Z"),  # it is just now 13:00, so that the next one is tomorrow
        ("13:01", "2026-11-16T12:01:00Z"),
        ("24:00", "2026-11-16T23:00:00Z"),
        ("18:00 UTC", "2026-11-16T18:00:00Z"),
        ("tomorrow 07:00", "2026-11-17T06:00:00Z"),
        ("Tomorrow", "2026-11-16T23:00:00Z"),
        ("today 18:00", "2026-11-16T17:00:00Z"),
        ("yesterday 18:00", "2026-11-15T17:00:00Z"),
        ("friday 18:00", "2026-11-20T17:00:00Z"),
        ("MON 07:00", "2026-11-23T06:00:00Z"),
        ("mon 18:00", "2026-11-16T17:00:00Z"),
        ("sat", "2026-11-20T23:00:00Z"),
        ("4h", "2026-11-16T16:00:00Z"),
        ("1h30m", "2026-11-16T13:30:00Z"),
        ("2d", "2026-11-18T12:00:00Z"),
        ("now", "2026-11-16T12:00:00Z"),
    ],
)
def test_a_time_is_read_on_the_clock_of_the_plan(text: str, expected: str) -> None:
    assert moment(text) == Instant(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4h", "2026-11-16T08:00:00Z"), ("18:00", "2026-11-15T17:00:00Z"), ("fri", "2026-11-12T23:00:00Z")],
)
def test_a_command_that_looks_back_means_the_last_one(text: str, expected: str) -> None:
    assert moment(text, back=True) == Instant(expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-02-30", "there is no such time in the calendar"),
        ("2026-02-30T08:00:00", "there is no such time in the calendar"),
        ("2026-03-01T25:00:00Z", "there is no such time in the calendar"),
        ("Mon 2026-11-20", "2026-11-20 is not a Mon"),
        ("soon", "this is not a time"),
        ("1200", "this is not a time"),
        ("25:00", "this is not a time"),
        ("tomorrow 25:00", "this is not a time"),
        ("18:00 Europe/Berlim", "'Europe/Berlim' is not a zone in the IANA time zone database"),
        ("9999-01-01", "only the years 1970 to 2199 can be used"),
        ("1812-06-24T00:00:00Z", "only the years 1970 to 2199 can be used"),
        ("999999999w", "only the years 1970 to 2199 can be used"),
    ],
)
def test_what_is_no_time_is_refused_with_the_reason(text: str, words: str) -> None:
    assert complaint(text) == f"--until {text}: {words}."


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("18:00 CEST", "Use an IANA zone such as Europe/Berlin."),
        ("tomorrow 18:00 PST", "Use an IANA zone such as America/Los_Angeles."),
        ("18:00 EST", "Write the zone with its area, such as America/New_York."),
        ("noon", "Write it as 07:00, tomorrow 07:00, 4h, 2026-11-20 or 2026-11-20T07:00:00Z."),
    ],
)
def test_the_fix_fits_what_was_written(text: str, fix: str) -> None:
    with pytest.raises(TimeError) as told:
        parse("--until", text)
    assert told.value.hint == fix


def test_nothing_at_all_is_shown_as_such() -> None:
    assert complaint("") == '--until "": this is not a time.'


def test_the_past_is_refused_where_only_the_future_makes_sense() -> None:
    found = parse("--until", "2026-11-16")
    assert found
    with pytest.raises(TimeError, match="Mon 2026-11-16 00:00 Europe/Berlin is in the past"):
        found.ahead(BERLIN, NOW)
    in_time = Instant.from_utc(2026, 11, 16, 4)
    assert found.ahead("America/New_York", in_time) == Instant.from_utc(2026, 11, 16, 5)


def test_a_day_without_a_midnight_begins_when_its_clock_begins() -> None:
    assert moment("2026-03-08", "America/Havana") == Instant.from_utc(2026, 3, 8, 5)
    assert moment("2011-12-30", "Pacific/Apia") == Instant.from_utc(2011, 12, 30, 10)


def test_a_length_of_time_is_read_in_the_same_way_everywhere() -> None:
    assert length("--for", "1h30m").seen_from(BERLIN, NOW) == NOW.add(minutes=90)
    assert seconds("--for", "2m30s") == 150
    for mistake in ("soon", "0s", "", "-2h", "2 h", "07:00"):
        with pytest.raises(TimeError, match="this is not a length of time"):
            length("--for", mistake)


def clock_at(at: Instant, zone: str) -> datetime:
    """What the clock on the wall shows."""
    return at.to_tz(zone).to_stdlib().replace(tzinfo=None, fold=0)


@given(ZONES, NOWS, st.integers(0, 23), st.integers(0, 59))
@example("Europe/Berlin", Instant.from_utc(2026, 10, 25, 0, 45), 2, 30)  # once more, as the clock is set back
@example("Europe/Berlin", Instant.from_utc(2026, 3, 29, 0, 30), 2, 30)  # which the clock skips
@example("Pacific/Apia", Instant.from_utc(2011, 12, 30, 9, 30), 12, 0)  # on a day that the calendar skips
@settings(max_examples=100)
def test_a_time_of_day_is_the_next_minute_in_which_the_clock_comes_to_show_it(
    zone: str, now: Instant, hour: int, minute: int
) -> None:
    wanted, after = now, clock_at(now, zone)
    while True:  # minute by minute, as somebody would look at the clock on the wall
        before, wanted = after, wanted.add(minutes=1)
        after = clock_at(wanted, zone)
        if after < before:  # it was set back, and comes to show what it shows
            before = after - timedelta(minutes=1)
        days = {before.date(), before.date() + timedelta(days=1), after.date()}
        if any(before < datetime.combine(day, time(hour, minute)) <= after for day in days):
            break
    assert moment(f"{hour:02}:{minute:02}", zone, now=now) == wanted


@given(ZONES, NOWS, st.integers(0, 23), st.integers(0, 59))
def test_the_last_one_is_at_most_now_and_no_other_is_in_between(
    zone: str, now: Instant, hour: int, minute: int
) -> None:
    text = f"{hour:02}:{minute:02}"
    last = moment(text, zone, now=now, back=True)
    assert last <= now
    assert moment(text, zone, now=last) > now


@given(ZONES, NOWS)
def test_what_is_written_back_is_understood_again(zone: str, at: Instant) -> None:
    read = moment(shown(at, zone), "Asia/Tokyo")
    assert clock_at(read, zone) == clock_at(at, zone)
    assert at - read in {TimeDelta.ZERO, TimeDelta(hours=1), TimeDelta(minutes=30)}  # the hour comes twice


@given(ZONES, NOWS, st.integers(0, 400))
def test_days_are_counted_on_the_local_clock(zone: str, now: Instant, days: int) -> None:
    later = moment(f"{days}d", zone, now=now)
    missed = clock_at(later, zone) - (clock_at(now, zone) + timedelta(days=days))
    assert abs(missed) <= timedelta(days=1)  # by as much as a clock is moved
    assert later >= now


@given(st.text() | st.text("0123456789:-+TZhmdw monfri/"))
def test_no_text_is_answered_with_a_traceback(text: str) -> None:
    try:
        found = parse("--from", text)
        assert found
        found.seen_from(BERLIN, NOW)
    except TimeError as error:
        assert str(error)  # noqa: PT017 - both outcomes are fine, a third is not


@pytest.mark.parametrize(
    ("ticks", "text"),
    [
        (0, "0s"),
        (45 * SECOND, "45s"),
        (55 * MINUTE, "55m"),
        (3 * HOUR + 12 * MINUTE, "3h12m"),
        (2 * DAY, "2d"),
        (2 * DAY + 5 * HOUR + 59 * MINUTE, "2d5h"),
        (400 * DAY, "1y35d"),
    ],
)
def test_a_length_of_time_is_told_in_two_units(ticks: int, text: str) -> None:
    assert span(ticks) == text


def test_a_time_is_told_from_now() -> None:
    assert relative(NOW.add(minutes=55), NOW) == "in 55m"
    assert relative(NOW.subtract(hours=2), NOW) == "2h ago"
    assert relative(NOW, NOW) == "now"
