"""From what a scaler's spec says to the numbers that its timeline needs.

Shares need the count that the target had at first, measured windows need a reading. Both are resolved here,
so that the time engine only ever sees numbers.
"""

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from whenever import Instant

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.conversion import annotation_problem
from hibernator.api.problem import Problem
from hibernator.api.timewindowscaler import HolidayMode, TimeWindowScaler
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.problems import check_scaler
from hibernator.schedule.scaler import ScalerTimeline
from hibernator.schedule.scaler_words import ScaledWindow, label
from hibernator.schedule.ticks import from_instant
from hibernator.schedule.timeline import Reason
from hibernator.schedule.windows import Window, scaler_window
from hibernator.schedule.zones import Zone, zone_of


class Mistakes(NamedTuple):
    """What is wrong with a spec: its zone, which leaves the default, and what leaves nothing to act on."""

    zone: Problem | None
    others: tuple[Problem, ...]


def mistakes(scaler: TimeWindowScaler, spec: v1beta1.TimeWindowScalerSpec) -> Mistakes:
    found = [*check_scaler(scaler.spec), *_elsewhere(scaler), *_window_zones(spec)]
    if problem := annotation_problem(scaler):
        found.append(problem)
    zone = next((problem for problem in found if problem.path == "spec.timezone"), None)
    return Mistakes(zone, tuple(problem for problem in found if problem is not zone))


def _elsewhere(scaler: TimeWindowScaler) -> Iterator[Problem]:
    named, own = scaler.spec.target_ref.namespace, scaler.metadata.namespace
    if named is not None and named != own:
        yield Problem(
            "spec.targetRef.namespace",
            named,
            f"{named} is not the scaler's own namespace",
            f"Leave it out or write {own}; a scaler scales only what lives beside it.",
        )


def _window_zones(spec: v1beta1.TimeWindowScalerSpec) -> Iterator[Problem]:
    for index, window in enumerate(spec.windows):
        try:
            zone_of(window.timezone or "UTC")
        except ScheduleError as error:
            yield Problem(f"spec.windows[{index}].timezone", window.timezone, error.message, error.fix)


def default_replicas(spec: v1beta1.TimeWindowScalerSpec, baseline: int) -> int:
    return v1beta1.share(spec.default_replicas, baseline)


def timeline(
    spec: v1beta1.TimeWindowScalerSpec, holidays: Holidays, baseline: int, measured: Mapping[int, int]
) -> ScalerTimeline:
    """What is wanted when, grace aside. A window without a reading counts with its `max`."""
    windows = tuple(
        ScaledWindow(
            _in_its_zone(window, spec),
            measured[index] if index in measured else _replicas(window, baseline),
            label(window),
        )
        for index, window in enumerate(spec.windows)
    )
    mode = spec.holidays.mode if spec.holidays else "ignore"
    return _shared(zone_of(spec.timezone), windows, default_replicas(spec, baseline), mode, holidays)


@lru_cache(maxsize=1024)
def _shared(
    zone: Zone, windows: tuple[ScaledWindow, ...], default: int, mode: HolidayMode, holidays: Holidays
) -> ScalerTimeline:
    """One for all scalers that keep the same hours, as whole fleets do."""
    return ScalerTimeline(zone, windows, default, mode=mode, holidays=holidays)


def present_window(spec: v1beta1.TimeWindowScalerSpec, laid_out: ScalerTimeline, now: Instant) -> int | None:
    """Which window decides at this instant; None when none does."""
    if laid_out.at(now).reason != Reason.WINDOW:
        return None
    ticks = from_instant(now)
    matching = (
        index
        for index, window in enumerate(spec.windows)
        if _in_its_zone(window, spec).spans(ticks, ticks + 1)
    )
    return max(matching)


def _in_its_zone(window: v1beta1.ScalerWindow, spec: v1beta1.TimeWindowScalerSpec) -> Window:
    return scaler_window(window, zone_of(window.timezone or spec.timezone))


def clamped(reading: float, external: v1beta1.ExternalReplicas) -> int:
    """A measured number as replicas: rounded up, and kept within its bounds."""
    return math.ceil(min(max(reading, external.min), external.max))


def _replicas(window: v1beta1.ScalerWindow, baseline: int) -> int:
    if window.external:
        return window.external.max
    return v1beta1.share(window.replicas or 0, baseline)
