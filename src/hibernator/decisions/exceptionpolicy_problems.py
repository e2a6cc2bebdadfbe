"""What is wrong with an ExceptionPolicy that no schema can say: patterns, dates and durations."""

from collections.abc import Iterator
from datetime import date
from typing import Final

from whenever import Instant

from hibernator.api.exceptionpolicy import ExceptionPolicySpec
from hibernator.api.problem import Problem
from hibernator.decisions.pattern import PatternError, found_in
from hibernator.decisions.person import mailbox
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.problems import tried
from hibernator.schedule.words import read_duration

_SOME_TIME: Final = Instant.from_utc(2026, 1, 1)


def check_policy_spec(spec: ExceptionPolicySpec, path: str = "spec") -> Iterator[Problem]:
    """Every mistake at once. A policy that has one holds all that it is about."""
    if spec.reason_pattern is not None:
        yield from tried(f"{path}.reasonPattern", spec.reason_pattern, _pattern)
    emails = spec.require.emails if spec.require else ()
    if twice := next(
        (one for one in emails if sum(mailbox(one) == mailbox(other) for other in emails) > 1), ""
    ):
        fix = "Name each person once: one person fills one place, whatever the case of the letters."
        yield Problem(f"{path}.require.emails", twice, "it is there twice", fix)
    for index, freeze in enumerate(spec.freeze):
        for name, day in (("firstDay", freeze.first_day), ("lastDay", freeze.last_day)):
            if day is not None:
                yield from tried(f"{path}.freeze[{index}].{name}", day, _day)
    for place, duration in _durations(spec):
        if duration is not None:
            yield from tried(f"{path}.{place}", duration, _duration)


def _durations(spec: ExceptionPolicySpec) -> Iterator[tuple[str, str | None]]:
    if spec.limits:
        yield "limits.maxDuration", spec.limits.max_duration
        yield "limits.minNotice", spec.limits.min_notice
    for index, relief in enumerate(spec.unless):
        yield f"unless[{index}].durationAtMost", relief.duration_at_most
    if spec.escalate_after:
        yield "escalateAfter.after", spec.escalate_after.after


def _pattern(text: str) -> None:
    try:
        found_in(text, "")
    except PatternError as error:
        fix = "Write a regular expression without groups, for example [A-Z]+-[0-9]+."
        raise ScheduleError(str(error), fix) from None


def _day(text: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ScheduleError(
            "there is no such day", "Write a date that there is, such as 2026-12-20."
        ) from None


def _duration(text: str) -> None:
    ticks = read_duration(text)
    try:
        _SOME_TIME.add(microseconds=ticks)
    except ValueError:
        raise ScheduleError("it ends after the year 9999", "Write a shorter duration, such as 8h.") from None
