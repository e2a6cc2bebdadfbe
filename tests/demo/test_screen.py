"""What the demo draws: it fits every terminal, and says what there is to see and to do."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from hibernator.api.remediationapprovalrequest import RemediationApprovalRequestStatus
from hibernator.cli.demo_screen import Lines, draw
from hibernator.cli.demo_timeline import Days
from hibernator.cli.demo_words import clock, pace, questions, tries, words
from hibernator.demo.view import View, Workload, opening
from hibernator.pictures.ink import UNICODE
from tools.demo_picture import SCENE, SETTING, view

SIGHT = view()
FIRST = opening(SCENE)


def shown(details: View, width: int = 80, height: int = 24) -> str:
    return "\n".join(line.plain for line in draw(details, SETTING, width, height))


@given(st.integers(60, 240), st.integers(20, 100), st.sampled_from([SIGHT, FIRST]))
def test_the_picture_fits_the_terminal(width: int, height: int, details: View) -> None:
    lines = draw(details, SETTING, width, height)
    assert len(lines) <= height
    assert max(cell_len(line.plain) for line in lines) <= width


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_everything_is_there_on_a_usual_terminal(width: int, height: int) -> None:
    said = shown(SIGHT, width, height)
    for part in ("Mon 20:04", "Hibernating", "front✓ → services… → database", "1/2 agreed", "waits for bob"):
        assert part in said
    for workload in SIGHT.workloads:
        assert workload.name in said
    assert "decide by Tue 05:36, in 10 h" in said
    assert "hibernator exception approve release-night --context bob" in said
    assert "hibernator remediation approve checkout-oom-3f2a9c01de --context bob" in said
    assert f". {SETTING.env}" in said
    assert SETTING.url in said


def test_the_picture_does_not_jump_when_the_first_objects_come() -> None:
    first, later = shown(FIRST).split("\n"), shown(SIGHT).split("\n")
    assert len(first) == len(later)
    assert first.index(" What happened") == later.index(" What happened")


def test_the_first_picture_shows_the_whole_scene_before_anything_is_known_of_it() -> None:
    said = shown(FIRST)
    assert "●" not in said
    assert "○○○○" in said
    assert "██████" in said
    assert "No request waits for approval." in said


def test_a_mark_stands_over_the_hour_and_hides_no_half_of_a_label() -> None:
    days = Days(UNICODE, per_hour=1)
    marked = days.axis(SCENE.opens).plain
    assert marked.index("▼") == 17
    assert days.axis(SCENE.opens.add(hours=2)).plain.split() == [
        "Mon",
        "06",
        "12",
        "▼",
        "Tue",
        "06",
        "12",
        "18",
    ]


def test_a_waiting_exception_is_hatched_and_one_in_force_is_awake() -> None:
    days = Days(UNICODE, per_hour=1)
    assert "╲╲╲" in days.plan(SIGHT).plain
    (waiting,) = SIGHT.exceptions
    status = msgspec.structs.replace(waiting.status, state="Active", applied_at=waiting.spec.valid_from)
    bent = replace(SIGHT, exceptions=(msgspec.structs.replace(waiting, status=status),))
    assert "○○○" in days.plan(bent).plain


def test_who_has_decided_is_no_longer_asked() -> None:
    (request,) = SIGHT.requests
    status = RemediationApprovalRequestStatus(decision="Approved", decided_by="bob@shop.example")
    decided = replace(SIGHT, requests=(msgspec.structs.replace(request, status=status),), exceptions=())
    (question,) = questions(decided)
    assert (question.answer, question.progress) == ("yes", "approved")
    assert not any("approve" in one.command for one in tries(decided))


@pytest.mark.parametrize(
    ("wanted", "ready", "state"),
    [(3, 3, "awake"), (3, 1, "waking up"), (0, 2, "falling asleep"), (0, 0, "asleep")],
)
def test_a_workload_says_where_it_is(wanted: int, ready: int, state: str) -> None:
    assert Workload("shop-web", "site", wanted, ready, 3).state == state


def test_moments_are_told_by_the_clock_of_the_shop() -> None:
    assert clock(SCENE.opens) == "Mon 17:00"
    assert words("No decision before 2026-03-03T04:36:00Z.") == "No decision before Tue 05:36."


@pytest.mark.parametrize(("speed", "told"), [(600, "2 min 24 s"), (3600, "24 s"), (1, "1440 min 0 s")])
def test_the_pace_is_told_as_the_length_of_a_day(speed: float, told: str) -> None:
    assert pace(speed) == told


def test_lines_tell_each_thing_once_and_offer_each_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(SETTING.env, SETTING.url)
    earlier = replace(SIGHT, happenings=SIGHT.happenings[:3])
    for details in (FIRST, earlier, earlier, SIGHT, SIGHT):
        lines.show(details)
    said = capsys.readouterr().out
    for happening in SIGHT.happenings:
        assert said.count(words(happening.text)) == 1
    for offer in tries(SIGHT):
        assert said.count(offer.command) == 1
    assert said.count(SETTING.url) == 1
