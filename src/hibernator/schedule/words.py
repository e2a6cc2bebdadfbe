"""The small words of a schedule (times, days, durations), read, refused with the fix, and written back."""

import re
from fractions import Fraction
from functools import lru_cache

from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.ticks import DAY, HOUR, MINUTE, SECOND

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONG = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBERS = {
    spelt: number
    for names in (DAYS, _LONG)
    for number, name in enumerate(names)
    for spelt in (name, name.upper())
}

_TOGETHER = {"WEEKDAYS": "MON-FRI", "WEEKDAY": "MON-FRI", "WEEKEND": "SAT-SUN", "WEEKENDS": "SAT-SUN"}
_TIME = re.compile(r"([0-1]?[0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
_STRICT_TIME = re.compile(r"([0-1][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)(ms|s|m|h)", re.ASCII)
_LONG_DURATION = re.compile(r"([0-9]+(\.[0-9]+)?(ms|s|m|h))+", re.ASCII)
_UNITS = {"ms": SECOND // 1000, "s": SECOND, "m": MINUTE, "h": HOUR}


@lru_cache(maxsize=4096)
def read_time(text: str, *, strict: bool = False) -> int:
    """The ticks since midnight of `20:00`; unless strict, `6:00` will do for `06:00`."""
    match = (_STRICT_TIME if strict else _TIME).fullmatch(text)
    if match is None:
        fix = "Write the time as HH:MM from 00:00 to 23:59, for example 20:00."
        if text == "24:00":
            fix = (
                "Write 00:00, which as an end is the midnight after the start."
                if strict
                else "Write 23:59 as an end, which means the end of the day, or 00:00 as a start."
            )
        raise ScheduleError(f"{text!r} is not a time of day", fix)
    return int(match[1]) * HOUR + int(match[2]) * MINUTE


def read_day(text: str) -> int:
    """The number of a day of the week, Monday being 0; `MON`, `Monday` and `mon` are all the same."""
    number = _NUMBERS.get(text)
    if number is None:
        number = _NUMBERS.get(text.upper())
    if number is None:
        raise ScheduleError(f"{text!r} is not a day of the week", _fix_of_day(text))
    return number


def _fix_of_day(text: str) -> str:
    days = spelt_out(_TOGETHER.get(text.upper(), text))
    if len(days) > 1:
        return f"Write each day: {', '.join(days)}."
    meant = _NUMBERS.get(text[:3].upper())
    if meant is not None:
        return f"Did you mean {DAYS[meant].upper()}?"
    return "Write MON, TUE, WED, THU, FRI, SAT or SUN, or the full name."


def spelt_out(text: str) -> list[str]:
    """Each day of `Mon-Fri`; anything else as it is."""
    first, _, last = (_NUMBERS.get(end.strip()) for end in text.upper().partition("-"))
    if first is None or last is None:
        return [text]
    return [DAYS[(first + step) % 7].upper() for step in range((last - first) % 7 + 1)]


def read_duration(text: str) -> int:
    """The ticks in a duration such as `30m`, `1h30m` or `3600s`; nothing at all is no time."""
    parts = _DURATION.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        if _LONG_DURATION.fullmatch(text):
            raise ScheduleError(f"{text!r} is longer than any schedule", "Write at most 12 digits.")
        raise ScheduleError(
            f"{text!r} is not a duration",
            "Write a number and a unit (ms, s, m, h), for example 30m or 1h30m.",
        )
    return int(sum(Fraction(number) * _UNITS[unit] for number, unit in parts))


def clock(ticks: int) -> str:
    """A time of day as people write it; the end of a day is 24:00."""
    minutes = ticks // MINUTE
    if minutes > DAY // MINUTE:
        minutes -= DAY // MINUTE
    return f"{minutes // 60:02}:{minutes % 60:02}"


def duration_text(ticks: int) -> str:
    """A duration in the words that it is written in: `1h30m`."""
    parts = []
    for unit in ("h", "m", "s", "ms"):
        count, ticks = divmod(ticks, _UNITS[unit])
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0s"


@lru_cache(maxsize=2**7)
def days_text(days: tuple[int, ...]) -> str:
    """Days in few words: `every day`, `Mon-Fri`, `Mon, Wed, Fri`, `Sat-Mon`."""
    wanted = set(days)
    if len(wanted) == len(DAYS):
        return "every day"
    runs: list[list[int]] = []
    # Begin behind a day that is missing, so that a run over the end of the week stays in one piece.
    origin = next(day for day in range(7) if (day - 1) % 7 not in wanted)
    for day in ((origin + step) % 7 for step in range(7)):
        if day not in wanted:
            continue
        if runs and (runs[-1][-1] + 1) % 7 == day:
            runs[-1].append(day)
        else:
            runs.append([day])
    runs.sort()
    return ", ".join(_run_text(run) for run in runs)


def _run_text(run: list[int]) -> str:
    if len(run) < 3:  # noqa: PLR2004  three is where a range becomes shorter than a list
        return ", ".join(DAYS[day] for day in run)
    return f"{DAYS[run[0]]}-{DAYS[run[-1]]}"
