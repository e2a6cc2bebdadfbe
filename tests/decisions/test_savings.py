"""Savings against a second-by-second brute force, and the cases that people ask about."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from whenever import Instant, ZonedDateTime

from hibernator.decisions.prices import Prices, read_csv, read_prices
from hibernator.decisions.savings import Amount, Plan, Rate, SavingKey, Slept, Woke, count, spells

SHOP = Plan("team", "shop", "uid-shop")
START = ZonedDateTime(2026, 3, 31, 23, 59, tz="Europe/Berlin").timestamp()  # a minute before April
HOUR = 3600
EIGHT_CORES = Rate(type="workloadscaler", items=2, millicores=8000, mebibytes=16_384)


def saved(
    *events: Slept | Woke, window: tuple[int, int], until: int | None = None
) -> dict[SavingKey, Amount]:
    return count(spells(events, window[1] if until is None else until), window)


def total(found: dict[SavingKey, Amount]) -> Amount:
    return sum(found.values(), Amount())


def test_a_night_of_ten_hours_saves_ten_times_what_an_hour_saves() -> None:
    night = Slept(SHOP, 0, "all", EIGHT_CORES), Woke(SHOP, 10 * HOUR)
    assert total(saved(*night, window=(0, 99 * HOUR))).millicores == 8000 * 10 * HOUR


def test_what_is_still_asleep_counts_until_now() -> None:
    asleep = Slept(SHOP, 0, "all", EIGHT_CORES)
    assert total(saved(asleep, window=(0, 3 * HOUR))).mebibytes == 16_384 * 3 * HOUR


def test_a_sleep_that_began_before_the_window_counts_from_its_beginning() -> None:
    night = Slept(SHOP, 0, "all", EIGHT_CORES), Woke(SHOP, 10 * HOUR)
    assert total(saved(*night, window=(8 * HOUR, 99 * HOUR))).millicores == 8000 * 2 * HOUR


def test_a_clock_that_was_set_back_saves_nothing_and_takes_nothing() -> None:
    night = Slept(SHOP, 10 * HOUR, "all", EIGHT_CORES), Woke(SHOP, 7 * HOUR)
    assert saved(*night, window=(0, 99 * HOUR)) == {}


def test_an_exception_in_the_night_is_not_counted_as_sleep() -> None:
    told = (
        Slept(SHOP, 0, "all", EIGHT_CORES),
        Woke(SHOP, 2 * HOUR),  # the suspension begins
        Slept(SHOP, 5 * HOUR, "all", EIGHT_CORES),
        Woke(SHOP, 10 * HOUR),
    )
    assert total(saved(*told, window=(0, 99 * HOUR))).millicores == 8000 * 7 * HOUR


def test_a_target_that_grows_in_the_night_goes_on_at_its_new_rate() -> None:
    more = Rate(type="workloadscaler", millicores=9000)
    told = Slept(SHOP, 0, "all", EIGHT_CORES), Slept(SHOP, 4 * HOUR, "all", more), Woke(SHOP, 10 * HOUR)
    assert total(saved(*told, window=(0, 99 * HOUR))).millicores == (8000 * 4 + 9000 * 6) * HOUR


def test_what_others_woke_earlier_than_the_last_event_counts_no_time_twice() -> None:
    half = Rate(type="workloadscaler", millicores=4000)
    told = (
        Slept(SHOP, 5 * HOUR, "all", EIGHT_CORES),
        Slept(SHOP, 2 * HOUR, "all", half),
        Woke(SHOP, 10 * HOUR),
    )
    assert total(saved(*told, window=(0, 99 * HOUR))).millicores == 4000 * 5 * HOUR


def test_months_begin_at_midnight_in_the_zone_of_the_plan() -> None:
    rate = Rate(type="workloadscaler", millicores=1000, zone="Europe/Berlin")
    found = saved(Slept(SHOP, START, "all", rate), Woke(SHOP, START + HOUR), window=(0, 2 * START))
    assert {place.month: amount.millicores // 1000 for place, amount in found.items()} == {
        "2026-03": 60,
        "2026-04": HOUR - 60,
    }


def test_cores_of_workloads_count_once_where_their_nodes_sleep_too() -> None:
    nodes = Rate(type="eks", millicores=16_000, mebibytes=65_536, nodes=4)
    told = (
        Slept(SHOP, 0, "pods", EIGHT_CORES),
        Slept(SHOP, HOUR, "nodes", nodes),
        Woke(SHOP, 10 * HOUR),
    )
    found = saved(*told, window=(0, 99 * HOUR))
    assert {place.type: amount.millicores for place, amount in found.items()} == {
        "workloadscaler": 8000 * HOUR,
        "eks": 16_000 * 9 * HOUR,
    }
    assert total(found).nodes == 4 * 9 * HOUR


TARGETS = st.sampled_from(["a", "b"])
RATES = st.builds(
    Rate,
    type=st.sampled_from(["workloadscaler", "eks", "rds", "noop"]),
    items=st.integers(0, 3),
    millicores=st.integers(0, 5000),
    mebibytes=st.integers(0, 5000),
    nodes=st.integers(0, 3),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu", "Nowhere/Land"]),
)
PLANS = st.sampled_from([SHOP, Plan("team", "shop", "another-life"), Plan("else", "shop", "uid-else")])
MOMENTS = st.integers(START, START + 300)
EVENTS = st.lists(
    st.builds(Slept, PLANS, MOMENTS, TARGETS, RATES) | st.builds(Woke, PLANS, MOMENTS), max_size=12
)


def brute(events: Sequence[Slept | Woke], window: tuple[int, int]) -> Counter[tuple[str, str, str, str]]:
    """Millicores of every single second, each by itself."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    for plan in {event.plan for event in events}:
        its = [event for event in events if event.plan == plan]
        asleep: dict[str, Slept] = {}
        sleeping: list[tuple[Rate, range]] = []
        for event in [*its, Woke(plan, window[1])]:
            ends = list(asleep) if isinstance(event, Woke) else [event.target]
            begins = max([event.at, *(asleep[name].at for name in ends if name in asleep)])
            sleeping += [
                (asleep[name].rate, range(asleep.pop(name).at, event.at)) for name in ends if name in asleep
            ]
            if isinstance(event, Slept):
                asleep[event.target] = event._replace(at=begins)
        for second in range(*window):
            now = [rate for rate, seconds in sleeping if second in seconds]
            nodes = any(rate.type == "eks" for rate in now)
            for rate in now:
                zone = "UTC" if rate.zone == "Nowhere/Land" else rate.zone
                local = Instant.from_timestamp(second).to_tz(zone)
                if not (nodes and rate.type == "workloadscaler"):
                    month = f"{local.year}-{local.month:02}"
                    found[plan.namespace, plan.name, month, rate.type] += rate.millicores
    return found


