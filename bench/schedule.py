"""What it costs to know what is asleep now and when that changes, beside the same question asked of croniter.

    python bench/schedule.py

One core, CPU time. Three ways to ask 10,000 mixed schedules (plans and scalers, one to four windows, in 22
zones, some with holidays, exceptions or grace):

- *cold*: the schedule is read from its spec and asked once, as after a restart;
- *warm*: it is asked 48 times over the next days, as an operator does;
- *anywhere*: it is asked about instants all over a year, so that little that was laid out before is of use.

Then plans that cron can express, asked as a scheduler on cron lines asks: which line fired last, and when
does the other fire next. Both sides get the same instants; how often they agree is printed too.
"""

import gc
import random
import time
import tracemalloc
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from croniter import croniter
from whenever import Instant, TimeDelta

from _table import show
from hibernator.api.hibernateplan import PlanHolidays, Schedule
from hibernator.api.scheduleexception import PlanReference, ScheduleExceptionSpec
from hibernator.api.timewindowscaler import (
    Day,
    ScalerHolidays,
    ScalerWindow,
    TargetReference,
    TimeWindowScalerSpec,
)
from hibernator.api.windows import OffHourWindow
from hibernator.schedule.cron import convert_off_hours_to_cron
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.scaler import ScalerTimeline
from hibernator.schedule.timeline import State, Timeline

SCHEDULES = 10_000
LOOKS = 48
CRON_SCHEDULES = 500
START = Instant.from_utc(2026, 1, 5)

ZONES = (
    *("Africa/Cairo", "Africa/Casablanca", "Africa/Lagos", "America/Chicago", "America/Havana"),
    *("America/Los_Angeles", "America/New_York", "America/Sao_Paulo", "America/St_Johns", "Asia/Dubai"),
    *(
        "Asia/Jakarta",
        "Asia/Kolkata",
        "Asia/Shanghai",
        "Asia/Tokyo",
        "Australia/Lord_Howe",
        "Australia/Sydney",
    ),
    *("Europe/Berlin", "Europe/London", "Europe/Madrid", "Pacific/Apia", "Pacific/Auckland", "UTC"),
)
DAYS: tuple[Day, ...] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

Build = Callable[[], Timeline[Any]]


class Croned(NamedTuple):
    """A plan of one window, and the pair of cron lines that says the same."""

    schedule: Schedule
    zone: ZoneInfo
    hibernate: str
    wake_up: str


class Maker:
    """Makes schedules; the same ones on every run."""

    def __init__(self) -> None:
        self.random = random.Random(20_260_105)

    def mixed(self) -> Build:
        kind = self.random.random()
        if kind < 0.3:
            return self._scaler()
        schedule = self.plan(self.random.choice([1, 1, 2, 3, 4]), holidays=kind < 0.5)
        holidays = self._holidays() if kind < 0.5 else Holidays()
        exceptions = [("exception", self._exception())] if kind > 0.9 else []
        return lambda: PlanTimeline(schedule, exceptions, holidays)

    def plan(self, windows: int, *, holidays: bool = False) -> Schedule:
        return Schedule(
            timezone=self.random.choice(ZONES),
            off_hours=tuple(self._window() for _ in range(windows)),
            holidays=PlanHolidays(mode="sleep-all-day") if holidays else None,
        )

    def _window(self) -> OffHourWindow:
        return OffHourWindow(start=self._time(16, 24), end=self._time(4, 12), days_of_week=self._days())

    def _scaler(self) -> Build:
        windows = tuple(
            ScalerWindow(
                days=self._days(),
                start=self._time(5, 12),
                end=self._time(13, 23),
                replicas=self.random.randint(0, 9),
            )
            for _ in range(self.random.choice([1, 2, 3]))
        )
        spec = TimeWindowScalerSpec(
            target_ref=TargetReference(kind="Deployment", name="web"),
            timezone=self.random.choice(ZONES),
            windows=windows,
            default_replicas=1,
            grace_period_seconds=self.random.choice([0, 0, 300]),
            holidays=ScalerHolidays(mode=self.random.choice(["ignore", "treat-as-closed"])),
        )
        holidays = self._holidays()
        return lambda: ScalerTimeline.of(spec, holidays)

    def _exception(self) -> ScheduleExceptionSpec:
        valid_from = START.to_stdlib() + timedelta(hours=self.random.randrange(24 * 60))
        return ScheduleExceptionSpec(
            plan_ref=PlanReference(name="plan"),
            valid_from=valid_from,
            valid_until=valid_from + timedelta(days=self.random.randint(1, 30)),
            type=self.random.choice(["extend", "suspend", "replace"]),
            lead_time="1h",
            windows=(self._window(),),
        )

    def _holidays(self) -> Holidays:
        return Holidays.on(
            *(date(2026, 1, 1) + timedelta(days=self.random.randrange(730)) for _ in range(24))
        )

    def _time(self, first: int, before: int) -> str:
        return f"{self.random.randrange(first, before):02}:{self.random.choice([0, 15, 30, 45]):02}"

    def _days(self) -> tuple[Day, ...]:
        if self.random.random() < 0.5:
            return DAYS[:5]
        return tuple(sorted(self.random.sample(DAYS, self.random.randint(1, 7)), key=DAYS.index))


def ask(timeline: Timeline[Any], moment: Instant) -> tuple[Any, Instant | None]:
    answer = timeline.at(moment)
    return answer.value, answer.until


def timed(work: Callable[[], int], prepare: Callable[[], None] = lambda: None) -> float:
    """Microseconds of CPU for each of the answers that the work gave: the best of three rounds."""
    rounds = []
    for _ in range(3):
        prepare()
        gc.collect()
        start = time.process_time()
        answers = work()
        rounds.append((time.process_time() - start) / answers * 1e6)
    return min(rounds)


