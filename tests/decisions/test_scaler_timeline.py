"""From a scaler's spec to numbers: mistakes, shares, measured windows and the window that decides."""

from typing import Any

import msgspec
import pytest
from whenever import Instant

from hibernator.api.meta import ObjectMeta
from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.api.timewindowscaler_v1beta1 import ExternalReplicas, TimeWindowScalerSpec
from hibernator.decisions.scaler_timeline import (
    Mistakes,
    clamped,
    default_replicas,
    mistakes,
    present_window,
    timeline,
)
from hibernator.schedule.holidays import NO_HOLIDAYS

MONDAY_10 = Instant("2026-03-02T10:00:00Z")
DAY = {"days": ["Mon"], "start": "09:00", "end": "17:00"}
PROMETHEUS = {"serverAddress": "http://p", "query": "up"}


def spec(*windows: dict[str, Any], **more: Any) -> TimeWindowScalerSpec:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    document = {"targetRef": target, "timezone": "UTC", "windows": list(windows) or [DAY | {"replicas": 5}]}
    return msgspec.convert(document | more, TimeWindowScalerSpec)


def found(of: TimeWindowScalerSpec | None = None, **changes: Any) -> Mistakes:
    """The mistakes in a scaler of the namespace `shop`."""
    target = {"kind": "Deployment", "name": "web"} | changes.pop("target", {})
    document = {"targetRef": target, "timezone": "UTC", "windows": [DAY | {"replicas": 5}]} | changes
    scaler = msgspec.convert({"metadata": {}, "spec": document}, TimeWindowScaler)
    scaler = msgspec.structs.replace(scaler, metadata=ObjectMeta(name="hours", namespace="shop"))
    return mistakes(scaler, of or spec())


def test_a_spec_without_mistakes_has_none() -> None:
    assert found() == Mistakes(None, ())


@pytest.mark.parametrize(("namespace", "wrong"), [(None, []), ("shop", []), ("else", ["else"])])
def test_a_target_lives_beside_its_scaler(namespace: str | None, wrong: list[str]) -> None:
    others = found(target={"namespace": namespace}).others
    assert [problem.value for problem in others] == wrong
    assert all(problem.path == "spec.targetRef.namespace" for problem in others)


def test_the_zone_is_told_apart_from_what_leaves_nothing_to_act_on() -> None:
    lost = found(timezone="Mars/Olympus_Mons")
    assert lost.zone is not None
    assert lost.zone.path == "spec.timezone"
    assert lost.others == ()
    both = found(timezone="Mars/Olympus_Mons", target={"namespace": "else"})
    assert both.zone is not None
    assert [problem.path for problem in both.others] == ["spec.targetRef.namespace"]


def test_the_zone_of_a_window_is_a_mistake_of_the_window() -> None:
    odd = spec(DAY | {"replicas": 1}, DAY | {"replicas": 1, "timezone": "Mars/Olympus_Mons"})
    assert [problem.path for problem in found(odd).others] == ["spec.windows[1].timezone"]


def test_shares_are_of_the_baseline_and_rounded_up() -> None:
    shares = spec(DAY | {"replicas": "50%"}, defaultReplicas="10%")
    assert default_replicas(shares, 5) == 1
    laid_out = timeline(shares, NO_HOLIDAYS, 5, {})
    assert (laid_out.at(MONDAY_10).value, laid_out.at(MONDAY_10.add(hours=8)).value) == (3, 1)


def test_a_window_of_zero_runs_nothing() -> None:
    assert (
        timeline(spec(DAY | {"replicas": 0}, defaultReplicas=4), NO_HOLIDAYS, 5, {}).at(MONDAY_10).value == 0
    )


def test_a_measured_window_has_its_reading_or_else_its_most() -> None:
    external = {"min": 2, "max": 9, "prometheus": PROMETHEUS}
    measured = spec(DAY | {"external": external}, defaultReplicas=1)
    assert timeline(measured, NO_HOLIDAYS, 5, {}).at(MONDAY_10).value == 9
    assert timeline(measured, NO_HOLIDAYS, 5, {0: 4}).at(MONDAY_10).value == 4
    assert timeline(measured, NO_HOLIDAYS, 5, {1: 4}).at(MONDAY_10).value == 9
    assert timeline(measured, NO_HOLIDAYS, 5, {0: 0}).at(MONDAY_10).value == 0


@pytest.mark.parametrize(("reading", "replicas"), [(-1.0, 2), (2.0, 2), (2.1, 3), (9.0, 9), (9.1, 9)])
def test_a_reading_is_rounded_up_and_kept_within_its_bounds(reading: float, replicas: int) -> None:
    external = msgspec.convert({"min": 2, "max": 9, "prometheus": PROMETHEUS}, ExternalReplicas)
    assert clamped(reading, external) == replicas


@pytest.mark.parametrize(
    ("now", "index"),
    [
        ("2026-03-02T08:59:59Z", None),
        ("2026-03-02T09:00:00Z", 0),
        ("2026-03-02T11:00:00Z", 1),
        ("2026-03-02T12:00:00Z", 0),
        ("2026-03-02T17:00:00Z", 2),  # 18:00 in Berlin
        ("2026-03-02T18:00:00Z", None),
    ],
)
def test_the_last_window_that_covers_an_instant_decides(now: str, index: int | None) -> None:
    berlin = {"days": ["Mon"], "start": "18:00", "end": "19:00", "timezone": "Europe/Berlin", "replicas": 7}
    lunch = {"days": ["Mon"], "start": "11:00", "end": "12:00", "replicas": 6}
    of = spec(DAY | {"replicas": 5}, lunch, berlin)
    assert present_window(of, timeline(of, NO_HOLIDAYS, 5, {}), Instant(now)) == index