@given(EVENTS, st.tuples(MOMENTS, MOMENTS))
def test_it_is_what_a_count_of_every_second_says(events: list[Slept | Woke], window: tuple[int, int]) -> None:
    found = saved(*events, window=window)
    assert {tuple(place): amount.millicores for place, amount in found.items() if amount.millicores} == {
        place: number for place, number in brute(events, window).items() if number
    }


@given(EVENTS, st.lists(MOMENTS, min_size=2, max_size=5).map(sorted))
def test_the_parts_of_a_window_are_together_the_window(events: list[Slept | Woke], edges: list[int]) -> None:
    whole = total(saved(*events, window=(edges[0], edges[-1]), until=START + 300))
    parts = [total(saved(*events, window=pair, until=START + 300)) for pair in pairwise(edges)]
    assert sum(parts, Amount()) == whole


@given(EVENTS, st.tuples(MOMENTS, MOMENTS))
def test_nothing_is_ever_negative(events: list[Slept | Woke], window: tuple[int, int]) -> None:
    whole = total(saved(*events, window=window))
    assert min(whole.millicores, whole.mebibytes, whole.nodes, whole.items) >= 0


def test_cores_and_memory_are_worth_what_the_prices_say() -> None:
    hour = Amount(millicores=8000 * HOUR, mebibytes=16 * 1024 * HOUR)
    assert Prices(cpu=0.5, memory=0.25).worth("workloadscaler", hour) == pytest.approx(8.0)


def test_the_price_of_a_thing_takes_the_place_of_its_cores() -> None:
    prices = Prices(hourly={"eks": 0.2, "rds": 0.3})
    hour = Amount(millicores=9999 * HOUR, nodes=4 * HOUR, items=1 * HOUR)
    assert prices.worth("eks", hour) == pytest.approx(0.8)
    assert prices.worth("rds", hour) == pytest.approx(0.3)


def test_the_custom_pricing_of_opencost_is_read_as_it_is() -> None:
    document = {
        "provider": "custom",
        "description": "ours",
        "CPU": "0.0425",
        "spotCPU": "0.006655",
        "RAM": 0.005,
        "GPU": "0.95",
    }
    assert read_prices(document) == (Prices(cpu=0.0425, memory=0.005, lists=False), [])


@pytest.mark.parametrize(
    ("document", "path", "fix"),
    [
        ({"cpu": "dear"}, "cpu", "Write a number"),
        ({"memory": -1}, "memory", "Write a number"),
        ({"cpus": 1}, "cpus", "Did you mean cpu?"),
        ({"hourly": {"cloudsq": 1}}, "hourly.cloudsq", "Did you mean cloudsql?"),
        ({"hourly": {"rds": "x"}}, "hourly.rds", "Write a number"),
        ({"hourly": 3}, "hourly", "Did you mean hourly?"),
        ({"machines": 3}, "machines", "Did you mean machines?"),
        ({"machines": {"m5.large": "x"}}, "machines.m5.large", "Write a number"),
        ({"cpu": "nan"}, "cpu", "Write a number"),
        ({"cpu": "inf"}, "cpu", "Write a number"),
        ([], "", "Write cpu:"),
    ],
)
def test_a_mistake_in_a_price_file_is_named_with_its_fix(document: object, path: str, fix: str) -> None:
    _, (problem,) = read_prices(document)
    assert problem.path == path
    assert fix in problem.fix


