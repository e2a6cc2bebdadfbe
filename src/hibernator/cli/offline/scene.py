"""What the documents say together: plans with the exceptions and holidays that belong to them, and scalers.

The documents have been checked before (`checks`); here they become timelines. What is merely worth knowing,
such as an exception whose plan is not among the files, becomes a note.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec
from whenever import Instant

from hibernator.api.hibernateplan import PLANS, PlanHolidays, Schedule
from hibernator.api.scheduleexception import ScheduleExceptionSpec, ScheduleExceptionStatus
from hibernator.api.structural import guess
from hibernator.api.timewindowscaler import ScalerHolidays
from hibernator.cli.offline import scalers
from hibernator.cli.offline.governed import foretold_of
from hibernator.cli.offline.loading.documents import Document
from hibernator.pictures.resource import (
    PROPOSED,
    Resource,
    ShownException,
    Standing,
    plan_resource,
    standing_from,
)
from hibernator.schedule.exceptions import governed, reach_of
from hibernator.schedule.holidays import DaysOff, Holidays, load_holidays
from hibernator.schedule.ticks import from_datetime
from hibernator.schedule.zones import Zone, local_text, zone_of


def days_off(config_map: Document, years: range) -> DaysOff:
    return _read(tuple(sorted(text_data(config_map).items())), years.start, years.stop)


def text_data(config_map: Document) -> dict[str, str]:
    """The entries of a ConfigMap that are text."""
    data = config_map.part("data")
    return (
        {str(key): value for key, value in data.items() if isinstance(value, str)}
        if isinstance(data, dict)
        else {}
    )


@lru_cache(maxsize=256)
def _read(entries: tuple[tuple[str, str], ...], first: int, end: int) -> DaysOff:
    from hibernator.controllers.daysoff_reader import read_now  # only where there are holidays to read

    return read_now(dict(entries), range(first, end))


Block = PlanHolidays | ScalerHolidays | None


@dataclass(frozen=True, slots=True)
class Scene:
    resources: tuple[Resource, ...]
    notes: tuple[str, ...]


def stage(documents: Sequence[Document], years: range) -> Scene:
    """Put the documents together, with the holidays of these years."""
    builder = _Builder(documents, years)
    return Scene(tuple(builder.resources()), tuple(builder.notes))


class _Builder:
    def __init__(self, documents: Sequence[Document], years: range) -> None:
        self._years = years
        self.notes: list[str] = []
        self._documents = documents
        self._maps = {each.key: each for each in documents if each.is_a("ConfigMap")}
        self._exceptions: dict[tuple[str, str], list[Document]] = {}
        self._held: set[str] = set()  # exceptions that a policy does not let through by themselves
        if any(each.is_a("ExceptionPolicy") for each in documents):
            for key, is_held, said in foretold_of(documents, Instant.now()):
                self._held |= {key} if is_held else set()
                self.notes.append(said)
        for each in documents:
            if each.is_a("ScheduleException"):
                plan = str(each.part("spec", "planRef", "name"))
                self._exceptions.setdefault((each.namespace, plan), []).append(each)

    def resources(self) -> Iterator[Resource]:
        for document in self._documents:
            if document.is_a("HibernatePlan"):
                yield self._plan(document)
            elif document.is_a("TimeWindowScaler"):
                yield self._scaler(document)
        for (namespace, plan), lonely in self._exceptions.items():
            for each in lonely:
                self.notes.append(
                    f"{each.title} is left out: its plan {namespace}/{plan} is not among the files."
                    f"{self._meant(namespace, plan)}"
                )

    def _meant(self, namespace: str, plan: str) -> str:
        beside = (one.name for one in self._documents if one.is_a(PLANS.kind) and one.namespace == namespace)
        meant = guess(plan, beside)
        return f" Did you mean {meant}?" if meant else ""

    def _plan(self, document: Document) -> Resource:
        schedule = document.typed(Schedule, "spec", "schedule")
        filed = self._shown(self._exceptions.pop((document.namespace, document.name), []))
        exceptions = tuple(self._in_line(filed, zone_of(schedule.timezone)))
        holidays = self._holidays(document, schedule.holidays)
        if document.part("spec", "suspend") is True:
            self.notes.append(
                f"{document.title} is suspended: until it goes on, nothing follows this schedule."
            )
        return plan_resource(document.namespace, document.name, schedule, holidays, exceptions)

    def _scaler(self, document: Document) -> Resource:
        spec = scalers.decoded(document)
        holidays = self._holidays(document, spec.holidays)
        baseline = scalers.baseline(document, spec, self._documents)
        if spec.pause:
            self.notes.append(f"{document.title} is paused: until it goes on, nothing is scaled.")
        if scalers.has_shares(spec) and baseline is None:
            self.notes.append(
                f"{document.title} has shares of its {spec.target_ref.kind}, which is not among the files: "
                "they are shown as shares of one replica."
            )
        if scalers.is_measured(spec):
            self.notes.append(f"{document.title} has measured numbers: they are shown at their most.")
        return Resource(
            document.kind,
            document.namespace,
            document.name,
            scalers.timeline(spec, holidays, 1 if baseline is None else baseline),
            holidays,
            spec.holidays.mode if spec.holidays else "ignore",
        )

    def _shown(self, documents: Iterable[Document]) -> tuple[ShownException, ...]:
        """The exceptions of a plan, the older first, because of those that conflict only one holds."""
        found = []
        for document in sorted(documents, key=age):
            spec = document.typed(ScheduleExceptionSpec, "spec")
            standing = standing_of(document, spec)
            if standing is Standing.IN_FORCE and f"{document.namespace}/{document.name}" in self._held:
                standing = Standing.PENDING
            if standing is not Standing.IN_FORCE and standing not in PROPOSED:
                self.notes.append(f"{document.title} changes nothing: it is {standing}.")
            found.append(ShownException(document.name, spec, standing))
        return tuple(found)

    def _in_line(self, filed: Sequence[ShownException], zone: Zone) -> Iterator[ShownException]:
        """The same, where one that conflicts with an older one is said to wait, and never has its turn."""
        in_force = [each for each in filed if each.standing is Standing.IN_FORCE]
        spans = governed([reach_of(each.spec, zone) for each in in_force])
        turns = dict(zip((each.name for each in in_force), spans, strict=True))
        for each in filed:
            span = turns.get(each.name)
            if each.name not in turns:
                yield each
            elif span is None:
                self.notes.append(f"{each.name} changes nothing: its windows overlap an older exception's.")
                yield replace(each, standing=Standing.WAITS)
            else:
                if span[0] > from_datetime(each.spec.valid_from):
                    since = local_text(zone, span[0])
                    self.notes.append(
                        f"{each.name} waits until {since}: its windows overlap an older exception's."
                    )
                yield each

    def _holidays(self, document: Document, block: Block) -> Holidays:
        found = None
        if block and block.source_ref and block.mode != "ignore":
            key = ("", "ConfigMap", document.namespace, block.source_ref.name)
            source = self._maps.get(key)
            if source is None:
                self.notes.append(
                    f"{document.title} takes holidays from the ConfigMap {block.source_ref.name}, which is "
                    "not among the files: no day of it counts as a holiday."
                )
            else:
                found = days_off(source, self._years)
        holidays, problems = load_holidays(block, found)
        self.notes += [
            f"{document.title} leaves out a holiday: {problem.message}. {problem.fix}" for problem in problems
        ]
        return holidays


def age(document: Document) -> tuple[str, str]:
    """By which exceptions come one after the other: the older first, then the lesser name."""
    created = document.part("metadata", "creationTimestamp")
    return (created if isinstance(created, str) else "9999"), document.name


def standing_of(document: Document, spec: ScheduleExceptionSpec) -> Standing:
    """Where an exception is, as far as its document shows."""
    try:
        status = document.typed(ScheduleExceptionStatus, "status") if document.part("status") else None
    except msgspec.ValidationError:
        status = None
    return standing_from(spec, status or ScheduleExceptionStatus())
