"""Documents of the format before this one: cron lines in plans, and the group that the kinds used to be in.

Commands that show timelines read them as if they had been converted; `validate` says how to convert them.
"""

import copy
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from hibernator.api.hibernateplan import PLANS
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.api.windows import OffHourWindow
from hibernator.cli.offline.drafts import Draft
from hibernator.cli.offline.loading.documents import OLD_GROUP, Document
from hibernator.cli.offline.out import counted
from hibernator.schedule.cron import cron_to_off_hours
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.problems import tried
from hibernator.schedule.sleeps import firings

GROUP = PLANS.group
_LINES = ("hibernate", "wakeUp")
_ANY_WINDOW = OffHourWindow(start="00:00", end="12:00", days_of_week=("MON",))


class Migrated(NamedTuple):
    """A document as it would be written today, and what there is to know about that."""

    document: Document
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def is_old(document: Document) -> bool:
    return has_moved(document) or has_cron_lines(document)


def has_moved(document: Document) -> bool:
    return document.group == OLD_GROUP and (document.is_a(PLANS.kind) or document.is_a(EXCEPTIONS.kind))


def has_cron_lines(document: Document) -> bool:
    """Whether a plan says when it sleeps in the old way, and not in the new one besides."""
    schedule = document.part("spec", "schedule")
    return (
        document.is_a(PLANS.kind)
        and isinstance(schedule, dict)
        and "offHours" not in schedule
        and any(line in schedule for line in _LINES)
    )


def migrated(document: Document) -> Migrated:
    """The document in the new format.

    Where there is no such document, the reasons come with one whose hours mean nothing, so that the rest of
    it can be looked at.
    """
    if not is_old(document):
        return Migrated(document)
    value = copy.deepcopy(document.value)
    if has_moved(document):
        version = value["apiVersion"].rpartition("/")[2]
        value["apiVersion"] = f"{GROUP}/{version}"
    if not has_cron_lines(document):
        return Migrated(replace(document, value=value))
    schedule = value["spec"]["schedule"]
    windows, notes, problems = _off_hours(*(schedule.pop(name, None) for name in _LINES))
    off_hours = msgspec.json.decode(msgspec.json.encode(windows))
    value["spec"]["schedule"] = {"offHours": off_hours, **schedule}
    return Migrated(replace(document, value=value), notes, problems)


def _off_hours(
    hibernate: Any, wake_up: Any
) -> tuple[tuple[OffHourWindow, ...], tuple[str, ...], tuple[Problem, ...]]:
    problems = [
        Problem(
            f"spec.schedule.{name}",
            line,
            "it is missing" if line is None else "it must be text",
            'Write a cron line, for example "0 20 * * 1-5".',
        )
        for name, line in zip(_LINES, (hibernate, wake_up), strict=True)
        if not isinstance(line, str)
    ]
    for name, line in zip(_LINES, (hibernate, wake_up), strict=True):
        if not problems:
            problems += tried(f"spec.schedule.{name}", line, firings)
    if problems:
        return (_ANY_WINDOW,), (), tuple(problems)
    try:
        return *cron_to_off_hours(hibernate, wake_up), ()
    except ScheduleError as error:
        problem = Problem("spec.schedule.hibernate", hibernate, error.message, error.fix)
        return (_ANY_WINDOW,), (), (problem,)


def order(document: Document) -> str:
    """The command that converts the file of a document."""
    file = "-" if document.place.file == "stdin" else shlex.quote(document.place.file)
    return f"hibernator convert -f {file} --to off-hours"


PATH = "spec.schedule.exceptions"


def has_exceptions(document: Document) -> bool:
    """Whether a plan has exceptions within, which a cluster would refuse."""
    schedule = document.part("spec", "schedule")
    return document.is_a(PLANS.kind) and isinstance(schedule, dict) and "exceptions" in schedule


def take_exceptions_out(drafts: Iterable[Draft]) -> None:
    for draft in drafts:
        if has_exceptions(draft.document):
            _take_out(draft)


def _take_out(draft: Draft) -> None:
    found = draft.value["spec"]["schedule"].pop("exceptions")
    for made in _made(draft, found):
        draft.make(made)
    many = counted(len(draft.made), "ScheduleException")
    draft.notes.append(f"{draft.document.title} lost its exceptions, which became {many}.")
    if is_old(draft.document):
        modern = migrated(replace(draft.document, value=draft.value))
        draft.problems += modern.problems
        draft.notes += modern.notes
        draft.value = modern.document.value


def _made(draft: Draft, found: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(found, list):
        draft.refuse(PATH, found, "it must be a list", "Write a list of exceptions, or remove it.")
        return
    plan = draft.document.name
    for number, entry in enumerate(found):
        if not isinstance(entry, dict):
            draft.refuse(
                f"{PATH}[{number}]", entry, "it must have fields", "Write an exception, or remove it."
            )
            continue
        spec = {key: value for key, value in entry.items() if key not in {"name", "planRef"}}
        metadata = {"name": str(entry.get("name") or f"{plan}-exception-{number + 1}")}
        if draft.written_namespace:
            metadata["namespace"] = draft.written_namespace
        yield {
            "apiVersion": EXCEPTIONS.api_version,
            "kind": EXCEPTIONS.kind,
            "metadata": metadata,
            "spec": {"planRef": {"name": plan}, **spec},
        }
