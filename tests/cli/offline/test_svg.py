"""The picture: well-formed, self-contained, told to those who cannot see it, and true to the timeline."""

import re
from datetime import datetime, timedelta
from xml.etree import ElementTree as ET

from hypothesis import given

from cli.offline import samples, schedules
from hibernator.pictures.svg import STYLE
from support.command import hibernator

SVG = "{http://www.w3.org/2000/svg}"
LANE = 672


def picture(*documents: samples.Value, start: str = "2026-03-02", end: str = "2026-03-09") -> ET.Element:
    ran = hibernator(
        "simulate", "-f", "-", "--from", start, "--to", end, "-o", "svg", stdin=samples.text(*documents)
    )
    assert ran.code == 0, ran.err
    return ET.fromstring(ran.out)  # noqa: S314 - our own output


def boxes(root: ET.Element, name: str) -> list[tuple[float, float, float]]:
    """Where a class is drawn in the lanes, in hours of the clock, and how high."""
    return [
        (
            round(float(box.get("x", "0")) * 24 / LANE, 2),
            round((float(box.get("x", "0")) + float(box.get("width", "0"))) * 24 / LANE, 2),
            float(box.get("height", "0")),
        )
        for lane in root.iter(f"{SVG}g")
        for box in lane.iter(f"{SVG}rect")
        if box.get("class") == name
    ]


def words(root: ET.Element) -> str:
    return " | ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))


def test_the_picture_says_in_words_what_it_shows() -> None:
    root = picture(samples.plan(), samples.scaler())
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "When everything sleeps"
    assert root.findtext(f"{SVG}desc") == (
        "HibernatePlan default/dev: asleep 50 of 168 hours (30%). "
        "TimeWindowScaler default/shop: 348 replica hours in 168 hours (2.1 on average)."
    )


def test_nothing_is_fetched_from_elsewhere() -> None:
    root = picture(samples.plan())
    for element in root.iter():
        assert not any("href" in name or name == "src" for name in element.attrib)
    assert "url(http" not in STYLE
    assert "@import" not in STYLE


def test_bars_lie_where_the_clock_says() -> None:
    root = picture(samples.plan(), start="2026-03-05", end="2026-03-07")
    assert boxes(root, "asleep") == [(0, 6, 18), (20, 24, 18), (0, 6, 18), (20, 24, 18)]
    assert boxes(root, "awake") == [(6, 20, 18), (6, 20, 18)]


def test_the_skipped_hour_is_an_empty_box_and_the_repeated_one_is_drawn_twice() -> None:
    nights = samples.plan(offHours=[samples.window(start="01:00", end="02:30", daysOfWeek=["SUN"])])
    spring = picture(nights, start="2026-03-29", end="2026-03-30")
    assert boxes(spring, "missing") == [(2, 3, 18)]
    assert boxes(spring, "asleep") == [(1, 2, 18)]
    autumn = picture(nights, start="2026-10-25", end="2026-10-26")
    assert boxes(autumn, "asleep") == [(1, 3, 18), (2, 2.5, 9)]


def test_a_pending_exception_is_striped_in_the_colour_of_what_would_be() -> None:
    nap = samples.pending("nap", type="extend", windows=[samples.window(start="12:00", end="14:00")])
    root = picture(samples.plan(), nap, samples.pending("party"), start="2026-03-03", end="2026-03-04")
    assert boxes(root, "would-sleep") == [(12, 14, 18)]
    assert boxes(root, "would-wake") == [(21, 23, 18)]
    assert "? nap: extend, pending approval" in words(root)


def test_replicas_are_as_high_as_there_are_many() -> None:
    windows = [
        {"days": ["Mon"], "start": "08:00", "end": "20:00", "replicas": 4},
        {"days": ["Mon"], "start": "12:00", "end": "16:00", "replicas": 8},
    ]
    root = picture(samples.scaler(windows=windows, defaultReplicas=0), start="2026-03-02", end="2026-03-03")
    assert boxes(root, "bar") == [(0, 8, 0), (8, 12, 9), (12, 16, 18), (16, 20, 9), (20, 24, 0)]


def test_what_people_write_cannot_break_the_picture() -> None:
    plan = samples.plan(holidays={"mode": "sleep-all-day", "sourceRef": {"name": "holidays"}})
    root = picture(plan, samples.config_map({"2026-03-04": '<Tea> & "Co" \N{GRINNING FACE} ]]>'}))
    assert '★ <Tea> & "Co" \N{GRINNING FACE} ]]>' in words(root)


def test_long_names_stay_inside_the_picture() -> None:
    plan = samples.plan(holidays={"mode": "sleep-all-day", "sourceRef": {"name": "holidays"}})
    root = picture(plan, samples.config_map({"2026-03-04": "The day of the very long name"}))
    assert "★ The day of the very long n… |" in words(root) or "★ The day of the very lon…" in words(root)


@given(schedules.scenes())
def test_every_timeline_becomes_a_picture_without_holes(scene: tuple[datetime, list[samples.Value]]) -> None:
    start, documents = scene
    root = picture(*documents[:1], start=start.isoformat(), end=(start + timedelta(days=5)).isoformat())
    drawn = [box for name in ("asleep", "awake") for box in boxes(root, name)]
    assert abs(sum(end - begin for begin, end, _ in drawn) - 5 * 24) < 0.5


def test_every_colour_is_written_out_for_readers_that_know_neither_variables_nor_dark_screens() -> None:
    light, dark = STYLE.split("@media (prefers-color-scheme: dark)")
    assert "var(" not in STYLE
    coloured = r"(\S+)\{(fill|stroke):#[0-9a-f]{6}\}"
    assert re.findall(coloured, light) == re.findall(coloured, dark)
    root = picture(samples.plan(), samples.exception())
    used = {name for each in root.iter() for name in each.get("class", "").split()}
    without = {"title", "small", "would-wake", "would-sleep"}  # sizes, and patterns of coloured stripes
    assert used - without <= {where.lstrip(".") for where, _ in re.findall(coloured, light)}
    assert len(used) > 8
