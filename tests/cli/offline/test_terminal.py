"""The timeline in a terminal: rows of days, marks, and terminals that can show little."""

import os
import subprocess
import sys
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given

from cli.offline import samples, schedules
from hibernator.pictures.days import days
from hibernator.schedule.ticks import DAY, from_datetime
from hibernator.schedule.zones import zone_of
from support.command import hibernator

SLEEP = "\N{BOX DRAWINGS LIGHT DIAGONAL UPPER RIGHT TO LOWER LEFT}"
HOLIDAYS = {"mode": "sleep-all-day", "sourceRef": {"name": "holidays"}}


def drawn(*documents: samples.Value, start: str, end: str, width: int = 80) -> list[str]:
    ran = hibernator(
        "simulate",
        "-f",
        "-",
        "--from",
        start,
        "--to",
        end,
        "--width",
        width,
        stdin=samples.text(*documents),
    )
    assert ran.code == 0, ran.err
    return ran.out.splitlines()


def test_a_week_of_a_plan() -> None:
    assert drawn(samples.plan(), start="2026-03-05", end="2026-03-08") == [
        "HibernatePlan default/dev  Europe/Berlin",
        "           00    03    06    09    12    15    18    21",
        "Thu 05 Mar ████████████····························████████",
        "Fri 06 Mar ████████████····························████████",
        "Sat 07 Mar ████████████····································",
        "asleep 26 of 72 hours (36%)",
        "██ asleep  ·· awake",
    ]


def test_exceptions_and_holidays_are_marked() -> None:
    lines = drawn(
        samples.plan(holidays=HOLIDAYS),
        samples.exception("party", validUntil="2026-03-04T23:00:00Z"),
        samples.config_map({"2026-03-05": "Founders' day"}),
        start="2026-03-03",
        end="2026-03-06",
    )
    assert lines[2:] == [
        "Tue 03 Mar ████████████····························██○○○○██ ◆ party",
        "Wed 04 Mar ████████████····························████████ ◆ party",
        "Thu 05 Mar ████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓████████ ★ Founders' day",
        "asleep 42 of 72 hours (58%)",
        "██ asleep  ·· awake  ▓▓ asleep for a holiday  ○○ awake by exception",
        "◆ party: suspend, in force, Mon 2026-03-02 01:00 to Thu 2026-03-05 00:00",
    ]


def test_notes_that_do_not_fit_beside_a_day_are_cut() -> None:
    lines = drawn(samples.plan(), samples.exception("a-very-long-name"), start="2026-03-03", end="2026-03-04")
    assert lines[2] == "Tue 03 Mar ████████████····························██○○○○██ ◆ a-very-long-name"
    lines = drawn(
        samples.plan(), samples.exception("a-longer-name-yet"), start="2026-03-03", end="2026-03-04"
    )
    assert lines[2].endswith("██ ◆ a-longer-name-yet")
    lines = drawn(
        samples.plan(), samples.exception("the-longest-name-yet"), start="2026-03-03", end="2026-03-04"
    )
    assert lines[2].endswith("██ ◆ the-longest-name-…")


def test_a_proposal_that_gives_way_to_an_exception_in_force_is_told_to_change_nothing() -> None:
    lines = drawn(
        samples.plan(),
        samples.exception("now"),
        samples.pending("later"),
        start="2026-03-03",
        end="2026-03-04",
    )
    assert lines[-2:] == [
        "? later: suspend, pending approval, Mon 2026-03-02 01:00 to Mon 2026-03-09",
        "  01:00, changes nothing here",
    ]


def test_a_pending_exception_is_hatched_where_it_would_change_something() -> None:
    lines = drawn(samples.plan(), samples.pending("party"), start="2026-03-03", end="2026-03-05")
    assert lines[2:] == [
        "Tue 03 Mar ████████████····························██╲╲╲╲██ ? party",
        "Wed 04 Mar ████████████····························████████",
        "asleep 20 of 48 hours (42%)",
        "██ asleep  ·· awake  ╲╲ would be awake, if approved",
        "? party: suspend, pending approval, Mon 2026-03-02 01:00 to Mon 2026-03-09 01:00",
    ]


def test_a_draft_that_would_add_sleep_is_hatched_the_other_way() -> None:
    nap = samples.exception(
        "nap", type="extend", draft=True, windows=[samples.window(start="12:00", end="14:00")]
    )
    lines = drawn(samples.plan(), nap, start="2026-03-03", end="2026-03-04")
    assert lines[2] == f"Tue 03 Mar ████████████············{SLEEP * 4}············████████ ? nap"
    assert f"{SLEEP * 2} would be asleep, if approved" in lines[4]
    assert lines[5].startswith("? nap: extend, a draft, ")


