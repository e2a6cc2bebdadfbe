"""Shifting a model week and laying out each window exactly are two ways to say the same."""

from datetime import UTC, datetime

from hypothesis import given, strategies as st
from whenever import available_timezones

from hibernator.schedule.spans import Steps
from hibernator.schedule.ticks import MINUTE, from_datetime
from hibernator.schedule.windows import Weekly, off_hours as read
from hibernator.schedule.zones import zone_of
from schedule.brute import BruteWindow
from schedule.strategies import off_hours, weeks
from schedule.test_plan_properties import written

anywhere = st.tuples(
    st.sampled_from(sorted(available_timezones())),
    st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001  it gets one
)
places = weeks().map(lambda week: (week[0], week[1])) | anywhere
lengths = st.integers(1, 12 * 1440) | st.integers(1, 120 * 1440)


@given(places, off_hours(), lengths)
def test_months_laid_out_by_the_week_are_those_laid_out_day_by_day(
    place: tuple[str, datetime], windows: tuple[BruteWindow, ...], minutes: int
) -> None:
    zone, moment = place
    lo = from_datetime(moment)
    hi = lo + minutes * MINUTE
    weekly = Weekly(
        "ground", [(read(each, zone_of(zone)), f"window {i}") for i, each in enumerate(written(windows))]
    )
    assert same(weekly.steps(lo, hi), weekly._exactly(lo, hi))


def same(left: Steps[str], right: Steps[str]) -> bool:
    return (list(left.starts), list(left.values), left.end) == (
        list(right.starts),
        list(right.values),
        right.end,
    )


@given(places, off_hours(), lengths, lengths)
def test_two_stretches_of_time_laid_out_apart_fit_together(
    place: tuple[str, datetime], windows: tuple[BruteWindow, ...], first: int, second: int
) -> None:
    zone, moment = place
    lo = from_datetime(moment)
    middle, hi = lo + first * MINUTE, lo + (first + second) * MINUTE
    weekly = Weekly("ground", [(read(each, zone_of(zone)), "window") for each in written(windows)])
    whole, left, right = weekly.steps(lo, hi), weekly.steps(lo, middle), weekly.steps(middle, hi)
    seam = left.values[-1] is right.values[0]
    assert list(whole.starts) == [*left.starts, *right.starts[seam:]]
    assert all(start < end for start, end in zip(whole.starts, [*whole.starts[1:], hi], strict=True))
