"""When messages go out: groups, quiet hours, waits. Pure."""

from datetime import datetime

import pytest
from hypothesis import given, strategies as st
from msgspec import convert, structs
from whenever import Instant

from hibernator.api.hibernatenotification import (
    HibernateNotificationSpec,
    QuietHours,
    SinkStatus,
    SlackThread,
)
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.api.selector import Selector, selects
from hibernator.audit.types import EVENT_TYPES
from hibernator.notifications.clocked import due, next_due
from hibernator.notifications.events import EVENTS, events_of
from hibernator.notifications.occasions import Occasion, Placed, parcel_id
from hibernator.notifications.records import delivered, failed, is_due
from hibernator.notifications.timing import (
    CLOCK_SKEW,
    LONGEST_WAIT,
    MOST_ASKED,
    MOST_IN_GROUP,
    OPEN_AFTER,
    group,
    quiet_until,
    wait_after,
)
from hibernator.notifications.wording import explained
from hibernator.web import requests
from hibernator.web.dashboard import plans, scalers

NOW = Instant.from_utc(2026, 3, 2, 20)


def placed(number: int, at: float) -> Placed:
    one = Occasion(
        id=str(number),
        event="Start",
        type="hibernateplan.sleep.started",
        kind="HibernatePlan",
        namespace="a",
        name=f"plan-{number}",
        uid=f"u{number}",
        time="2026-03-02T20:00:00Z",
    )
    return Placed(number, at, one)


def test_every_audit_event_that_is_named_exists_and_has_a_title() -> None:
    for type_ in EVENTS:
        assert type_ in EVENT_TYPES
        title = explained(
            Occasion(
                id="",
                event="Start",
                type=type_,
                kind="",
                namespace="a",
                name="shop",
                uid="",
                time="",
                data={"target": "web", "exception": "party"},
            ),
            "",
        ).title
        assert "shop" in title
        assert type_ not in title


@pytest.mark.parametrize(
    ("kind", "page"),
    [
        ("HibernatePlan", plans.PATH + "/{namespace}/{name}"),
        ("TimeWindowScaler", scalers.PATH + "/{namespace}/{name}"),
        ("ScheduleException", requests.PATH),
        ("RemediationApprovalRequest", requests.PATH),
    ],
)
def test_a_link_leads_to_a_page_that_there_is(kind: str, page: str) -> None:
    one = structs.replace(placed(1, 0).occasion, kind=kind)
    expected = page.format(namespace=one.namespace, name=one.name, uid=one.uid)
    assert explained(one, "https://hibernator.test").link == f"https://hibernator.test{expected}"


def test_a_suspension_by_an_exception_is_a_sleep_that_is_skipped() -> None:
    assert events_of("hibernateplan.exception.applied", {"type": "suspend"})[0] == "SleepSkipped"
    assert "SleepSkipped" not in events_of("hibernateplan.exception.applied", {"type": "extend"})
    assert events_of("audit.pruned", {}) == ()


@given(st.integers(1, 10_000), st.floats(0, 1), st.none() | st.floats(0, 10**6))
def test_a_wait_grows_and_is_bounded_and_keeps_what_the_sink_asked(
    failures: int, spread: float, asked: float | None
) -> None:
    wait = wait_after(failures, spread, asked)
    assert wait <= max(LONGEST_WAIT, MOST_ASKED * 1.1)
    assert wait >= min(asked or 2.5, MOST_ASKED)
    if asked is None or failures != OPEN_AFTER - 1:
        assert wait_after(failures + 1, spread, asked) >= wait


def test_a_sink_that_asks_for_a_second_gets_it_until_its_circuit_opens() -> None:
    assert 1 <= wait_after(1, 0.5, 1) < 1.2
    assert wait_after(OPEN_AFTER, 1.0, 1) == wait_after(OPEN_AFTER, 1.0)


