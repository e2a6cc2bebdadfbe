"""Schedules of every kind, in zones and weeks in which clocks do odd things."""

from datetime import UTC, date, datetime, timedelta

from hypothesis import strategies as st

from schedule.brute import BruteException, BruteScaling, BruteWindow

# A zone, and days around which its clock is changed or the calendar is odd.
ODD_WEEKS = {
    "Africa/Cairo": ["2010-08-11", "2010-09-10", "2014-05-16", "2023-04-28", "2026-04-24", "2026-10-30"],
    "Africa/Casablanca": ["2026-02-15", "2026-03-22", "2025-02-23"],
    "America/Havana": ["2026-03-08", "2026-11-01", "2024-02-29"],
    "America/New_York": ["2026-03-08", "2026-11-01", "2024-02-29", "2027-01-01"],
    "America/Sao_Paulo": ["2017-10-15", "2018-02-18", "2018-11-04"],
    "America/Scoresbysund": ["2024-03-31"],
    "America/St_Johns": ["2006-04-02", "2006-10-29", "2011-11-06", "2026-03-08"],
    "Antarctica/Troll": ["2026-03-29", "2026-10-25"],
    "Asia/Beirut": ["2026-03-29", "2023-03-30"],
    "Asia/Gaza": ["2026-03-28", "2026-10-31", "2011-08-01", "2011-08-30"],
    "Asia/Kathmandu": ["2024-02-29"],
    "Asia/Kolkata": ["2024-02-29", "2026-12-31"],
    "Asia/Tehran": ["2022-03-22", "2022-09-22"],
    "Atlantic/Azores": ["2026-03-29", "2026-10-25"],
    "Australia/Lord_Howe": ["2026-04-05", "2026-10-04"],
    "Europe/Berlin": ["2026-03-29", "2026-10-25", "2028-02-29", "2026-12-31"],
    "Europe/Dublin": ["2026-03-29", "2026-10-25"],
    "Pacific/Apia": ["2011-12-30", "2012-04-01", "2011-09-24"],
    "Pacific/Chatham": ["2026-04-05", "2026-09-27"],
    "Pacific/Kwajalein": ["1993-08-21"],
    "UTC": ["2026-06-15"],
}

_TIMES = [
    "00:00",
    "00:01",
    "00:30",
    "01:00",
    "01:30",
    "02:00",
    "02:15",
    "02:30",
    "03:00",
    "06:00",
    "09:00",
    "12:00",
    "20:00",
    "22:30",
    "23:00",
    "23:01",
    "23:58",
    "23:59",
]
_DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

times = st.sampled_from(_TIMES) | st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))
day_lists = st.lists(st.sampled_from(_DAYS), min_size=1, max_size=7, unique=True).map(tuple)


@st.composite
def weeks(draw: st.DrawFn) -> tuple[str, datetime, datetime]:
    """A zone and a stretch of days around one of its odd ones."""
    zone = draw(st.sampled_from(sorted(ODD_WEEKS)))
    odd = datetime.fromisoformat(draw(st.sampled_from(ODD_WEEKS[zone]))).replace(tzinfo=UTC)
    start = odd - timedelta(days=draw(st.integers(1, 5)))
    return zone, start, start + timedelta(days=draw(st.integers(2, 9)))


@st.composite
def windows(draw: st.DrawFn, *, end_of_day: bool) -> BruteWindow:
    start, end = draw(st.tuples(times, times).filter(lambda pair: pair[0] != pair[1]))
    return BruteWindow(draw(day_lists), start, end, end_of_day)


def off_hours() -> st.SearchStrategy[tuple[BruteWindow, ...]]:
    return st.lists(windows(end_of_day=True), min_size=1, max_size=4).map(tuple)


def scalings() -> st.SearchStrategy[tuple[BruteScaling, ...]]:
    one = st.builds(BruteScaling, windows(end_of_day=False), st.integers(0, 6))
    return st.lists(one, min_size=1, max_size=4).map(tuple)


def holidays_near(start: datetime) -> st.SearchStrategy[frozenset[date]]:
    days = [start.date() + timedelta(days=step) for step in range(-2, 11)]
    return st.frozensets(st.sampled_from(days), max_size=4)


@st.composite
def exceptions_near(draw: st.DrawFn, start: datetime, *, whole_minutes: bool = False) -> BruteException:
    begins = start + timedelta(
        minutes=draw(st.integers(-3 * 1440, 6 * 1440)),
        seconds=0 if whole_minutes else draw(st.sampled_from([0, 59])),
    )
    lasts = timedelta(minutes=draw(st.integers(0, 9 * 1440)))
    lead = timedelta(minutes=draw(st.sampled_from([0, 1, 30, 60, 180, 720, 1440, 2880])))
    kind = draw(st.sampled_from(["extend", "suspend", "replace"]))
    return BruteException(
        kind, begins, begins + lasts, draw(off_hours()), lead if kind == "suspend" else timedelta()
    )
