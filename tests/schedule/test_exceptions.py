"""RFC-0003: its types, timelines, scenarios and use cases, played by the engine; then ruling 9's corners."""

from itertools import permutations

import pytest

from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.timeline import Reason, State
from schedule.builders import EVERY_DAY, WEEKDAYS, at, exception, plan, story, utc, window

NEW_YORK = "America/New_York"
NIGHTS = window("20:00-06:00", WEEKDAYS)


# Types


def test_extend_adds_its_windows_to_those_of_the_plan() -> None:
    extend = exception(
        "extend", "2026-01-29T00:00:00Z/2026-02-28T23:59:59Z", window("06:00-11:00", "Saturday Sunday")
    )
    assert story(PlanTimeline(plan(NIGHTS), [extend]), "2026-01-30 12:00", "2026-02-02 12:00", "UTC") == [
        "Fri 12:00 Awake WorkingHours",
        "Fri 20:00 Asleep OffHours",
        "Sat 06:00 Asleep ExceptionExtend",
        "Sat 11:00 Awake WorkingHours",
        "Sun 06:00 Asleep ExceptionExtend",
        "Sun 11:00 Awake WorkingHours",
    ]


def test_the_timeline_of_suspend_with_a_lead_time_of_an_hour() -> None:
    """Base from 20:00; suspension Saturday 21:00 to 02:00; between 20:00 and 21:00 no sleep begins."""
    suspend = exception(
        "suspend", "2026-01-26T00:00:00Z/2026-02-07T00:00:00Z", window("21:00-02:00", "Saturday"), lead="1h"
    )
    timeline = PlanTimeline(plan(window("20:00-06:00", "SAT")), [suspend])
    assert story(timeline, "2026-01-31 19:00", "2026-02-01 12:00", "UTC") == [
        "Sat 19:00 Awake WorkingHours",
        "Sat 20:00 Awake ExceptionLeadTime",
        "Sat 21:00 Awake ExceptionSuspend",
        "Sun 02:00 Asleep OffHours",
        "Sun 06:00 Awake WorkingHours",
    ]


def test_the_timeline_of_a_sleep_that_began_before_the_lead_time() -> None:
    """Base from 18:00: the sleep goes on through the lead time and is broken at 21:00."""
    suspend = exception(
        "suspend", "2026-01-26T00:00:00Z/2026-02-07T00:00:00Z", window("21:00-02:00", "Saturday"), lead="1h"
    )
    timeline = PlanTimeline(plan(window("18:00-06:00", "SAT")), [suspend])
    assert story(timeline, "2026-01-31 17:00", "2026-02-01 12:00", "UTC") == [
        "Sat 17:00 Awake WorkingHours",
        "Sat 18:00 Asleep OffHours",
        "Sat 21:00 Awake ExceptionSuspend",
        "Sun 02:00 Asleep OffHours",
        "Sun 06:00 Awake WorkingHours",
    ]


def test_replace_ignores_the_windows_of_the_plan() -> None:
    replace = exception(
        "replace", "2026-12-24T00:00:00Z/2026-12-31T23:59:59Z", window("00:00-23:59", EVERY_DAY)
    )
    timeline = PlanTimeline(plan(NIGHTS), [replace])
    assert story(timeline, "2026-12-23 12:00", "2027-01-01 12:00", "UTC") == [
        "Wed 12:00 Awake WorkingHours",
        "Wed 20:00 Asleep OffHours",
        "Thu 00:00 Asleep ExceptionReplace",
        "Thu 23:59 Asleep OffHours",  # validUntil is 23:59:59, which is a second before midnight
        "Fri 06:00 Awake WorkingHours",
    ]


def test_replace_with_fewer_windows_keeps_it_awake_at_night() -> None:
    replace = exception("replace", "2026-02-02T00:00:00Z/2026-02-09T00:00:00Z", window("12:00-13:00", "MON"))
    assert story(PlanTimeline(plan(NIGHTS), [replace]), "2026-02-02 00:00", "2026-02-03 00:00", "UTC") == [
        "Mon 00:00 Awake ExceptionReplace",
        "Mon 12:00 Asleep ExceptionReplace",
        "Mon 13:00 Awake ExceptionReplace",
    ]


# Scenarios and use cases