def test_a_price_that_cannot_be_read_counts_nothing() -> None:
    prices, _ = read_prices({"cpu": "dear", "machines": {"m5.large": -1, "m6.large": 0.2}})
    assert (prices.cpu, prices.machines) == (0.0, {"m5.large": 0.0, "m6.large": 0.2})


_THREE = {"eu-central-1/m5.large": 7200, "eu-central-1/x9.large": 3600}  # two of one, one of another


def test_machines_are_worth_their_own_price_and_the_others_their_share_of_cores() -> None:
    hour = Amount(millicores=6000 * 3600, mebibytes=0, nodes=3 * 3600, items=3 * 3600, machines=_THREE)
    assert Prices(cpu=1.0, memory=0.0).worth("ec2", hour) == pytest.approx(2 * 0.115 + 6.0 / 3)
    named = Prices(cpu=1.0, memory=0.0, machines={"m5.large": 0.2, "x9.large": 0.3}, lists=False)
    assert named.worth("eks", hour) == pytest.approx(2 * 0.2 + 0.3)
    assert Prices(cpu=1.0, memory=0.0, lists=False).worth("ec2", hour) == pytest.approx(6.0)


def test_the_price_of_a_region_comes_before_that_of_a_type() -> None:
    prices = Prices(machines={"m5.large": 0.1, "eu-central-1/m5.large": 0.2})
    assert prices.machine("eu-central-1/m5.large") == 0.2
    assert prices.machine("us-east-1/m5.large") == 0.1


def test_a_size_costs_as_many_times_as_it_is_large() -> None:
    prices = Prices()
    assert prices.machine("us-east-1/t3.micro") == pytest.approx(0.0104)
    assert prices.machine("us-east-1/m5.4xlarge") == pytest.approx(0.768)
    assert prices.machine("us-east-1/db.m5.large") is None
    assert prices.machine("nowhere/m5.large") is None
    doubling = (
        "nano",
        "micro",
        "small",
        "medium",
        "large",
        "xlarge",
        "2xlarge",
        "4xlarge",
        "8xlarge",
        "16xlarge",
    )
    known = [prices.machine(f"us-east-1/m5.{size}") or 0.0 for size in doubling]
    assert known == pytest.approx([0.006 * 2**power for power in range(10)])
    more = [prices.machine(f"us-east-1/m5.{number}xlarge") for number in (9, 12, 18, 24)]
    assert more == pytest.approx([0.192 * number for number in (9, 12, 18, 24)])


@pytest.mark.parametrize(
    ("machine", "price"),
    [
        ("us-east-1/c5.large", 0.085),
        ("us-east-1/r5.large", 0.126),
        ("eu-central-1/t3.large", 0.096),
        ("eu-central-1/c5.large", 0.097),
        ("eu-central-1/r5.large", 0.152),
    ],
)
def test_a_machine_costs_what_aws_lists(machine: str, price: float) -> None:
    assert Prices().machine(machine) == price


def test_the_csv_of_opencost_is_read_as_it_is() -> None:
    row = {"Region": "eu-central-1", "AssetClass": "node", "InstanceType": "m5.large"}
    rows = [
        row | {"MarketPriceHourly": "0.1"},
        row | {"Region": "", "InstanceType": "metal-1", "MarketPriceHourly": "2"},
        row | {"AssetClass": "pv", "MarketPriceHourly": "9"},
    ]
    prices, problems = read_csv(rows)
    assert (prices.machines, problems) == ({"eu-central-1/m5.large": 0.1, "metal-1": 2.0}, [])
    assert prices.machine("us-east-1/m5.large") is None  # the list of AWS is no part of it
    _, (problem,) = read_csv([{"Region": "x"}])
    assert (problem.path, problem.message) == ("line 2", "it has no AssetClass")
    _, (problem,) = read_csv([])
    assert problem.message == "it has no price of a node"


def test_amounts_add_up_machine_by_machine() -> None:
    one = Amount(millicores=1, machines={"a/m5": 2})
    other = Amount(items=3, machines={"a/m5": 1, "b/m6": 4})
    assert one + other == Amount(1, 0, 0, 3, {"a/m5": 3, "b/m6": 4})
    assert one + Amount() == one


def test_what_nothing_is_known_of_saves_nothing() -> None:
    night = Slept(SHOP, 0, "all", Rate()), Woke(SHOP, HOUR)
    assert total(saved(*night, window=(0, HOUR))) == Amount()


def test_what_costs_nothing_has_a_price() -> None:
    assert read_prices({"cpu": 0, "memory": "0"}) == (Prices(cpu=0.0, memory=0.0, lists=False), [])
