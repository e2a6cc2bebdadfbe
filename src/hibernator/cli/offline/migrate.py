"""Documents of the format before this one: cron lines in plans, and the group that the kinds used to be in.

Commands that show timelines read them as if they had been converted; `validate` says how to convert them.
"""

import copy
import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from hibernator.api.hibernateplan import PLANS
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.cli.offline.loading.documents import OLD_GROUP, Document
from hibernator.schedule.cron import cron_to_off_hours
from hibernator.schedule.errors import ScheduleError

GROUP = PLANS.group
_LINES = ("hibernate", "wakeUp")


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
    """The document in the new format, or the reasons why there is no such document."""
    if not is_old(document):
        return Migrated(document)
    value = copy.deepcopy(document.value)
    if has_moved(document):
        version = value["apiVersion"].rpartition("/")[2]
        value["apiVersion"] = f"{GROUP}/{version}"
    notes: tuple[str, ...] = ()
    if has_cron_lines(document):
        schedule = value["spec"]["schedule"]
        lines = {name: schedule.pop(name, None) for name in _LINES}
        problems = tuple(_unreadable(lines))
        if problems:
            return Migrated(document, problems=problems)
        try:
            converted = cron_to_off_hours(lines["hibernate"], lines["wakeUp"])
        except ScheduleError as error:
            problem = Problem("spec.schedule.hibernate", lines["hibernate"], error.message, error.fix)
            return Migrated(document, problems=(problem,))
        value["spec"]["schedule"] = {
            "offHours": msgspec.json.decode(msgspec.json.encode(converted.windows)),
            **schedule,
        }
        notes = converted.notes
    return Migrated(replace(document, value=value), notes)


def _unreadable(lines: dict[str, Any]) -> Iterable[Problem]:
    for name, line in lines.items():
        if not isinstance(line, str):
            message = "it is missing" if line is None else "it must be text"
            yield Problem(
                f"spec.schedule.{name}", line, message, 'Write a cron line, for example "0 20 * * 1-5".'
            )


def order(document: Document) -> str:
    """The command that converts the file of a document."""
    file = "-" if document.place.file == "stdin" else shlex.quote(document.place.file)
    return f"hibernator convert -f {file} --to off-hours"