def test_scenario_one_a_conference_weekend_is_slept_through() -> None:
    weekend = exception(
        "extend", "2026-02-10T00:00:00Z/2026-02-15T23:59:59Z", window("00:00-23:59", "Saturday Sunday")
    )
    timeline = PlanTimeline(plan(NIGHTS), [weekend])
    answer = timeline.at(utc("2026-02-14 12:00"))
    assert (answer.value, answer.until) == (State.ASLEEP, utc("2026-02-15 23:59:59"))
    assert timeline.at(utc("2026-02-21 12:00")).value is State.AWAKE


def test_scenario_two_windows_within_the_night_change_nothing() -> None:
    early = exception("extend", "2026-01-29T00:00:00Z/2026-02-28T23:59:59Z", window("01:00-06:00", WEEKDAYS))
    bare, bent = PlanTimeline(plan(NIGHTS)), PlanTimeline(plan(NIGHTS), [early])
    assert bent.at(utc("2026-02-03 02:00")).reason is Reason.OFF_HOURS
    # Only early Monday is new: the plan's own nights begin on Monday to Friday evenings.
    added = bent.at(utc("2026-02-02 02:00"))
    assert (added.reason, added.since, added.until) == (
        Reason.EXCEPTION_EXTEND,
        utc("2026-02-02 01:00"),
        utc("2026-02-02 06:00"),
    )
    assert bare.at(utc("2026-02-02 02:00")).value is State.AWAKE


def test_scenario_three_a_maintenance_window_that_is_valid_from_its_lead_time_on() -> None:
    """The RFC writes 1 February 2026 where it means a Saturday; the last day of January is one."""
    maintenance = exception(
        "suspend", "2026-01-31T20:00:00Z/2026-02-01T02:00:00Z", window("21:00-02:00", "Saturday"), lead="1h"
    )
    timeline = PlanTimeline(plan(window("20:00-06:00", EVERY_DAY)), [maintenance])
    assert story(timeline, "2026-01-31 19:00", "2026-02-01 07:00", "UTC") == [
        "Sat 19:00 Awake WorkingHours",
        "Sat 20:00 Awake ExceptionLeadTime",
        "Sat 21:00 Awake ExceptionSuspend",
        "Sun 02:00 Asleep OffHours",
        "Sun 06:00 Awake WorkingHours",
    ]


def test_use_case_one_the_on_site_event_in_new_york() -> None:
    event = exception(
        "extend",
        "2026-01-29T00:00:00Z/2026-02-28T23:59:59Z",
        window("06:00-11:00", "Saturday Sunday"),
        window("01:00-06:00", "Monday Tuesday Wednesday Thursday Friday"),
    )
    schedule = plan(window("20:00-06:00", "Monday Tuesday Wednesday Thursday Friday"), zone=NEW_YORK)
    timeline = PlanTimeline(schedule, [event])
    assert story(timeline, "2026-02-06 12:00", "2026-02-09 12:00", NEW_YORK) == [
        "Fri 12:00 Awake WorkingHours",
        "Fri 20:00 Asleep OffHours",
        "Sat 06:00 Asleep ExceptionExtend",
        "Sat 11:00 Awake WorkingHours",
        "Sun 06:00 Asleep ExceptionExtend",
        "Sun 11:00 Awake WorkingHours",
        "Mon 01:00 Asleep ExceptionExtend",
        "Mon 06:00 Awake WorkingHours",
    ]
    after = PlanTimeline(schedule)
    assert story(timeline, "2026-03-06 12:00", "2026-03-09 12:00", NEW_YORK) == story(
        after, "2026-03-06 12:00", "2026-03-09 12:00", NEW_YORK
    )


def test_use_case_two_a_sprint_that_sleeps_by_day_too() -> None:
    sprint = exception("extend", "2026-02-15T00:00:00Z/2026-03-15T23:59:59Z", window("06:00-18:00", WEEKDAYS))
    assert story(PlanTimeline(plan(NIGHTS), [sprint]), "2026-02-17 00:00", "2026-02-18 00:00", "UTC") == [
        "Tue 00:00 Asleep OffHours",
        "Tue 06:00 Asleep ExceptionExtend",
        "Tue 18:00 Awake WorkingHours",
        "Tue 20:00 Asleep OffHours",
    ]