def test_events_of_one_moment_have_the_same_order_after_every_restart() -> None:
    cycle = {"cycle": 3, "wake": {"startedAt": "2026-03-02T20:00:00Z"}}
    made = [_plan(phase="WakingUp", cycle=3, history=[cycle]) for _ in range(9)]
    plans = [
        structs.replace(one, metadata=structs.replace(one.metadata, uid=f"u{number}"))
        for number, one in enumerate(made)
    ]
    spec, later = _spec("WakeLate"), NOW.add(hours=1)
    assert due(spec, plans, [], NOW, later) == due(spec, plans[::-1], [], NOW, later)


def test_each_plan_keeps_the_thread_of_its_last_cycle() -> None:
    sink = SinkStatus(name="a")
    for cycle in (1, 2):
        for plan in range(60):
            sink = delivered(sink, NOW, SlackThread(key=f"plan-{plan}/{cycle}", ts="1"))
    assert [one.key for one in sink.threads] == [f"plan-{plan}/2" for plan in range(60)]


@given(
    st.lists(st.floats(0, 600), min_size=1, max_size=250),
    st.floats(1, 300),
    st.floats(0, 2000),
)
def test_groups_follow_from_the_trail_alone(times: list[float], within: float, now: float) -> None:
    """Whenever it looks and however often it dies, the same events go out together."""
    waiting = [placed(number, at) for number, at in enumerate(sorted(times), 1)]
    seen = [one for one in waiting if one.recorded <= now]  # the trail as it is at that moment
    early = group(seen, within, now)
    late = group(waiting, within, 10_000)
    if early.members:
        assert early.members == late.members
        assert len(early.members) <= MOST_IN_GROUP
    elif seen:
        assert early.closes == seen[0].recorded + within + CLOCK_SKEW
        assert early.closes > now


def test_without_grouping_each_goes_out_alone() -> None:
    assert group([placed(1, 0), placed(2, 0)], 0, 0).members == (placed(1, 0),)
    assert parcel_id("u", "s", placed(1, 0).occasion) != parcel_id("u", "s", placed(2, 0).occasion)


@pytest.mark.parametrize(
    ("at", "until"),
    [
        ("2026-03-02T20:59:59Z", None),  # 21:59 in Berlin
        ("2026-03-02T21:00:00Z", "2026-03-03T06:00:00Z"),
        ("2026-03-03T05:59:59Z", "2026-03-03T06:00:00Z"),
        ("2026-03-03T06:00:00Z", None),
        ("2026-03-29T00:30:00Z", "2026-03-29T05:00:00Z"),  # the night of the change to summer time
    ],
)
def test_quiet_hours_are_on_the_local_clock(at: str, until: str | None) -> None:
    quiet = QuietHours(start="22:00", end="7:00", timezone="Europe/Berlin")
    found = quiet_until(quiet, Instant.parse_iso(at))
    assert found == (Instant.parse_iso(until) if until else None)


@given(st.integers(0, 23), st.integers(0, 23), st.integers(0, 60 * 24 * 400))
def test_quiet_hours_end_after_now_and_within_a_day(start: int, end: int, minutes: int) -> None:
    if start == end:
        return
    quiet = QuietHours(start=f"{start}:00", end=f"{end}:00", timezone="Europe/Berlin")
    now = NOW.add(minutes=minutes)
    found = quiet_until(quiet, now)
    hour = now.to_tz("Europe/Berlin").hour
    inside = start <= hour < end if start < end else hour >= start or hour < end
    assert (found is not None) == inside or hour in {1, 2, 3}  # where a clock change moves a border
    if found:
        assert 0 < (found - now).total("hours") <= 25


def test_a_circuit_opens_after_five_failures_and_closes_with_a_delivery() -> None:
    sink = SinkStatus(name="a")
    for number in range(1, 6):
        sink = failed(sink, "away", NOW, spread=1.0)
        assert sink.circuit == ("Open" if number == 5 else "Closed")
        assert not is_due(sink, NOW)
    sink = delivered(sink, NOW)
    assert (sink.circuit, sink.failures_in_a_row, sink.failed, sink.delivered) == ("Closed", None, 5, 1)
    assert is_due(sink, NOW)