def test_the_hour_that_is_skipped_is_blank_and_a_day_says_how_long_it_is() -> None:
    spring = drawn(samples.plan(), start="2026-03-29", end="2026-03-30")
    assert spring[2] == "Sun 29 Mar ····  ·········································· 23 h"
    autumn = drawn(samples.plan(), start="2026-10-25", end="2026-10-26")
    assert autumn[2] == "Sun 25 Oct ················································ 25 h"
    skipped = drawn(samples.plan(timezone="Pacific/Apia"), start="2011-12-29", end="2012-01-01")
    assert skipped[3] == "Fri 30 Dec                                                  no such day"


def test_a_scaler_shows_its_numbers_and_their_height() -> None:
    windows = [
        {"days": ["Mon"], "start": "08:00", "end": "20:00", "replicas": 5},
        {"days": ["Mon"], "start": "12:00", "end": "16:00", "replicas": 10},
        {"days": ["Mon"], "start": "18:00", "end": "18:30", "replicas": 7},
    ]
    lines = drawn(samples.scaler(windows=windows, defaultReplicas=0), start="2026-03-02", end="2026-03-03")
    assert lines[2:] == [
        "Mon 02 Mar 0···············5▄▄▄▄▄▄▄10██████5▄▄▄▆5▄▄0·······",
        "81 replica hours in 24 hours (3.4 on average)",
    ]


@pytest.mark.parametrize(("width", "cells"), [(40, 24), (60, 24), (80, 48), (100, 72), (200, 96)])
def test_a_wider_terminal_shows_finer_cells(width: int, cells: int) -> None:
    lines = drawn(samples.plan(), start="2026-03-05", end="2026-03-06", width=width)
    assert lines[2].count("█") + lines[2].count("·") == cells


@given(schedules.scenes())
def test_no_line_of_a_picture_is_wider_than_asked(scene: tuple[datetime, list[samples.Value]]) -> None:
    start, documents = scene
    lines = drawn(*documents, start=start.isoformat(), end=(start + timedelta(days=3)).isoformat(), width=80)
    assert max(map(len, lines)) <= 80


@given(schedules.zones, schedules.moments)
def test_every_instant_of_a_range_is_shown_on_exactly_one_day(zone: str, start: datetime) -> None:
    first = from_datetime(start)
    last = first + 9 * DAY
    pieces = [piece for day in days(zone_of(zone), first, last) for piece in day.pieces]
    assert pieces[0].start == first
    assert pieces[-1].end == last
    assert all(before.end == after.start for before, after in pairwise(pieces))
    assert all(0 <= piece.clock < piece.clock_end <= DAY for piece in pieces)
    assert all(zone_of(zone).reading(piece.start) % DAY == piece.clock for piece in pieces)


def test_a_repeated_hour_is_there_twice() -> None:
    first = from_datetime(datetime.fromisoformat("2026-10-25T00:00:00+02:00"))
    [day] = days(zone_of("Europe/Berlin"), first, first + DAY)
    assert [(piece.clock * 24 / DAY, piece.clock_end * 24 / DAY, piece.again) for piece in day.pieces] == [
        (0, 3, False),
        (2, 3, True),
        (3, 23, False),
    ]


def _real(env: dict[str, str], *more: str) -> bytes:
    """The command in a process of its own, because encodings and colours are decided at its start."""
    settings = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR"}}
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "hibernator.cli.main",
            "simulate",
            "-f",
            "-",
            "--from",
            "2026-03-03",
            "--to",
            "2026-03-04",
            *more,
        ],
        input=samples.text(samples.plan(), samples.exception("party")).encode(),
        env=settings | env,
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    return ran.stdout


def test_a_terminal_without_unicode_gets_ascii() -> None:
    plain = _real({"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}).decode("ascii").splitlines()
    assert plain[2] == "Tue 03 Mar ############............................##oooo## + party"


def test_a_pipe_gets_no_colours_unless_it_asks_for_them() -> None:
    assert b"\x1b[" not in _real({"PYTHONUTF8": "1"})
    assert b"\x1b[" in _real({"PYTHONUTF8": "1", "FORCE_COLOR": "1", "TERM": "xterm-256color"})
    assert b"\x1b[" not in _real({"PYTHONUTF8": "1", "NO_COLOR": "1"})
