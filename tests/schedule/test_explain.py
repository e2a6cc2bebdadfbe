"""Answers in words: every rule that was looked at, the one that won, and what would change it."""

from datetime import date
from typing import Any

from hypothesis import given, strategies as st
from whenever import Instant

from hibernator.schedule.holidays import DaysOff, Holidays, load_holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.scaler import ScalerTimeline
from hibernator.schedule.timeline import Explanation, Rule
from schedule import brute
from schedule.builders import WEEKDAYS, at, exception, plan, scaler, utc, window
from schedule.strategies import exceptions_near, holidays_near, off_hours, scalings, weeks
from schedule.test_plan_properties import Week, bending, schedule
from schedule.test_scaler_properties import spec

BERLIN = "Europe/Berlin"
VALID = "2026-01-01T00:00:00Z/2026-03-01T00:00:00Z"
NIGHTS = window("20:00-06:00", WEEKDAYS)


def test_a_night_is_explained_by_its_window() -> None:
    explanation = PlanTimeline(plan(NIGHTS, zone=BERLIN)).explain(at("2026-01-30 23:00", BERLIN))
    assert (
        explanation.answer.message
        == "Asleep: the off-hours 20:00-06:00 Mon-Fri (Europe/Berlin) cover this time."
    )
    assert explanation.answer.window == "20:00-06:00 Mon-Fri"
    assert explanation.rules == (
        Rule(
            name="off-hours 20:00-06:00 Mon-Fri",
            matched=True,
            decided=True,
            why="covers this time, from Fri 2026-01-30 20:00 until Sat 2026-01-31 06:00",
        ),
    )
    assert explanation.following is not None
    assert explanation.following.message == "Awake: no off-hours cover this time (Europe/Berlin)."
    assert explanation.otherwise == (
        "It would be awake outside the off-hours 20:00-06:00 Mon-Fri.",
        "An exception that suspends sleep at this time would keep it awake.",
    )


def test_a_day_is_explained_by_when_the_next_night_begins() -> None:
    explanation = PlanTimeline(plan(NIGHTS, zone=BERLIN)).explain(at("2026-01-31 12:00", BERLIN))
    (rule,) = explanation.rules
    assert (rule.matched, rule.decided) == (False, False)
    assert rule.why == "does not cover this time; next from Mon 2026-02-02 20:00 until Tue 2026-02-03 06:00"
    assert explanation.otherwise == (
        "The off-hours 20:00-06:00 Mon-Fri begin next, at Mon 2026-02-02 20:00.",
        "An exception that extends sleep over this time would put it to sleep.",
    )


def test_a_holiday_is_explained_by_its_date_and_what_any_other_day_would_be() -> None:
    holidays, _ = load_holidays(
        plan(NIGHTS, holidays={"mode": "stay-awake"}).holidays, DaysOff.of({date(2026, 1, 30): "Team day"})
    )
    timeline = PlanTimeline(plan(NIGHTS, zone=BERLIN, holidays={"mode": "stay-awake"}), holidays=holidays)
    explanation = timeline.explain(at("2026-01-30 23:00", BERLIN))
    assert explanation.answer.message == (
        "Awake: 2026-01-30 is a holiday (Team day), and holidays are spent awake."
    )
    assert [(rule.name, rule.matched, rule.decided) for rule in explanation.rules] == [
        ("off-hours 20:00-06:00 Mon-Fri", True, False),
        ("holidays are spent awake", True, True),
    ]
    assert explanation.otherwise[0] == (
        "On any other day: Asleep: the off-hours 20:00-06:00 Mon-Fri (Europe/Berlin) cover this time."
    )


