"""Every mistake in a document: its shape, its times, and the formats that are no longer written."""

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.checks import check_document
from hibernator.api.exceptionpolicy import ExceptionPolicySpec
from hibernator.api.hibernatenotification import HibernateNotificationSpec
from hibernator.api.hibernateplan import Schedule
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.cli.offline import scalers
from hibernator.cli.offline.loading.documents import Document, Mistake
from hibernator.cli.offline.migrate import (
    GROUP,
    PATH,
    has_cron_lines,
    has_exceptions,
    has_moved,
    migrated,
    order,
)
from hibernator.decisions.exceptionpolicy_problems import check_policy_spec
from hibernator.schedule.problems import (
    check_exception,
    check_notification,
    check_scaler_beta,
    check_schedule,
)

T = TypeVar("T")

_MOST_PATCHES = 500
_PLACE = re.compile(r"(?: - at `\$(.*)`)$")
_MISSING = re.compile(r"missing required field `([^`]+)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")

# What is written where a field is missing or has the wrong type. Anything else that is wrong is removed.
_HARMLESS: dict[str, Any] = {
    "timezone": "UTC",
    "offHours": [],
    "windows": [],
    "start": "00:00",
    "end": "12:00",
    "daysOfWeek": ["MON"],
    "days": ["Mon"],
    "replicas": 0,
    "planRef": {"name": "any"},
    "targetRef": {"kind": "Deployment", "name": "any"},
    "kind": "Deployment",
    "name": "any",
    "type": "extend",
    "validFrom": "2000-01-01T00:00:00Z",
    "validUntil": "2000-01-02T00:00:00Z",
}
_HARMLESS_ENTRY: dict[str, Any] = {
    "daysOfWeek": "MON",
    "days": "Mon",
    "offHours": {"start": "00:00", "end": "12:00", "daysOfWeek": ["MON"]},
    "windows": {
        "start": "00:00",
        "end": "12:00",
        "daysOfWeek": ["MON"],
        "days": ["Mon"],
        "replicas": 0,
    },
}


_COMPARED_WITH: dict[str, tuple[str, ...]] = {"validUntil": ("validFrom",)}


class Repaired(NamedTuple):
    value: Any
    patches: tuple[str, ...]  # paths, as in `offHours[0].start`

    def concerns(self, path: str) -> bool:
        """Whether what is said about this place would be about a patch."""
        return any(patch == path or patch.startswith((f"{path}.", f"{path}[")) for patch in self.patches)


def repaired(part: Any, wanted: type[Any]) -> Repaired | None:
    """The part of a document as its type, or None where there is too little to make anything of it."""
    if not isinstance(part, dict):
        return None
    part = copy.deepcopy(part)
    patches: list[str] = []
    while len(patches) < _MOST_PATCHES:
        try:
            return Repaired(msgspec.convert(part, wanted), tuple(patches))
        except msgspec.ValidationError as error:
            steps = _steps(str(error))
            if not steps or not _patch(part, steps):
                return None
            patches.append(_path(steps))
    return None


def _steps(message: str) -> list[str | int]:
    place = _PLACE.search(message)
    missing = _MISSING.search(message)
    steps: list[str | int] = [
        name or int(index) for name, index in _STEP.findall(place.group(1) if place else "")
    ]
    return [*steps, missing.group(1)] if missing else steps


def _patch(part: Any, steps: list[str | int]) -> bool:
    *way, last = steps
    inside = part
    for step in way:
        inside = inside[step]
    if isinstance(last, int):
        owner = next((step for step in reversed(way) if isinstance(step, str)), "")
        inside[last] = copy.deepcopy(_HARMLESS_ENTRY.get(owner))
        return owner in _HARMLESS_ENTRY
    if last in _HARMLESS and inside.get(last) != _HARMLESS[last]:
        inside[last] = copy.deepcopy(_HARMLESS[last])
        return True
    return inside.pop(last, None) is not None


def _path(steps: list[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


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
    "ExceptionPolicy": _Timed(
        "spec", lambda document: document.part("spec"), ExceptionPolicySpec, check_policy_spec
    ),
    "HibernateNotification": _Timed(
        "spec", lambda document: document.part("spec"), HibernateNotificationSpec, check_notification
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
    reported = {problem.path for problem in about_time}
    about_shape = [
        problem for problem in check_document(modern.document.value) if problem.path not in reported
    ]
    return about_shape + about_time


def _time_problems(document: Document) -> Iterator[Problem]:
    timed = _TIMED.get(document.kind)
    if timed is None or not document.is_a(document.kind):
        return
    typed = repaired(timed.part(document), timed.type)
    if typed is None:
        return
    for problem in timed.check(typed.value):
        own = problem.path.removeprefix(f"{timed.path}.")
        if not any(typed.concerns(path) for path in (own, *_COMPARED_WITH.get(own, ()))):
            yield problem
