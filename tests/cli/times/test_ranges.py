"""The range that `--from` and `--to` make together."""

import pytest
from whenever import Instant

from hibernator.cli.exits import CliError
from hibernator.cli.offline.ranges import Range
from hibernator.schedule.times import parse

NOW = Instant.from_utc(2026, 3, 1, 23, 30)


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
    with pytest.raises(CliError, match="The range is empty: it would begin on Mon 2026-03-02 00:00 UTC"):
        backwards.seen_from("UTC", NOW)


def test_a_range_has_an_end() -> None:
    endless = Range(parse("--from", "2026-01-01"), parse("--to", "2036-01-01"), 14)
    with pytest.raises(CliError, match="longer than five years"):
        endless.seen_from("UTC", NOW)