def test_a_lead_time_is_explained_by_the_suspension_that_it_waits_for() -> None:
    suspend = exception("suspend", VALID, window("21:00-02:00", "FRI"), lead="1h", name="release")
    explanation = PlanTimeline(plan(NIGHTS, zone=BERLIN), [suspend]).explain(at("2026-01-30 20:15", BERLIN))
    assert explanation.answer.message == (
        "Awake: the exception release suspends all sleep from Fri 2026-01-30 21:00, "
        "and none begins within 1h before that."
    )
    assert explanation.rules[-1].decided
    (without,) = explanation.otherwise
    assert without.startswith("Without the exception release: Asleep: the off-hours 20:00-06:00 Mon-Fri")


def exceptions_at(moment: str, *exceptions: tuple[str, str]) -> list[str]:
    """What the rules say of exceptions with a window from 12:00 to 13:00, given as (type, validity)."""
    written = [
        exception(kind, valid, window("12:00-13:00"), name=f"e{index}")
        for index, (kind, valid) in enumerate(exceptions)
    ]
    explanation = PlanTimeline(plan(NIGHTS), written).explain(utc(moment))
    return [rule.why for rule in explanation.rules[1:]]


def test_exceptions_say_why_they_did_not_matter() -> None:
    assert exceptions_at("2026-02-03 10:00", ("extend", VALID)) == [
        "is valid, but none of its windows cover this time"
    ]
    assert exceptions_at("2026-02-03 12:30", ("suspend", VALID)) == [
        "is valid and covers this time with 12:00-13:00 every day, but changes nothing"
    ]
    assert exceptions_at("2026-03-03 12:30", ("extend", VALID)) == ["was valid until Sun 2026-03-01 00:00"]
    assert exceptions_at("2025-03-03 12:30", ("extend", VALID)) == [
        "does not apply before Thu 2026-01-01 00:00"
    ]
    assert exceptions_at("2026-02-03 10:00", ("extend", VALID), ("replace", VALID)) == [
        "never applies: it conflicts with another exception for as long as it is valid",
        "is valid, but none of its windows cover this time",
    ]


def test_each_kind_of_exception_has_its_sentence() -> None:
    def message(kind: str, moment: str) -> str:
        bend = exception(kind, VALID, window("21:00-22:00"), window("12:00-13:00"), name="event")
        return PlanTimeline(plan(NIGHTS), [bend]).at(utc(moment)).message

    assert (
        message("extend", "2026-02-03 12:30")
        == "Asleep: the exception event adds the off-hours 12:00-13:00 every day."
    )
    assert (
        message("suspend", "2026-02-03 21:30")
        == "Awake: the exception event suspends all sleep in 21:00-22:00 every day."
    )
    assert message("replace", "2026-02-03 21:30") == (
        "Asleep: the exception event replaces the off-hours with 21:00-22:00 every day."
    )
    assert message("replace", "2026-02-03 23:30") == (
        "Awake: the exception event replaces the off-hours, and none of its own cover this time."
    )


def test_a_scaler_explains_the_window_that_won_and_the_one_that_would_have() -> None:
    timeline = ScalerTimeline.of(scaler("Mon 09:00-17:00 2", "Mon 12:00-13:00 4", default=1))
    explanation = timeline.explain(utc("2026-02-02 12:30"))
    assert explanation.answer.message == "4 replicas: the window 12:00-13:00 Mon (UTC) covers this time."
    assert explanation.rules == (
        Rule(
            name="window 09:00-17:00 Mon, 2 replicas",
            matched=True,
            decided=False,
            why="covers this time, from Mon 2026-02-02 09:00 until Mon 2026-02-02 17:00, "
            "but a later window in the list covers it too",
        ),
        Rule(
            name="window 12:00-13:00 Mon, 4 replicas",
            matched=True,
            decided=True,
            why="covers this time, from Mon 2026-02-02 12:00 until Mon 2026-02-02 13:00",
        ),
    )
    assert explanation.otherwise == (
        "Without the window 12:00-13:00 Mon, the window 09:00-17:00 Mon would win: 2 replicas.",
    )


