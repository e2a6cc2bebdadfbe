"""Exceptions that stand in a plan, as `spec.schedule.exceptions`, to ScheduleExceptions of their own."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from hibernator.api.hibernateplan import PLANS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.cli.offline.drafts import Draft
from hibernator.cli.offline.loading.documents import Document
from hibernator.cli.offline.migrate import is_old, migrated
from hibernator.cli.offline.report import counted

PATH = "spec.schedule.exceptions"


def has_exceptions(document: Document) -> bool:
    """Whether a plan has exceptions within, which a cluster would refuse."""
    schedule = document.part("spec", "schedule")
    return document.is_a(PLANS.kind) and isinstance(schedule, dict) and "exceptions" in schedule


def convert(drafts: Iterable[Draft]) -> None:
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
