"""Every mistake in a document: its shape, its times, and the formats that are no longer written."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.checks import check_document
from hibernator.api.hibernateplan import Schedule
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.cli.offline import scalers
from hibernator.cli.offline.embedded import PATH, has_exceptions
from hibernator.cli.offline.loading.documents import Document, Mistake
from hibernator.cli.offline.migrate import (
    GROUP,
    has_cron_lines,
    has_moved,
    migrated,
    order,
)
from hibernator.cli.offline.repair import repaired
from hibernator.schedule.problems import check_exception, check_scaler_beta, check_schedule


class _Timed(NamedTuple):
    """The part of a kind that is about time, and what checks it."""

    path: str
    part: Callable[[Document], Any]
    type: type[Any]
    check: Callable[[Any], Iterator[Problem]]


_TIMED = {
    "HibernatePlan": _Timed(
        "spec.schedule", lambda document: document.part("spec", "schedule"), Schedule, check_schedule
    ),
    "ScheduleException": _Timed(
        "spec", lambda document: document.part("spec"), ScheduleExceptionSpec, check_exception
    ),
    "TimeWindowScaler": _Timed("spec", scalers.as_v1beta1, v1beta1.TimeWindowScalerSpec, check_scaler_beta),
}


def mistakes(document: Document) -> list[Mistake]:
    """All that is wrong with a document of one of our kinds."""
    return [document.mistake(problem) for problem in (*outdated(document), *_problems(document))]


def timing_mistakes(document: Document) -> list[Mistake]:
    """What keeps a document from having a timeline: what a plan's targets are is no matter."""
    whole = not document.is_a("HibernatePlan")
    needed = ("apiVersion", "kind", "spec.schedule")
    return [
        document.mistake(problem)
        for problem in _problems(document)
        if whole or problem.path == "spec" or problem.path.startswith(needed)
    ]


def outdated(document: Document) -> Iterator[Problem]:
    """What a cluster would refuse, although we know how it was meant."""
    fix = f"Run: {order(document)}"
    if has_moved(document):
        yield Problem("apiVersion", document.value["apiVersion"], f"the kind has moved to {GROUP}", fix)
    if has_cron_lines(document):
        line = document.part("spec", "schedule", "hibernate")
        yield Problem("spec.schedule.hibernate", line, "cron lines have given way to offHours", fix)


def _problems(document: Document) -> list[Problem]:
    """Shape and time together; where both complain about the same place, time knows better."""
    modern = migrated(document)
    about_time = [*modern.problems, *_time_problems(modern.document)]
    if has_exceptions(document):
        fix = f"Run: {order(document)}"
        about_time.append(Problem(PATH, None, "exceptions are objects of their own, beside the plan", fix))
    told = {problem.path for problem in about_time}
    about_shape = [problem for problem in check_document(modern.document.value) if problem.path not in told]
    return about_shape + about_time


def _time_problems(document: Document) -> Iterator[Problem]:
    timed = _TIMED.get(document.kind)
    if timed is None or not document.is_a(document.kind):
        return
    typed = repaired(timed.part(document), timed.type)
    if typed is None:
        return
    for problem in timed.check(typed.value):
        if not typed.concerns(problem.path.removeprefix(f"{timed.path}.")):
            yield problem
