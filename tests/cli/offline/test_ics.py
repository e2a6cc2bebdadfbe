"""The calendar feed: readable by others, the same event under the same UID, text that cannot break it."""

from datetime import datetime, timedelta
from typing import Any

import icalendar
from hypothesis import given

from cli.offline import samples, schedules
from support.command import hibernator


def feed(*documents: samples.Value, start: str = "2026-03-02", end: str = "2026-03-09") -> bytes:
    ran = hibernator(
        "simulate", "-f", "-", "--from", start, "--to", end, "-o", "ics", stdin=samples.text(*documents)
    )
    assert ran.code == 0, ran.err
    return ran.out.replace("\r\n", "\n").replace("\n", "\r\n").encode()


def events(text: bytes) -> list[Any]:
    """The events as the library reads them; its types say little about what is in them."""
    return list(icalendar.Calendar.from_ical(text).walk("VEVENT"))


def shown(event: Any) -> tuple[str, str, str]:
    return str(event["SUMMARY"]), f"{event.start:%d %H:%M}", f"{event.end:%d %H:%M}"


def test_each_sleep_is_an_event() -> None:
    assert [shown(event) for event in events(feed(samples.plan()))] == [
        ("dev: asleep", "02 19:00", "03 05:00"),
        ("dev: asleep", "03 19:00", "04 05:00"),
        ("dev: asleep", "04 19:00", "05 05:00"),
        ("dev: asleep", "05 19:00", "06 05:00"),
        ("dev: asleep", "06 19:00", "07 05:00"),
    ]


def test_each_window_of_a_scaler_is_an_event() -> None:
    found = events(feed(samples.scaler(), end="2026-03-03"))
    assert [shown(event) for event in found] == [("shop: 4 replicas", "02 07:00", "02 19:00")]
    assert found[0]["DESCRIPTION"] == (
        "4 replicas: the window 08:00-20:00 Mon-Fri (Europe/Berlin) covers this time.\n"
        "TimeWindowScaler default/shop (Europe/Berlin)"
    )


def test_a_sleep_that_an_exception_prolongs_is_one_event() -> None:
    longer = samples.exception(type="extend", windows=[samples.window(start="06:00", end="09:00")])
    found = events(feed(samples.plan(), longer, start="2026-03-03", end="2026-03-04"))
    assert [shown(event)[1:] for event in found] == [("02 19:00", "03 08:00"), ("03 19:00", "04 08:00")]
    assert "the exception late adds the off-hours" in found[0]["DESCRIPTION"]


def test_a_pending_exception_is_tentative() -> None:
    found = events(feed(samples.plan(), samples.pending("party")))
    [proposed] = [event for event in found if event.get("STATUS") == "TENTATIVE"]
    assert shown(proposed) == ("dev: awake, if party is approved", "03 20:00", "03 22:00")


def test_events_are_whole_and_keep_their_uid_whatever_the_range() -> None:
    whole = {event["UID"]: shown(event) for event in events(feed(samples.plan()))}
    cut = feed(samples.plan(), start="2026-03-03T23:00:00Z", end="2026-03-04T22:00:00Z")
    parts = {event["UID"]: shown(event) for event in events(cut)}
    assert len(parts) == 2
    assert parts.items() <= whole.items()


def test_the_same_feed_is_the_same_text() -> None:
    assert feed(samples.plan()) == feed(samples.plan())


def test_resources_do_not_share_uids() -> None:
    found = events(feed(samples.plan("a"), samples.plan("b"), samples.scaler("a")))
    assert len({event["UID"] for event in found}) == len(found)


def test_lines_are_folded_and_text_is_escaped() -> None:
    plan = samples.plan(holidays={"mode": "sleep-all-day", "sourceRef": {"name": "holidays"}})
    text = feed(plan, samples.config_map({"2026-03-08": "Tea; cake, and \\ more \N{HOT BEVERAGE}"}))
    assert max(map(len, text.split(b"\r\n"))) <= 75
    assert "(Tea; cake, and \\ more \N{HOT BEVERAGE})" in events(text)[-1]["DESCRIPTION"]
    calendar = icalendar.Calendar.from_ical(text)
    assert calendar["VERSION"] == "2.0"
    assert calendar["PRODID"]


@given(schedules.scenes())
def test_every_feed_is_read_back_with_all_that_it_needs(
    scene: tuple[datetime, list[samples.Value]],
) -> None:
    start, documents = scene
    found = events(feed(*documents, start=start.isoformat(), end=(start + timedelta(days=3)).isoformat()))
    assert len({event["UID"] for event in found}) == len(found)
    for event in found:
        assert event.start < event.end
        assert event["DTSTAMP"].dt.utcoffset() == timedelta(0)