def test_use_case_three_a_holiday_week_is_one_sleep() -> None:
    week = exception("replace", "2026-12-24T00:00:00Z/2026-12-31T23:59:59Z", window("00:00-23:59", EVERY_DAY))
    answer = PlanTimeline(plan(NIGHTS), [week]).at(utc("2026-12-26 12:00"))
    assert (answer.since, answer.until) == (utc("2026-12-24 00:00"), utc("2026-12-31 23:59:59"))


def test_windows_of_an_exception_are_read_in_the_zone_of_the_plan() -> None:
    suspend = exception("suspend", "2026-02-02T00:00:00Z/2026-02-09T00:00:00Z", window("21:00-22:00", "TUE"))
    timeline = PlanTimeline(plan(NIGHTS, zone=NEW_YORK), [suspend])
    assert timeline.at(at("2026-02-03 21:30", NEW_YORK)).reason is Reason.EXCEPTION_SUSPEND


# Evaluation, as the RFC tells it


def test_evaluation_without_an_exception_is_the_plan_alone() -> None:
    answer = PlanTimeline(plan(NIGHTS)).at(utc("2026-02-03 21:00"))
    assert (answer.value, answer.reason) == (State.ASLEEP, Reason.OFF_HOURS)


@pytest.mark.parametrize(
    ("now", "state", "reason"),
    [
        ("2026-02-01 23:59:59", State.AWAKE, Reason.WORKING_HOURS),  # Sunday, before it is valid
        ("2026-02-03 12:30", State.ASLEEP, Reason.EXCEPTION_EXTEND),
        ("2026-02-03 13:00", State.AWAKE, Reason.WORKING_HOURS),
        ("2026-02-10 12:30", State.AWAKE, Reason.WORKING_HOURS),  # Tuesday again, after it is valid
    ],
)
def test_evaluation_bends_only_inside_the_validity(now: str, state: State, reason: Reason) -> None:
    extend = exception("extend", "2026-02-02T00:00:00Z/2026-02-09T00:00:00Z", window("12:00-13:00", "TUE"))
    answer = PlanTimeline(plan(NIGHTS), [extend]).at(utc(now))
    assert (answer.value, answer.reason) == (state, reason)


def test_validity_includes_its_start_and_excludes_its_end() -> None:
    replace = exception("replace", "2026-02-03T10:00:00Z/2026-02-03T11:00:00Z", window("00:00-23:59"))
    timeline = PlanTimeline(plan(NIGHTS), [replace])
    moments = ["09:59:59", "10:00:00", "10:59:59", "11:00:00"]
    assert [timeline.at(utc(f"2026-02-03 {moment}")).value for moment in moments] == [
        State.AWAKE,
        State.ASLEEP,
        State.ASLEEP,
        State.AWAKE,
    ]


# The corners of ruling 9


def lead(schedule_times: str, valid: str, *windows: str, hours: str = "1h") -> PlanTimeline:
    suspend = exception("suspend", valid, *(window(times) for times in windows), lead=hours)
    return PlanTimeline(plan(window(schedule_times)), [suspend])


ALWAYS = "2026-01-01T00:00:00Z/2026-03-01T00:00:00Z"


def test_a_sleep_exactly_one_lead_time_before_the_suspension_does_not_begin() -> None:
    assert lead("20:00-23:00", ALWAYS, "21:00-22:00").at(utc("2026-02-03 20:00")).value is State.AWAKE


def test_a_sleep_one_minute_earlier_begins() -> None:
    assert lead("19:59-23:00", ALWAYS, "21:00-22:00").at(utc("2026-02-03 20:00")).value is State.ASLEEP


def test_a_short_sleep_that_would_end_before_the_suspension_does_not_begin_either() -> None:
    timeline = lead("20:15-20:30", ALWAYS, "21:00-22:00")
    answer = timeline.at(utc("2026-02-03 20:20"))
    assert (answer.value, answer.reason) == (State.AWAKE, Reason.EXCEPTION_LEAD_TIME)


