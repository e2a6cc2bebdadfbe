"""Documents of the format before this one: cron lines in plans, and the group that the kinds used to be in.

Commands that show timelines read them as if they had been converted; `validate` says how to convert them.
"""

import copy
import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from hibernator.api.problem import Problem
from hibernator.cli.offline.loading.documents import Document
from hibernator.schedule.cron import cron_to_off_hours
from hibernator.schedule.errors import ScheduleError

OLD_GROUP = "hibernator.ardikasaputro.io"
GROUP = "hibernator.ardikabs.com"
MOVED_KINDS = {"HibernatePlan", "ScheduleException"}
_LINES = ("hibernate", "wakeUp")


class Migrated(NamedTuple):
    """A document as it would be written today, and what there is to know about that."""

    document: Document
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def is_old(document: Document) -> bool:
    return document.kind in MOVED_KINDS and (document.group == OLD_GROUP or has_cron_lines(document))


def has_cron_lines(document: Document) -> bool:
    """Whether a plan says when it sleeps in the old way, and not in the new one besides."""
    schedule = document.part("spec", "schedule")
    return (
        document.kind == "HibernatePlan"
        and isinstance(schedule, dict)
        and "offHours" not in schedule
        and any(line in schedule for line in _LINES)
    )


def migrated(document: Document) -> Migrated:
    """The document in the new format, or the reasons why there is no such document."""
    if not is_old(document):
        return Migrated(document)
    value = copy.deepcopy(document.value)
    if document.group == OLD_GROUP:
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
