"""What a scaler wants, read from its spec, its holidays and, where it is measured, from Prometheus.

Specs and timelines are kept for as long as what they were made of stays the same: at a boundary that
thousands cross together, a look must cost no more than a look.
"""

import math
from dataclasses import dataclass, replace

from whenever import Instant

from hibernator.api.conversion import ANNOTATION, effective_spec
from hibernator.api.problem import Problem
from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.api.timewindowscaler_v1beta1 import ExternalReplicas, TimeWindowScalerSpec
from hibernator.controllers.measurements import Measurements
from hibernator.controllers.shared import DaysOffBook
from hibernator.decisions import scaler_timeline
from hibernator.decisions.timewindowscaler_case import Trouble
from hibernator.kube.controller import Key
from hibernator.schedule.calendars import library_version
from hibernator.schedule.holidays import DaysOff, Holidays, load_holidays
from hibernator.schedule.scaler import ScalerTimeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How many replicas are wanted when, or why no one can say."""

    timeline: ScalerTimeline | None = None
    default_replicas: int = 0
    problems: tuple[Problem, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    holiday_data: str | None = None  # the release of what is known of a country's holidays
    awaited: bool = False  # a measured number is still to be read, which brings the next look


@dataclass(frozen=True, slots=True)
class _Read:
    """A spec, for as long as generation and annotation stay the same."""

    generation: int
    annotation: str | None
    spec: TimeWindowScalerSpec
    mistakes: scaler_timeline.Mistakes


@dataclass(frozen=True, slots=True)
class _LaidOut:
    """A timeline, for as long as what it was made of stays the same."""

    read: _Read
    days_off: DaysOff | None  # of the ConfigMap with the holidays
    baseline: int
    holidays: Holidays
    wanted: Wanted


class Readings:
    def __init__(self, days_off: DaysOffBook, measurements: Measurements) -> None:
        self._days_off = days_off
        self._measurements = measurements
        self._read: dict[Key, _Read] = {}
        self._laid_out: dict[Key, _LaidOut] = {}

    def spec(self, key: Key, scaler: TimeWindowScaler) -> TimeWindowScalerSpec:
        """All that the scaler says, in the words of the newest version."""
        return self._reading(key, scaler).spec

    def are_awaited(self, scaler: TimeWindowScaler) -> bool:
        """Whether the holidays of a scaler are still being read; that brings the next look."""
        return self._days_off.awaits(scaler.metadata.namespace, scaler.spec.holidays)

    def wanted(self, key: Key, scaler: TimeWindowScaler, baseline: int, now: Instant) -> Wanted:
        """What is wanted, where shares are of `baseline`."""
        read = self._reading(key, scaler)
        if read.mistakes.others:
            return Wanted(problems=read.mistakes.others)
        if zone := read.mistakes.zone:
            trouble = Trouble(reason="InvalidTimezone", message=f"{zone.message}. {zone.fix}")
            default = scaler_timeline.default_replicas(read.spec, baseline)
            return Wanted(default_replicas=default, troubles=(trouble,))
        laid_out = self._lay_out(key, scaler, read, baseline)
        if window := _measured_now(read.spec, laid_out.wanted.timeline, now):
            return self._measured(key, scaler, laid_out, *window)
        self._measurements.forget(key)
        return laid_out.wanted

    def forget(self, key: Key) -> None:
        self._read.pop(key, None)
        self._laid_out.pop(key, None)
        self._measurements.forget(key)

    def _reading(self, key: Key, scaler: TimeWindowScaler) -> _Read:
        generation, annotation = scaler.metadata.generation, scaler.metadata.annotations.get(ANNOTATION)
        read = self._read.get(key)
        if read is None or (read.generation, read.annotation) != (generation, annotation):
            spec = effective_spec(scaler)
            read = _Read(generation, annotation, spec, scaler_timeline.mistakes(scaler, spec))
            self._read[key] = read
        return read

    def _lay_out(self, key: Key, scaler: TimeWindowScaler, read: _Read, baseline: int) -> _LaidOut:
        source = read.spec.holidays.source_ref if read.spec.holidays else None
        days_off = self._days_off.get(scaler.metadata.namespace, source.name) if source else None
        known = self._laid_out.get(key)
        if known and known.read is read and known.days_off is days_off and known.baseline == baseline:
            return known
        holidays, troubles = _holidays(read.spec, days_off)
        wanted = Wanted(
            timeline=scaler_timeline.timeline(read.spec, holidays, baseline, {}),
            default_replicas=scaler_timeline.default_replicas(read.spec, baseline),
            troubles=troubles,
            holiday_data=_holiday_data(read.spec),
        )
        self._laid_out[key] = laid_out = _LaidOut(read, days_off, baseline, holidays, wanted)
        return laid_out

    def _measured(
        self, key: Key, scaler: TimeWindowScaler, laid_out: _LaidOut, index: int, external: ExternalReplicas
    ) -> Wanted:
        """With the present window's number from outside, or with the last one that was."""
        reading = self._measurements.latest(key, external.prometheus)
        if reading is None:
            return replace(laid_out.wanted, awaited=True)
        troubles, why = laid_out.wanted.troubles, reading.trouble
        if math.isnan(reading.value):
            why = "the query gives NaN, which is no number of replicas"
        if why:
            last = scaler.status.effective_replicas or 0
            replicas = max(external.min, min(last, external.max))
            message = f"spec.windows[{index}].external: {why}. {replicas} replicas stay until it can be read."
            troubles = (*troubles, Trouble(reason="ExternalMetricUnavailable", message=message))
        else:
            replicas = scaler_timeline.clamped(reading.value, external)
        spec = laid_out.read.spec
        timeline = scaler_timeline.timeline(spec, laid_out.holidays, laid_out.baseline, {index: replicas})
        return replace(laid_out.wanted, timeline=timeline, troubles=troubles)


def _measured_now(
    spec: TimeWindowScalerSpec, timeline: ScalerTimeline | None, now: Instant
) -> tuple[int, ExternalReplicas] | None:
    if timeline is None or not any(window.external for window in spec.windows):
        return None
    index = scaler_timeline.present_window(spec, timeline, now)
    external = None if index is None else spec.windows[index].external
    return (index, external) if index is not None and external else None


def _holiday_data(spec: TimeWindowScalerSpec) -> str | None:
    block = spec.holidays
    return library_version() if block and block.country and block.mode != "ignore" else None


def _holidays(spec: TimeWindowScalerSpec, days_off: DaysOff | None) -> tuple[Holidays, tuple[Trouble, ...]]:
    holidays, problems = load_holidays(spec.holidays, days_off)
    source = spec.holidays.source_ref if spec.holidays else None
    named = f"ConfigMap {source.name}" if source else ""
    troubles = [
        Trouble(
            reason="InvalidConfiguration",
            message=f"{f'{named}, ' if p.path.startswith('data') else ''}{p.path}: {p.message}. {p.fix}",
        )
        for p in problems
    ]
    if days_off and not days_off.exists:
        message = f"{named} does not exist: no day is a holiday. Create it, or correct its name."
        troubles.insert(0, Trouble(reason="HolidaySourceMissing", message=message))
    return holidays, tuple(troubles)
