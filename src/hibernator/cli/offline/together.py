"""Mistakes that show only when documents are seen together."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import msgspec

from hibernator.api.hibernateplan import Schedule
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.cli.offline import scalers
from hibernator.cli.offline.loading.documents import Document, Mistake
from hibernator.cli.offline.scene import age, days_off, standing_of, text_data
from hibernator.pictures.resource import Standing
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.exceptions import overlap
from hibernator.schedule.problems import check_exception, exception_hints, scaler_hints, schedule_hints
from hibernator.schedule.zones import zone_of


def duplicates(documents: Sequence[Document]) -> Iterator[Mistake]:
    """Documents that would overwrite each other."""
    first: dict[tuple[str, str, str, str], Document] = {}
    for document in documents:
        if document.name and document.is_a(document.kind):
            other = first.setdefault(document.key, document)
            if other is not document:
                yield document.mistake(
                    Problem(
                        "metadata.name",
                        document.name,
                        f"{document.title} is there already, in {other.place}",
                        "Give it another name, or remove one of the two.",
                    )
                )


def rivals(documents: Sequence[Document]) -> Iterator[Mistake]:
    """Exceptions whose windows overlap, where only one of them can be active."""
    zones = {
        (each.namespace, each.name): each.part("spec", "schedule", "timezone")
        for each in documents
        if each.is_a("HibernatePlan")
    }
    by_plan: dict[tuple[str, Any], list[tuple[Document, ScheduleExceptionSpec]]] = {}
    for document in sorted((each for each in documents if each.is_a("ScheduleException")), key=age):
        spec = _decoded(document)
        if spec and standing_of(document, spec) is Standing.IN_FORCE:
            by_plan.setdefault((document.namespace, spec.plan_ref.name), []).append((document, spec))
    for (namespace, plan), found in by_plan.items():
        zone = _zone(zones.get((namespace, plan)))
        for (older, old), (younger, young) in combinations(found, 2):
            if first := overlap(young, old, zone):
                expiry = msgspec.to_builtins(old.valid_until)
                yield younger.mistake(
                    Problem(
                        "spec.windows",
                        first.to_tz(zone).format_iso(),
                        f"Plan {plan} already has active exception {older.name} (expires at {expiry})",
                        "Choose windows that do not overlap, or remove one of the two.",
                    )
                )


def unreadable_holidays(documents: Sequence[Document], years: range) -> Iterator[Mistake]:
    """Entries that are neither a date nor a calendar, in ConfigMaps from which holidays are taken."""
    for document in holiday_sources(documents):
        data = document.part("data")
        if not isinstance(data, dict):
            continue
        for key in data.keys() - text_data(document).keys():
            yield document.mistake(
                Problem(f"data.{key}", data[key], "the value must be text", "Put it in quotes.")
            )
        for problem in days_off(document, years).problems:
            is_entry = problem.path != "data"
            yield document.mistake(problem._replace(path=f"data.{problem.value}") if is_entry else problem)


def hints(documents: Sequence[Document]) -> Iterator[str]:
    """What is allowed and yet hardly meant, in documents without mistakes."""
    zones: dict[tuple[str, str], str] = {}
    for document in documents:
        if document.is_a("HibernatePlan"):
            schedule = document.typed(Schedule, "spec", "schedule")
            zones[document.namespace, document.name] = schedule.timezone
            yield from (f"{document.title}: {hint}" for hint in schedule_hints(schedule))
        elif document.is_a("TimeWindowScaler"):
            scaler = scalers.decoded(document)
            yield from (
                f"{document.title}: {hint}" for hint in scaler_hints(scaler.timezone, scaler.holidays)
            )
    for document in documents:
        if document.is_a("ScheduleException"):
            spec = document.typed(ScheduleExceptionSpec, "spec")
            zone = zones.get((document.namespace, spec.plan_ref.name))
            yield from (f"{document.title}: {hint}" for hint in exception_hints(spec, zone))


def holiday_sources(documents: Sequence[Document]) -> list[Document]:
    """The ConfigMaps from which some document takes its holidays."""
    named = {(each.namespace, name) for each in documents if (name := _holiday_source(each))}
    return [each for each in documents if each.is_a("ConfigMap") and (each.namespace, each.name) in named]


def _holiday_source(document: Document) -> str | None:
    steps = {
        "HibernatePlan": ("spec", "schedule", "holidays", "sourceRef", "name"),
        "TimeWindowScaler": ("spec", "holidays", "sourceRef", "name"),
    }
    name = (
        document.part(*steps[document.kind])
        if document.is_a(document.kind) and document.kind in steps
        else None
    )
    return name if isinstance(name, str) else None


def _decoded(document: Document) -> ScheduleExceptionSpec | None:
    try:
        spec = document.typed(ScheduleExceptionSpec, "spec")
    except msgspec.ValidationError:
        return None
    return None if any(check_exception(spec)) else spec


def _zone(name: object) -> str:
    """The zone of the plan; where it is not among the files, or has none, any will do."""
    try:
        return zone_of(str(name)).name
    except ScheduleError:
        return "UTC"
