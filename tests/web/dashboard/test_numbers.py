"""What pages compute: how many sleep when, and how far away a moment is."""

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st
from markupsafe import Markup
from whenever import Instant

from hibernator.web.dashboard.audit import plain
from hibernator.web.dashboard.board import address, distance
from hibernator.web.dashboard.lanes import quarter
from hibernator.web.dashboard.plans import has_words
from hibernator.web.dashboard.sums import asleep_share, lane_start
from hibernator.web.pages import straight

NOW = Instant.from_utc(2026, 3, 2, 21, 40)
START = lane_start(NOW)

_quarters = st.integers(-20, 130)
_spans = st.lists(st.tuples(_quarters, _quarters).filter(lambda span: span[0] < span[1]), max_size=3)


@given(st.lists(_spans, max_size=6))
def test_the_share_of_sleepers_is_what_counting_each_quarter_gives(
    days: Sequence[Sequence[tuple[int, int]]],
) -> None:
    # Sleeps of one plan never overlap.
    days = [
        [span for n, span in enumerate(sorted(day)) if not n or span[0] >= sorted(day)[n - 1][1]][:1]
        for day in days
    ]
    found = asleep_share(
        [
            tuple(
                (quarter(START.add(minutes=15 * lo), START), quarter(START.add(minutes=15 * hi), START))
                for lo, hi in day
            )
            for day in days
        ]
    )
    counted = [sum(lo <= slot < hi for day in days for lo, hi in day) for slot in range(96)]
    assert found == tuple(each / len(days) if days else 0.0 for each in counted)


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (0, "now"),
        (1, "in 1 min"),
        (-59, "59 min ago"),
        (60, "in 1 h"),
        (125, "in 2 h 5 min"),
        (7 * 60 + 5, "in 7 h"),
        (30 * 60, "in 30 h"),
        (-49 * 60, "2 days ago"),
    ],
)
def test_a_moment_is_as_far_away_as_people_say(minutes: int, words: str) -> None:
    assert distance(NOW.add(minutes=minutes), NOW) == words


def test_a_lane_begins_with_the_hour() -> None:
    assert Instant.from_utc(2026, 3, 2, 21) == START


def test_an_address_keeps_what_is_asked_and_drops_what_is_empty() -> None:
    assert (
        address("/plans", {"q": "a b", "page": "2"}, {"page": "", "sort": "next"}) == "/plans?q=a+b&sort=next"
    )
    assert address("/plans", {}, {}) == "/plans"


def test_a_search_finds_all_words_in_any_order() -> None:
    assert has_words(("team-a/shop", "Asleep"), "asleep SHOP")
    assert not has_words(("team-a/shop", "Asleep"), "shop awake")
    assert has_words(("anything",), "")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("<b>", "<b>"),
        (["a@b.c", 2], "a@b.c, 2"),
        (True, "true"),
        ({"a": 1}, '{"a":1}'),
        ([{"a": None}], '[{"a":null}]'),
    ],
)
def test_the_data_of_an_event_reads_like_no_language_of_programs(value: object, words: str) -> None:
    assert plain(value) == words


def test_what_people_write_does_not_turn_round_the_words_after_it() -> None:
    assert straight("Wartung\u202e \u2067über\u2069 Nacht, שלום") == "Wartung über Nacht, שלום"
    drawn = Markup("<b>\u202e</b>")
    assert straight(drawn) is drawn
    assert straight(7) == 7
