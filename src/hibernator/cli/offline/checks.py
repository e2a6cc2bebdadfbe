"""Every mistake in a document: its shape, its times, and the formats that are no longer written."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hibernator.api.checks import check_document
from hibernator.api.hibernateplan import Schedule
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.api.timewindowscaler import TimeWindowScalerSpec
from hibernator.cli.offline.loading.documents import Document, Mistake
from hibernator.cli.offline.repair import repaired
from hibernator.schedule.problems import check_exception, check_scaler, check_schedule


class _Timed(NamedTuple):
    """The part of a kind that is about time, and what checks it."""

    steps: tuple[str, ...]
    type: type[Any]
    check: Callable[[Any], Iterator[Problem]]


_TIMED = {
    "HibernatePlan": _Timed(("spec", "schedule"), Schedule, check_schedule),
    "ScheduleException": _Timed(("spec",), ScheduleExceptionSpec, check_exception),
    "TimeWindowScaler": _Timed(("spec",), TimeWindowScalerSpec, check_scaler),
}


def mistakes(document: Document) -> list[Mistake]:
    """All that is wrong with a document of one of our kinds."""
    return [document.mistake(problem) for problem in _problems(document)]


def timing_mistakes(document: Document) -> list[Mistake]:
    """What keeps a document from having a timeline: what a plan's targets are is no matter."""
    about = "spec.schedule" if document.kind == "HibernatePlan" else ""
    return [
        document.mistake(problem)
        for problem in _problems(document)
        if not about or problem.path.startswith(about) or about.startswith(problem.path)
    ]


def _problems(document: Document) -> list[Problem]:
    """Shape and time together; where both complain about the same place, time knows better."""
    about_time = list(_time_problems(document))
    told = {problem.path for problem in about_time}
    about_shape = [problem for problem in check_document(document.value) if problem.path not in told]
    return about_shape + about_time


def _time_problems(document: Document) -> Iterator[Problem]:
    timed = _TIMED.get(document.kind)
    if timed is None:
        return
    typed = repaired(document.part(*timed.steps), timed.type)
    if typed is None:
        return
    prefix = f"{'.'.join(timed.steps)}."
    for problem in timed.check(typed.value):
        if not typed.concerns(problem.path.removeprefix(prefix)):
            yield problem
