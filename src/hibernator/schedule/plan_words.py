"""Why a plan is asleep or awake, in words. Conditions, events, commands and pages all say it with these."""

from collections.abc import Iterator
from typing import NamedTuple

from hibernator.schedule.exceptions import Override
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.ticks import WEEK
from hibernator.schedule.timeline import Reason, Rule, State, Verdict, window_why
from hibernator.schedule.windows import Window
from hibernator.schedule.words import duration_text
from hibernator.schedule.zones import Zone, local_text


class PlanRules(NamedTuple):
    """All that decides over a plan, in the order in which it is looked at."""

    zone: Zone
    windows: tuple[Window, ...]
    holidays: Holidays
    holiday: Verdict[State] | None  # what holidays do, unless they are ignored
    overrides: tuple[Override, ...]


def window(rules: PlanRules, verdict: Verdict[State], ticks: int) -> str:
    """The windows that cover this time, of whatever decides: the plan or an exception."""
    override = _override(rules, verdict)
    windows = rules.windows if override is None else override.windows
    return " and ".join(str(window) for window in windows if window.covering(ticks))


def message(rules: PlanRules, verdict: Verdict[State], ticks: int) -> str:
    now, name = window(rules, verdict, ticks), verdict.source
    match verdict.reason:
        case Reason.OFF_HOURS:
            return f"Asleep: the off-hours {now} ({rules.zone.name}) cover this time."
        case Reason.HOLIDAY_SLEEP:
            return f"Asleep: {rules.holidays.text(rules.zone, ticks)}, and holidays are slept through."
        case Reason.HOLIDAY_AWAKE:
            return f"Awake: {rules.holidays.text(rules.zone, ticks)}, and holidays are spent awake."
        case Reason.EXCEPTION_EXTEND:
            return f"Asleep: the exception {name} adds the off-hours {now}."
        case Reason.EXCEPTION_SUSPEND:
            return f"Awake: the exception {name} suspends all sleep in {now}."
        case Reason.EXCEPTION_LEAD_TIME:
            return f"Awake: the exception {name} suspends all sleep {_soon(rules, verdict, ticks)}."
        case Reason.EXCEPTION_REPLACE if verdict.value is State.ASLEEP:
            return f"Asleep: the exception {name} replaces the off-hours with {now}."
        case Reason.EXCEPTION_REPLACE:
            return f"Awake: the exception {name} replaces the off-hours, and none of its own cover this time."
        case _:
            return f"Awake: no off-hours cover this time ({rules.zone.name})."


def considered(rules: PlanRules, verdict: Verdict[State], ticks: int) -> tuple[Rule, ...]:
    return (
        *_windows(rules, verdict, ticks),
        *_holidays(rules, verdict, ticks),
        *_overrides(rules, verdict, ticks),
    )


def otherwise(
    rules: PlanRules, verdict: Verdict[State], ticks: int, beneath: tuple[Verdict[State], Verdict[State]]
) -> tuple[str, ...]:
    """What would have to be different; `beneath` is what the windows say, and all but this exception."""
    windows_say, rest_says = beneath
    if _override(rules, verdict) is not None:
        return (f"Without the exception {verdict.source}: {message(rules, rest_says, ticks)}",)
    if verdict.reason in {Reason.HOLIDAY_AWAKE, Reason.HOLIDAY_SLEEP}:
        return (f"On any other day: {message(rules, windows_say, ticks)}", _by_exception(verdict))
    if verdict.reason is Reason.OFF_HOURS:
        return (
            f"It would be awake outside the off-hours {window(rules, verdict, ticks)}.",
            _by_exception(verdict),
        )
    following = min(rules.windows, key=lambda window: window.following(ticks))
    start, _ = following.following(ticks)
    return (
        f"The off-hours {following} begin next, at {local_text(rules.zone, start)}.",
        _by_exception(verdict),
    )


def others(rules: PlanRules, verdict: Verdict[State]) -> list[Override]:
    """All exceptions but the one that gave this verdict."""
    return [override for override in rules.overrides if override is not _override(rules, verdict)]


def _by_exception(verdict: Verdict[State]) -> str:
    if verdict.value is State.ASLEEP:
        return "An exception that suspends sleep at this time would keep it awake."
    return "An exception that extends sleep over this time would put it to sleep."


def _windows(rules: PlanRules, verdict: Verdict[State], ticks: int) -> Iterator[Rule]:
    for window in rules.windows:
        covers = window.covering(ticks) is not None
        decided = covers and verdict.reason is Reason.OFF_HOURS
        yield Rule(f"off-hours {window}", covers, decided, window_why(window, ticks, rules.zone))


def _holidays(rules: PlanRules, verdict: Verdict[State], ticks: int) -> Iterator[Rule]:
    if rules.holiday is None:
        return
    name = "holidays are slept through" if rules.holiday.value is State.ASLEEP else "holidays are spent awake"
    matched = rules.holidays.covers(rules.zone, ticks)
    yield Rule(name, matched, verdict is rules.holiday, rules.holidays.text(rules.zone, ticks))


def _overrides(rules: PlanRules, verdict: Verdict[State], ticks: int) -> Iterator[Rule]:
    deciding = _override(rules, verdict)
    for override in rules.overrides:
        name, decided = f"exception {override.name} ({override.type})", override is deciding
        covering = " and ".join(str(window) for window in override.windows if window.covering(ticks))
        if not override.governs_at(ticks):
            yield Rule(name, matched=False, decided=False, why=_validity(override, ticks, rules.zone))
        elif verdict is override.waiting:
            yield Rule(name, True, decided, f"suspends all sleep {_soon(rules, verdict, ticks)}")
        elif covering:
            effect = "" if decided else ", but changes nothing"
            yield Rule(name, True, decided, f"is valid and covers this time with {covering}{effect}")
        else:
            but = "and" if decided else "but"
            yield Rule(name, decided, decided, f"is valid, {but} none of its windows cover this time")


def _validity(override: Override, ticks: int, zone: Zone) -> str:
    if not override.governs:
        return "never applies: it conflicts with another exception for as long as it is valid"
    [(start, end)] = override.governs
    if ticks < start:
        return f"does not apply before {local_text(zone, start)}"
    return f"was valid until {local_text(zone, end)}"


def _soon(rules: PlanRules, verdict: Verdict[State], ticks: int) -> str:
    override = _override(rules, verdict)
    assert override is not None  # noqa: S101  only an exception has a lead time
    start = next(start for start, _ in override.applied(ticks, ticks + override.lead + WEEK) if start > ticks)
    lead = duration_text(override.lead)
    return f"from {local_text(rules.zone, start)}, and none begins within {lead} before that"


def _override(rules: PlanRules, verdict: Verdict[State]) -> Override | None:
    """The exception that gave this very verdict, if one did."""
    return next(
        (
            override
            for override in rules.overrides
            if any(verdict is own for own in (override.asleep, override.awake, override.waiting))
        ),
        None,
    )
