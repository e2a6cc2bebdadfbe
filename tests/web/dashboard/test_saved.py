"""Today and this month: what `hibernator savings` counts, though most of it is forgotten on the way."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from whenever import Instant, ZonedDateTime

from hibernator.decisions.prices import Prices
from hibernator.decisions.savings import Plan, Rate, Slept, Woke, count, spells
from hibernator.schedule.zones import day_and_month
from hibernator.settings import SettingsError
from hibernator.web.dashboard.saved import Counted
from hibernator.web.pricing import prices_of

NOW = ZonedDateTime(2026, 3, 18, 9, tz="Europe/Berlin").to_instant()
PLAN = Plan("shop", "nights", "1")
ZONE = "Asia/Jakarta"
_rates = st.builds(
    Rate,
    type=st.sampled_from(["workloadscaler", "karpenter", "rds"]),
    items=st.integers(0, 5),
    millicores=st.integers(0, 4000),
    mebibytes=st.integers(0, 8000),
    nodes=st.integers(0, 3),
    zone=st.just(ZONE),
)
_ats = st.integers(-40 * 24 * 60, 0).map(lambda minutes: NOW.add(minutes=minutes).timestamp())
_events = st.lists(
    st.builds(Slept, st.just(PLAN), _ats, st.sampled_from(["a", "b"]), _rates)
    | st.builds(Woke, st.just(PLAN), _ats),
    max_size=12,
).map(lambda found: sorted(found, key=lambda one: one.at))


@given(_events)
def test_it_is_what_counting_everything_anew_gives(events: list[Slept | Woke]) -> None:
    counted = Counted(Prices())
    for event in events:
        counted.add(event, NOW)
    found = counted.of(PLAN, NOW) if events else ()
    for worth, began in zip(found, day_and_month(NOW, ZONE), strict=False):
        amounts = count(spells(events, NOW.timestamp()), (began, NOW.timestamp()))
        assert worth.core_hours == pytest.approx(
            sum(one.millicores for one in amounts.values()) / 1000 / 3600
        )
        assert worth.worth == pytest.approx(
            sum(Prices().worth(place.type, amount) for place, amount in amounts.items())
        )


def test_a_day_and_a_month_that_are_over_count_no_more() -> None:
    counted, rate = Counted(Prices()), Rate(type="workloadscaler", millicores=1000, zone="UTC")
    start, end = Instant.from_utc(2026, 3, 30, 20), Instant.from_utc(2026, 3, 31, 6)
    counted.add(Slept(PLAN, start.timestamp(), "a", rate), start)
    counted.add(Woke(PLAN, end.timestamp()), end)
    assert [one.core_hours for one in counted.of(PLAN, end)] == [6.0, 10.0]
    assert [one.core_hours for one in counted.of(PLAN, end.add(hours=12))] == [6.0, 10.0]
    assert [one.core_hours for one in counted.of(PLAN, end.add(hours=24))] == [0.0, 0.0]


def test_prices_that_cannot_be_used_are_said_when_it_starts(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="pricesFile is '/nowhere', which cannot be read"):
        prices_of("/nowhere")
    file = tmp_path / "prices.yaml"
    file.write_text("cpu: -1")
    with pytest.raises(SettingsError, match=r"cpu: this is no price. Write a number"):
        prices_of(str(file))
    file.write_text("currency: EUR\ncpu: 0.02")
    assert prices_of(str(file)) == Prices(cpu=0.02, currency="EUR", lists=False)
