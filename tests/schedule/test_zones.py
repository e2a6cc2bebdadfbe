"""Zones as the engine reads them are the zones of the standard library, in every year."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st
from whenever import available_timezones

from hibernator.schedule.errors import UnknownTimezoneError
from hibernator.schedule.ticks import DAY, SECOND, from_datetime
from hibernator.schedule.zones import Zone, first_at, last_at, local_text, zone_of

NAMES = sorted(available_timezones())
moments = st.datetimes(datetime(1890, 1, 1), datetime(2400, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  given above


@given(st.sampled_from(NAMES), moments)
def test_the_clock_on_the_wall_reads_what_the_standard_library_says(name: str, moment: datetime) -> None:
    local = moment.astimezone(ZoneInfo(name)).replace(tzinfo=UTC)
    assert zone_of(name).reading(from_datetime(moment)) == from_datetime(local)


@pytest.mark.parametrize("name", NAMES)
def test_all_of_two_years_is_read_right(name: str) -> None:
    zone, info = zone_of(name), ZoneInfo(name)
    for year in (2011, 2026):
        start = datetime(year, 1, 1, tzinfo=UTC)
        for hour in range(0, 366 * 24, 11):
            moment = start + timedelta(hours=hour)
            offset = info.utcoffset(moment.astimezone(info))
            assert offset is not None
            assert (
                zone.reading(from_datetime(moment)) - from_datetime(moment)
                == offset // timedelta(seconds=1) * SECOND
            )


@given(st.sampled_from(NAMES), moments)
def test_first_and_last_pass_lie_around_every_reading_of_a_time(name: str, moment: datetime) -> None:
    zone, ticks = zone_of(name), from_datetime(moment)
    reading = zone.reading(ticks)
    stretches = zone.stretches(reading - DAY, reading + DAY)
    first, last = first_at(reading, stretches), last_at(reading, stretches)
    assert first <= ticks <= last
    assert zone.reading(first) >= reading
    assert zone.reading(first - 1) < reading
    assert zone.reading(last) >= reading
    assert zone.reading(last - 1) < reading


@given(st.sampled_from(NAMES), moments)
def test_every_instant_is_in_its_own_day_and_in_no_other(name: str, moment: datetime) -> None:
    zone, ticks = zone_of(name), from_datetime(moment)
    today = zone.reading(ticks) // DAY
    holding = [day for day in range(today - 2, today + 3) if _holds(zone, day, ticks)]
    assert holding == [today]


def _holds(zone: Zone, day: int, ticks: int) -> bool:
    return any(start <= ticks < end for start, end in zone.day(day))


def test_stretches_are_whole_where_they_were_read_in_two_parts() -> None:
    zone, read_at_once = zone_of("Europe/Berlin"), 1 << 47
    middle = from_datetime(datetime(2026, 1, 1, tzinfo=UTC)) // read_at_once * read_at_once
    lo, hi = middle - 200 * DAY, middle + 200 * DAY
    stretches = zone.stretches(lo, hi)
    assert stretches[0][0] <= lo
    assert stretches[-1][1] >= hi
    for (_, end, before), (start, _, offset) in pairwise(stretches):
        assert end == start
        assert before != offset


def test_a_zone_is_read_once() -> None:
    assert zone_of("Europe/Berlin") is zone_of("Europe/Berlin")


def test_an_instant_is_shown_to_people_on_their_own_clock() -> None:
    moment = from_datetime(datetime(2026, 1, 30, 5, 0, tzinfo=UTC))
    assert local_text(zone_of("Europe/Berlin"), moment) == "Fri 2026-01-30 06:00"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("CEST", "Europe/Berlin"), ("pst", "America/Los_Angeles"), ("XYZ", "Europe/Berlin")],
)
def test_an_abbreviation_is_told_with_a_zone_and_never_with_another_abbreviation(
    written: str, meant: str
) -> None:
    with pytest.raises(UnknownTimezoneError) as told:
        zone_of(written)
    assert told.value.fix == f"Use an IANA zone such as {meant}."


@pytest.mark.parametrize("written", ["UTC+2", "GMT-05:00", "+0200", "W. Europe Standard Time"])
def test_what_has_no_summer_time_or_is_of_windows_is_not_taken_for_another_zone(written: str) -> None:
    with pytest.raises(UnknownTimezoneError) as told:
        zone_of(written)
    assert told.value.fix == "Use an IANA zone such as Europe/Berlin, which knows its summer time."
