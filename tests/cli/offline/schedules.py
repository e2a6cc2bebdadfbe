"""Random documents whose times are all right, for properties that must hold whatever people write."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from cli.offline import samples

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "America/Havana",
    "Africa/Cairo",
    "Asia/Jakarta",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Chatham",
    "America/Sao_Paulo",
)
_SHORT = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")

zones = st.sampled_from(ZONES)
times = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.sampled_from([0, 15, 30, 45, 59]))
days = st.lists(st.sampled_from(_SHORT), min_size=1, max_size=7, unique=True)
# Years with both changes of the clock everywhere, a leap day, and a turn of the year.
moments = st.integers(0, 3 * 366 * 24 * 4).map(
    lambda quarters: datetime(2023, 7, 1, tzinfo=UTC) + timedelta(minutes=15 * quarters)
)


@st.composite
def windows(draw: st.DrawFn) -> samples.Value:
    start = draw(times)
    end = draw(times.filter(lambda time: time != start))
    return {"start": start, "end": end, "daysOfWeek": draw(days)}


plans = st.builds(
    lambda zone, off_hours: samples.plan(timezone=zone, offHours=off_hours),
    zones,
    st.lists(windows(), min_size=1, max_size=3),
)


@st.composite
def exceptions(draw: st.DrawFn, near: datetime) -> samples.Value:
    start = near + timedelta(hours=draw(st.integers(-100, 300)))
    kind = draw(st.sampled_from(["extend", "suspend", "replace"]))
    spec: dict[str, Any] = {
        "type": kind,
        "validFrom": start.isoformat(),
        "validUntil": (start + timedelta(hours=draw(st.integers(1, 400)))).isoformat(),
        "windows": draw(st.lists(windows(), min_size=1, max_size=2)),
    }
    if kind == "suspend":
        spec["leadTime"] = draw(st.sampled_from(["", "30m", "2h"]))
    return samples.pending(**spec) if draw(st.booleans()) else samples.exception(**spec)


@st.composite
def scalers(draw: st.DrawFn) -> samples.Value:
    found = []
    for window in draw(st.lists(windows(), min_size=1, max_size=4)):
        days_of_week = [day.capitalize() for day in window.pop("daysOfWeek")]
        found.append(window | {"days": days_of_week, "replicas": draw(st.integers(0, 12))})
    return samples.scaler(
        timezone=draw(zones),
        windows=found,
        defaultReplicas=draw(st.integers(0, 3)),
        gracePeriodSeconds=draw(st.sampled_from([0, 90, 5400])),
    )


@st.composite
def scenes(draw: st.DrawFn) -> tuple[datetime, list[samples.Value]]:
    """A moment, and a plan with perhaps an exception near it, and perhaps a scaler."""
    near = draw(moments)
    documents = [draw(plans)]
    if draw(st.booleans()):
        documents.append(draw(exceptions(near)))
    if draw(st.booleans()):
        documents.append(draw(scalers()))
    return near, documents