def test_between_two_suspensions_that_are_close_together_no_sleep_begins() -> None:
    timeline = lead("18:00-23:30", ALWAYS, "20:00-21:00", "21:30-22:00")
    assert story(timeline, "2026-02-03 17:00", "2026-02-04 00:00", "UTC") == [
        "Tue 17:00 Awake WorkingHours",
        "Tue 18:00 Asleep OffHours",
        "Tue 20:00 Awake ExceptionSuspend",
        "Tue 21:00 Awake ExceptionLeadTime",
        "Tue 21:30 Awake ExceptionSuspend",
        "Tue 22:00 Asleep OffHours",
        "Tue 23:30 Awake WorkingHours",
    ]


def test_lead_time_does_not_act_before_the_exception_is_valid() -> None:
    timeline = lead("20:00-23:00", "2026-02-03T20:30:00Z/2026-02-04T00:00:00Z", "21:00-22:00")
    assert story(timeline, "2026-02-03 19:00", "2026-02-03 22:30", "UTC") == [
        "Tue 19:00 Awake WorkingHours",
        "Tue 20:00 Asleep OffHours",
        "Tue 21:00 Awake ExceptionSuspend",
        "Tue 22:00 Asleep OffHours",
    ]


def test_a_suspension_that_begins_when_the_exception_is_over_has_no_lead_time() -> None:
    timeline = lead("20:00-23:00", "2026-02-03T00:00:00Z/2026-02-03T21:00:00Z", "21:00-22:00")
    assert timeline.at(utc("2026-02-03 20:30")).value is State.ASLEEP


def test_an_extension_that_begins_in_the_lead_time_of_the_next_exception_is_slept_through() -> None:
    """A plan already asleep stays asleep, whatever put it to sleep."""
    extend = exception("extend", "2026-02-03T00:00:00Z/2026-02-03T20:30:00Z", window("19:00-20:30"), name="a")
    suspend = exception(
        "suspend", "2026-02-03T20:30:00Z/2026-02-04T00:00:00Z", window("21:00-22:00"), lead="1h", name="b"
    )
    timeline = PlanTimeline(plan(window("20:15-23:00")), [extend, suspend])
    assert story(timeline, "2026-02-03 18:00", "2026-02-03 22:30", "UTC") == [
        "Tue 18:00 Awake WorkingHours",
        "Tue 19:00 Asleep ExceptionExtend",
        "Tue 20:15 Asleep OffHours",
        "Tue 21:00 Awake ExceptionSuspend",
        "Tue 22:00 Asleep OffHours",
    ]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_where_validities_overlap_the_first_one_passed_governs(order: tuple[str, str]) -> None:
    both = {
        "a": exception(
            "replace", "2026-02-03T00:00:00Z/2026-02-05T00:00:00Z", window("00:00-23:59"), name="a"
        ),
        "b": exception(
            "replace", "2026-02-04T00:00:00Z/2026-02-06T00:00:00Z", window("12:00-13:00"), name="b"
        ),
    }
    timeline = PlanTimeline(plan(NIGHTS), [both[name] for name in order])
    contested = timeline.at(utc("2026-02-04 15:00"))
    assert contested.value is (State.ASLEEP if order[0] == "a" else State.AWAKE)
    # The other one waits, and takes over with what is left of its time.
    assert timeline.at(utc("2026-02-03 15:00")).value is (State.ASLEEP if order[0] == "a" else State.AWAKE)
    assert timeline.at(utc("2026-02-05 21:00")).value is State.AWAKE


def test_several_are_in_force_where_their_windows_do_not_overlap() -> None:
    """Replaced first, then extended, then suspended, in whatever order they were filed."""
    valid = "2026-02-02T00:00:00Z/2026-02-09T00:00:00Z"
    filed = [
        exception("suspend", valid, window("04:00-05:00"), name="wake", lead="1h"),
        exception("extend", valid, window("12:00-13:00"), name="lunch"),
        exception("replace", valid, window("02:00-04:00"), window("05:00-07:00"), name="new-nights"),
        exception("replace", valid, window("22:00-23:00"), name="evenings"),
        exception("suspend", valid, window("13:00-14:00"), name="meeting", lead="30m"),
    ]
    for order in permutations(filed):
        timeline = PlanTimeline(plan(NIGHTS), order)
        assert story(timeline, "2026-02-03 00:00", "2026-02-04 00:00", "UTC") == [
            "Tue 00:00 Awake ExceptionReplace",
            "Tue 02:00 Asleep ExceptionReplace",
            "Tue 04:00 Awake ExceptionReplace",
            "Tue 05:00 Asleep ExceptionReplace",
            "Tue 07:00 Awake ExceptionReplace",
            "Tue 12:00 Asleep ExceptionExtend",
            "Tue 13:00 Awake ExceptionReplace",
            "Tue 22:00 Asleep ExceptionReplace",
            "Tue 23:00 Awake ExceptionReplace",
        ]