def _selector(**spec: object) -> Selector:
    return convert(spec, Selector)


def test_selectors_are_those_of_kubernetes() -> None:
    labels = {"team": "a"}
    assert selects(Selector(), {})
    assert selects(_selector(matchLabels={"team": "a"}), labels)
    assert not selects(_selector(matchLabels={"team": "a", "x": "y"}), labels)

    def one(operator: str, key: str, *values: str) -> bool:
        return selects(
            _selector(matchExpressions=[{"key": key, "operator": operator, "values": values}]), labels
        )

    assert one("In", "team", "a", "b")
    assert not one("In", "x", "a")
    assert one("NotIn", "x", "a")
    assert not one("NotIn", "team", "a")
    assert one("Exists", "team")
    assert one("DoesNotExist", "x")


def _plan(**status: object) -> HibernatePlan:
    spec = {"schedule": {"timezone": "UTC", "offHours": []}, "targets": []}
    return convert({"metadata": {"name": "shop", "uid": "u"}, "spec": spec, "status": status}, HibernatePlan)


def _spec(*events: str, **more: object) -> HibernateNotificationSpec:
    found = {"selector": {}, "onEvents": events, "sinks": [], **more}
    return convert(found, HibernateNotificationSpec)


def test_what_stays_broken_is_repeated_and_each_time_once() -> None:
    broken = {
        "type": "Degraded",
        "status": "True",
        "reason": "TargetsFailed",
        "message": "web failed",
        "lastTransitionTime": "2026-03-02T20:00:00Z",
    }
    plan, spec = _plan(conditions=[broken]), _spec("Failure", repeatEvery="4h")
    assert due(spec, [plan], [], NOW, NOW.add(hours=3)) == []
    [first] = due(spec, [plan], [], NOW, NOW.add(hours=4))
    assert (first.occasion.event, first.occasion.message) == ("Failure", "web failed")
    assert due(spec, [plan], [], NOW.add(hours=4), NOW.add(hours=7)) == []
    [third] = due(spec, [plan], [], NOW.add(hours=4), NOW.add(hours=13))  # after an outage, the last only
    assert third.occasion.id != first.occasion.id
    assert next_due(spec, [plan], [], NOW.add(hours=5)) == 3 * 3600
    assert due(_spec("Failure"), [plan], [], NOW, NOW.add(hours=9)) == []


def test_a_wake_that_takes_too_long_is_late() -> None:
    cycle = {"cycle": 3, "wake": {"startedAt": "2026-03-02T20:00:00Z"}}
    plan = _plan(phase="WakingUp", cycle=3, history=[cycle])
    spec = _spec("WakeLate")
    assert due(spec, [plan], [], NOW, NOW.add(minutes=14)) == []
    [late] = due(spec, [plan], [], NOW, NOW.add(minutes=15))
    assert (late.occasion.type, late.occasion.cycle) == ("hibernateplan.wake.late", 3)
    assert next_due(spec, [plan], [], NOW) == 900
    assert due(spec, [_plan(phase="Active", history=[cycle])], [], NOW, NOW.add(hours=1)) == []


def test_an_exception_is_expiring_an_hour_before_its_end() -> None:
    spec = {
        "planRef": {"name": "shop"},
        "type": "suspend",
        "validFrom": "2026-03-02T12:00:00Z",
        "validUntil": "2026-03-02T22:00:00Z",
        "windows": [],
    }
    found = convert(
        {"metadata": {"name": "party", "uid": "e"}, "spec": spec, "status": {"state": "Active"}},
        ScheduleException,
    )
    wanted = _spec("ExceptionExpiring")
    [one] = due(wanted, [], [found], NOW, NOW.add(hours=1))
    assert (one.occasion.name, one.occasion.plan) == ("party", "shop")
    assert due(wanted, [], [found], NOW.add(hours=1), NOW.add(hours=9)) == []
    assert datetime.fromisoformat(one.occasion.time).hour == 21
