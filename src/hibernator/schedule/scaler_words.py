"""Why a scaler runs so many replicas, in words. Conditions, events, commands and pages all use these."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.timewindowscaler import ScalerWindow
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.ticks import HOUR
from hibernator.schedule.timeline import Reason, Rule, Verdict, window_why
from hibernator.schedule.windows import Window, scaler_window
from hibernator.schedule.words import DAYS
from hibernator.schedule.zones import Zone, local_text, zone_of


class ScaledWindow(NamedTuple):
    """A window, the replicas that it asks for, and what `currentWindow` calls it."""

    window: Window
    replicas: int
    label: str


class ScalerRules(NamedTuple):
    """All that decides over a scaler, in the order in which it is looked at."""

    zone: Zone
    windows: tuple[ScaledWindow, ...]
    default: Verdict[int]
    holidays: Holidays
    holiday: Verdict[int] | None  # what holidays do, unless they are ignored


class AfterGrace(NamedTuple):
    """When a grace period in progress ends, and how many replicas will do then."""

    ticks: int
    replicas: int


def message(
    rules: ScalerRules, verdict: Verdict[int], ticks: int, after_grace: AfterGrace | None = None
) -> str:
    replicas = replica_count(verdict.value)
    match verdict.reason:
        case Reason.WINDOW:
            winner = _matching(rules, ticks)[-1]
            return f"{replicas}: the window {winner.window} ({winner.window.zone.name}) covers this time."
        case Reason.HOLIDAY_CLOSED:
            return f"{replicas}, the default: {rules.holidays.text(rules.zone, ticks)}, and no window counts."
        case Reason.HOLIDAY_OPEN:
            return f"{replicas}, the most of any window: {rules.holidays.text(rules.zone, ticks)}."
        case Reason.GRACE_PERIOD if after_grace is not None:
            end = local_text(rules.zone, after_grace.ticks)
            return f"{replicas}, kept by the grace period until {end}; {after_grace.replicas} will do then."
        case _:
            return f"{replicas}, the default: no window covers this time ({rules.zone.name})."


def considered(
    rules: ScalerRules, verdict: Verdict[int], wanted: Verdict[int], ticks: int
) -> tuple[Rule, ...]:
    graced = verdict.reason is Reason.GRACE_PERIOD
    rest = [*_windows(rules, verdict, ticks), *_holidays(rules, verdict, ticks)]
    if graced:
        why = f"{replica_count(wanted.value)} wanted, {verdict.value} kept a little longer"
        rest.append(Rule("grace period", matched=True, decided=True, why=why))
    return tuple(rest)


def otherwise(
    rules: ScalerRules, verdict: Verdict[int], ticks: int, beneath: tuple[Verdict[int], Verdict[int]]
) -> tuple[str, ...]:
    """What would have to be different; `beneath` is what windows say, and what they say with holidays."""
    windows_say, wanted = beneath
    if verdict.reason is Reason.GRACE_PERIOD:
        return (f"Without the grace period: {message(rules, wanted, ticks)}",)
    if verdict.reason in {Reason.HOLIDAY_CLOSED, Reason.HOLIDAY_OPEN}:
        return (f"On any other day: {message(rules, windows_say, ticks)}",)
    if verdict.reason is Reason.WINDOW:
        *others, winner = _matching(rules, ticks)
        beaten = f"the window {others[-1].window} would win" if others else "the default would apply"
        count = replica_count(others[-1].replicas if others else rules.default.value)
        return (f"Without the window {winner.window}, {beaten}: {count}.",)
    if not rules.windows:
        return ()
    following = min(rules.windows, key=lambda scaled: scaled.window.following(ticks))
    start, _ = following.window.following(ticks)
    return (f"The window {following.window} begins next, at {local_text(rules.zone, start)}.",)


def _windows(rules: ScalerRules, verdict: Verdict[int], ticks: int) -> Iterator[Rule]:
    matching = _matching(rules, ticks)
    for scaled in rules.windows:
        matched = scaled in matching
        decided = matched and scaled is matching[-1] and verdict.reason is Reason.WINDOW
        why = window_why(scaled.window, ticks, rules.zone)
        if matched and scaled is not matching[-1]:
            why += ", but a later window in the list covers it too"
        yield Rule(f"window {scaled.window}, {replica_count(scaled.replicas)}", matched, decided, why)


def _holidays(rules: ScalerRules, verdict: Verdict[int], ticks: int) -> Iterator[Rule]:
    if rules.holiday is None:
        return
    closed = rules.holiday.reason is Reason.HOLIDAY_CLOSED
    name = f"holidays are {'closed' if closed else 'open'}, {replica_count(rules.holiday.value)}"
    matched = rules.holidays.covers(rules.zone, ticks)
    yield Rule(name, matched, verdict is rules.holiday, rules.holidays.text(rules.zone, ticks))


def _matching(rules: ScalerRules, ticks: int) -> list[ScaledWindow]:
    return [scaled for scaled in rules.windows if scaled.window.covering(ticks)]


def replica_count(replicas: int) -> str:
    """`1 replica`, `2 replicas`."""
    return f"{replicas} replica{'' if replicas == 1 else 's'}"


OFF_HOURS = "OffHours"
BUSINESS_HOURS = "BusinessHours"

_FRIDAY = 4
_EARLIEST, _LATEST = 5 * HOUR, 22 * HOUR


def label(window: ScalerWindow | v1beta1.ScalerWindow) -> str:
    read = scaler_window(window, zone_of("UTC"))
    if read.days[-1] <= _FRIDAY and read.start >= _EARLIEST and read.end <= _LATEST:
        return BUSINESS_HOURS
    return _custom(msgspec.to_builtins(window) | {"days": [DAYS[day] for day in read.days]})


def all_day_label(replicas: int) -> str:
    """The window that stands in for all others on a holiday that is treated as open."""
    return _custom({"days": DAYS, "start": "00:00", "end": "24:00", "replicas": replicas})


def _custom(fields: object) -> str:
    """The same days, times and replicas always give the same label, however they are ordered."""
    return f"Custom-{hashlib.sha256(msgspec.json.encode(fields, order='sorted')).hexdigest()[:8]}"