def mixed_rows(builds: Sequence[Build], rng: random.Random) -> list[list[object]]:
    timelines: list[Timeline[Any]] = []

    def cold() -> int:
        for build in builds:
            timelines.append(timeline := build())
            ask(timeline, START)
        return len(timelines)

    def asked(moments: Sequence[Sequence[Instant]]) -> Callable[[], int]:
        def work() -> int:
            for looks in moments:
                for timeline, moment in zip(timelines, looks, strict=True):
                    ask(timeline, moment)
            return len(moments) * len(timelines)

        return work

    steps = [START + TimeDelta(minutes=70 * look) for look in range(LOOKS)]
    soon = [[step + TimeDelta(seconds=rng.randrange(4_000)) for _ in builds] for step in steps]
    year = [[START + TimeDelta(minutes=rng.randrange(525_600)) for _ in builds] for _ in range(4)]
    costs = {
        "cold: read and asked once": timed(cold, timelines.clear),
        "warm: asked again over the next days": timed(asked(soon)),
        "anywhere: asked all over a year": timed(asked(year)),
    }
    return [[name, cost, int(1e6 / cost)] for name, cost in costs.items()]


def memory(builds: Sequence[Build]) -> int:
    """Bytes that a schedule takes once it has been asked."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    timelines = [build() for build in builds]
    for timeline in timelines:
        ask(timeline, START)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) // len(timelines)


def cron_schedules(maker: Maker) -> list[Croned]:
    found: list[Croned] = []
    while len(found) < CRON_SCHEDULES:
        schedule = maker.plan(1)
        pairs = convert_off_hours_to_cron(schedule.off_hours)
        if len(pairs) == 1:
            found.append(Croned(schedule, ZoneInfo(schedule.timezone), *pairs[0]))
    return found


def ask_croniter(hibernate: Any, wake_up: Any, now: datetime) -> tuple[State, datetime]:
    hibernate.set_current(now, force=True)
    wake_up.set_current(now, force=True)
    if hibernate.get_prev(datetime) > wake_up.get_prev(datetime):
        wake_up.set_current(now, force=True)
        return State.ASLEEP, wake_up.get_next(datetime)
    hibernate.set_current(now, force=True)
    return State.AWAKE, hibernate.get_next(datetime)


def cron_rows(croned: Sequence[Croned], rng: random.Random) -> tuple[list[list[object]], float]:
    # Odd seconds, because croniter's "previous" excludes a line that fires at this very moment.
    looks = [
        START + TimeDelta(minutes=90 * look, seconds=rng.choice([1, 17, 59]), hours=rng.randrange(3))
        for look in range(24)
    ]
    first = START.to_stdlib()
    timelines = [PlanTimeline(each.schedule) for each in croned]
    lines = [
        (
            croniter(each.hibernate, first.astimezone(each.zone)),
            croniter(each.wake_up, first.astimezone(each.zone)),
        )
        for each in croned
    ]
    local = [[look.to_stdlib().astimezone(each.zone) for each in croned] for look in looks]
    ours: list[tuple[Any, Instant | None]] = []
    theirs: list[tuple[State, datetime]] = []

    def engine_warm() -> int:
        ours[:] = [ask(timeline, look) for look in looks for timeline in timelines]
        return len(ours)

    def croniter_warm() -> int:
        theirs[:] = [
            ask_croniter(*pair, now) for moments in local for pair, now in zip(lines, moments, strict=True)
        ]
        return len(theirs)

    def engine_cold() -> int:
        return len([ask(PlanTimeline(each.schedule), START) for each in croned])

    def croniter_cold() -> int:
        now = [first.astimezone(each.zone) for each in croned]
        answers = [
            ask_croniter(croniter(each.hibernate, moment), croniter(each.wake_up, moment), moment)
            for each, moment in zip(croned, now, strict=True)
        ]
        return len(answers)

    costs = [timed(engine_warm), timed(croniter_warm), timed(engine_cold), timed(croniter_cold)]
    same = [
        value is state and until is not None and until.to_stdlib() == change
        for (value, until), (state, change) in zip(ours, theirs, strict=True)
    ]
    rows: list[list[object]] = [
        ["hibernator, warm", costs[0], int(1e6 / costs[0]), costs[1] / costs[0]],
        ["croniter, warm", costs[1], int(1e6 / costs[1]), 1.0],
        ["hibernator, cold", costs[2], int(1e6 / costs[2]), costs[3] / costs[2]],
        ["croniter, cold", costs[3], int(1e6 / costs[3]), 1.0],
    ]
    return rows, sum(same) / len(same)


def main() -> None:
    maker, rng = Maker(), random.Random(7)
    for zone in ZONES:  # a zone is learned once for all schedules in it
        ask(PlanTimeline(Schedule(timezone=zone, off_hours=(maker.plan(1).off_hours))), START)
    builds = [maker.mixed() for _ in range(SCHEDULES)]
    show(
        f"State now and next change, {SCHEDULES:,} mixed schedules, one core (aim: under 20 µs)",
        ["", "µs/answer", "answers/s"],
        mixed_rows(builds, rng),
        packages=["whenever"],
    )
    print(f"\nmemory: {memory(builds):,} bytes per schedule that was asked")
    rows, agreement = cron_rows(cron_schedules(maker), rng)
    show(
        f"The same for {CRON_SCHEDULES:,} plans that cron can express (aim: at least 20 times croniter)",
        ["", "µs/answer", "answers/s", "times croniter"],
        rows,
        packages=["whenever", "croniter"],
    )
    print(f"\nsame answers: {agreement:.2%}")


if __name__ == "__main__":
    main()