def test_without_the_window_that_won_the_one_before_it_in_the_list_wins() -> None:
    windows = ("Mon 09:00-17:00 2", "Mon 11:00-14:00 3", "Mon 12:00-13:00 4")
    timeline = ScalerTimeline.of(scaler(*windows, default=1))
    assert timeline.explain(utc("2026-02-02 12:30")).otherwise == (
        "Without the window 12:00-13:00 Mon, the window 11:00-14:00 Mon would win: 3 replicas.",
    )


def test_a_scaler_explains_grace_holidays_defaults_and_unknown_zones() -> None:
    written = scaler(
        "Mon 09:00-17:00 2", default=1, gracePeriodSeconds=60, holidays={"mode": "treat-as-closed"}
    )
    timeline = ScalerTimeline.of(written, Holidays.on(date(2026, 2, 9)))
    grace = timeline.explain(utc("2026-02-02 17:00:30"))
    assert (
        grace.answer.message
        == "2 replicas, kept by the grace period until Mon 2026-02-02 17:01; 1 will do then."
    )
    assert grace.rules[-1] == Rule("grace period", True, True, "1 replica wanted, 2 kept a little longer")
    assert grace.otherwise == (
        "Without the grace period: 1 replica, the default: no window covers this time (UTC).",
    )
    holiday = timeline.explain(utc("2026-02-09 12:00"))
    assert holiday.answer.message == "1 replica, the default: 2026-02-09 is a holiday, and no window counts."
    assert holiday.otherwise == (
        "On any other day: 2 replicas: the window 09:00-17:00 Mon (UTC) covers this time.",
    )
    night = timeline.explain(utc("2026-02-03 12:00"))
    assert night.otherwise == ("The window 09:00-17:00 Mon begins next, at Mon 2026-02-09 09:00.",)


def consistent(explanation: Explanation[Any]) -> None:
    """One winner at most, a winner matched, and every rule and sentence has words."""
    assert explanation.answer.message.endswith(".")
    assert all(rule.name and rule.why for rule in explanation.rules)
    assert all(sentence.endswith(".") for sentence in explanation.otherwise)
    if explanation.following is not None:
        now, then = explanation.answer, explanation.following
        assert (now.message, now.window) != (then.message, then.window)


@given(weeks(), off_hours(), st.sampled_from(["ignore", "sleep-all-day", "stay-awake"]), st.data())
def test_every_moment_of_every_plan_can_be_explained(
    week: Week, windows: tuple[brute.BruteWindow, ...], mode: str, data: st.DataObject
) -> None:
    zone, start, end = week
    dates = data.draw(holidays_near(start))
    exceptions = [
        (f"e{index}", bending(data.draw(exceptions_near(start))))
        for index in range(data.draw(st.integers(0, 3)))
    ]
    timeline = PlanTimeline(schedule(zone, windows, mode), exceptions, Holidays.on(*dates))
    moment = data.draw(st.datetimes(start.replace(tzinfo=None), end.replace(tzinfo=None)))
    consistent(timeline.explain(Instant(moment.replace(tzinfo=start.tzinfo))))
    assert all(interval.message for interval in timeline.between(Instant(start), Instant(end)))


@given(weeks(), scalings(), st.sampled_from(["ignore", "treat-as-closed", "treat-as-open"]), st.data())
def test_every_moment_of_every_scaler_can_be_explained(
    week: Week, windows: tuple[brute.BruteScaling, ...], mode: str, data: st.DataObject
) -> None:
    zone, start, end = week
    dates = data.draw(holidays_near(start))
    written = spec(zone, windows, 1, mode, data.draw(st.sampled_from([0, 7, 300])))
    timeline = ScalerTimeline.of(written, Holidays.on(*dates))
    moment = data.draw(st.datetimes(start.replace(tzinfo=None), end.replace(tzinfo=None)))
    consistent(timeline.explain(Instant(moment.replace(tzinfo=start.tzinfo))))
    assert all(interval.message for interval in timeline.between(Instant(start), Instant(end)))