def test_the_lead_times_of_several_suspensions_hold_each_for_its_own_windows() -> None:
    valid = "2026-02-02T00:00:00Z/2026-02-09T00:00:00Z"
    early = exception("suspend", valid, window("21:00-22:00"), name="early", lead="1h")
    late = exception("suspend", valid, window("22:30-23:00"), name="late", lead="30m")
    assert story(
        PlanTimeline(plan(NIGHTS), [early, late]), "2026-02-03 19:00", "2026-02-04 00:00", "UTC"
    ) == [
        "Tue 19:00 Awake WorkingHours",
        "Tue 20:00 Awake ExceptionLeadTime",
        "Tue 21:00 Awake ExceptionSuspend",
        "Tue 22:00 Awake ExceptionLeadTime",
        "Tue 22:30 Awake ExceptionSuspend",
        "Tue 23:00 Asleep OffHours",
    ]


def test_an_emergency_now_leaves_what_is_approved_for_tonight_in_force() -> None:
    tonight = exception(
        "extend", "2026-02-03T00:00:00Z/2026-02-04T00:00:00Z", window("18:00-20:00"), name="tonight"
    )
    now = exception("suspend", "2026-02-03T02:00:00Z/2026-02-03T04:00:00Z", window("00:00-23:59"), name="now")
    assert story(
        PlanTimeline(plan(NIGHTS), [tonight, now]), "2026-02-03 01:00", "2026-02-03 23:00", "UTC"
    ) == [
        "Tue 01:00 Asleep OffHours",
        "Tue 02:00 Awake ExceptionSuspend",
        "Tue 04:00 Asleep OffHours",
        "Tue 06:00 Awake WorkingHours",
        "Tue 18:00 Asleep ExceptionExtend",
        "Tue 20:00 Asleep OffHours",
    ]


def test_explain_tells_of_each_exception_that_is_in_force() -> None:
    valid = "2026-02-02T00:00:00Z/2026-02-09T00:00:00Z"
    extend = exception("extend", valid, window("18:00-20:00"), name="more")
    suspend = exception("suspend", valid, window("20:00-21:00"), name="less")
    told = PlanTimeline(plan(NIGHTS), [extend, suspend]).explain(utc("2026-02-03 20:30"))
    assert [(rule.name, rule.decided) for rule in told.rules[-2:]] == [
        ("exception more (extend)", False),
        ("exception less (suspend)", True),
    ]


def test_a_lead_time_of_more_than_the_validity_reaches_no_further_than_it() -> None:
    timeline = lead("20:00-22:00", "2026-02-03T00:00:00Z/2026-02-06T00:00:00Z", "04:00-05:00", hours="200h")
    nights = {day: timeline.at(utc(f"2026-02-0{day} 21:00")).value for day in (2, 3, 4, 5, 6)}
    assert nights == {2: "Asleep", 3: "Awake", 4: "Awake", 5: "Asleep", 6: "Asleep"}


def test_a_lead_time_of_centuries_costs_no_more_than_one_of_days() -> None:
    timeline = lead(
        "20:00-22:00", "2026-02-03T00:00:00Z/2026-02-06T00:00:00Z", "04:00-05:00", hours="999999999h"
    )
    assert timeline.at(utc("2026-02-03 21:00")).reason is Reason.EXCEPTION_LEAD_TIME


def test_exceptions_without_a_name_are_still_told_apart_from_the_plan() -> None:
    nameless = exception("extend", ALWAYS, window("12:00-13:00"), name="")
    timeline = PlanTimeline(plan(NIGHTS), [nameless])
    assert timeline.at(utc("2026-02-03 21:00")).window == "20:00-06:00 Mon-Fri"
    assert timeline.at(utc("2026-02-03 12:30")).window == "12:00-13:00 every day"
    assert timeline.explain(utc("2026-02-03 12:30")).rules[-1].decided
