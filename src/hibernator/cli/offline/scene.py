"""What the documents say together: plans with the exceptions and holidays that belong to them, and scalers.

The documents have been checked before (`checks`); here they become timelines. What is merely worth knowing,
such as an exception whose plan is not among the files, becomes a note.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from hibernator.api.hibernateplan import PlanHolidays, Schedule
from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.api.timewindowscaler import ScalerHolidays
from hibernator.cli.offline import scalers
from hibernator.cli.offline.loading.documents import Document
from hibernator.schedule.conflicts import governed, reach_of
from hibernator.schedule.daysoff import DaysOff
from hibernator.schedule.holidays import Holidays, load_holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.scaler import ScalerTimeline
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
    from hibernator.controllers.daysoff_reading import read_now  # only where there are holidays to read

    return read_now(dict(entries), range(first, end))


Block = PlanHolidays | ScalerHolidays | None


class Standing(StrEnum):
    """What an exception does to its plan, as far as its document shows."""

    BENDS = "in force"
    WAITS = "waiting for another exception"
    PENDING = "pending approval"
    DRAFT = "a draft"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired before it was approved"


_PROPOSED = {Standing.PENDING, Standing.DRAFT}


@dataclass(frozen=True, slots=True)
class Bent:
    """An exception beside its plan."""

    name: str
    spec: ScheduleExceptionSpec
    standing: Standing


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that has a timeline."""

    kind: str
    namespace: str
    name: str
    timeline: PlanTimeline | ScalerTimeline
    holidays: Holidays
    holiday_mode: str = "ignore"
    exceptions: tuple[Bent, ...] = ()
    proposals: tuple[tuple[Bent, PlanTimeline], ...] = ()  # the plan as it would be, were that one approved

    @property
    def is_plan(self) -> bool:
        return isinstance(self.timeline, PlanTimeline)

    @property
    def zone(self) -> Zone:
        return self.timeline.zone

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.namespace, self.name

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


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
                )

    def _plan(self, document: Document) -> Resource:
        schedule = document.typed(Schedule, "spec", "schedule")
        filed = self._bent(self._exceptions.pop((document.namespace, document.name), []))
        bent = tuple(self._in_line(filed, zone_of(schedule.timezone)))
        in_force = [(each.name, each.spec) for each in bent if each.standing is Standing.BENDS]
        holidays = self._holidays(document, schedule.holidays)
        if document.part("spec", "suspend") is True:
            self.notes.append(
                f"{document.title} is suspended: until it goes on, nothing follows this schedule."
            )
        return Resource(
            document.kind,
            document.namespace,
            document.name,
            PlanTimeline(schedule, in_force, holidays),
            holidays,
            schedule.holidays.mode if schedule.holidays else "ignore",
            bent,
            tuple(
                (each, PlanTimeline(schedule, [*in_force, (each.name, each.spec)], holidays))
                for each in bent
                if each.standing in _PROPOSED
            ),
        )

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

    def _bent(self, documents: Iterable[Document]) -> tuple[Bent, ...]:
        """The exceptions of a plan, the older first, because of those that conflict only one holds."""
        found = []
        for document in sorted(documents, key=age):
            spec = document.typed(ScheduleExceptionSpec, "spec")
            standing = standing_of(document, spec)
            if standing is not Standing.BENDS and standing not in _PROPOSED:
                self.notes.append(f"{document.title} changes nothing: it is {standing}.")
            found.append(Bent(document.name, spec, standing))
        return tuple(found)

    def _in_line(self, filed: Sequence[Bent], zone: Zone) -> Iterator[Bent]:
        """The same, where one that conflicts with an older one is said to wait, and never has its turn."""
        in_force = [each for each in filed if each.standing is Standing.BENDS]
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
    """Where an exception is: as its status says, or where it will be once the cluster has seen it."""
    state, applied_at = document.part("status", "state"), document.part("status", "appliedAt")
    if spec.cancelled or state == "Cancelled":
        return Standing.CANCELLED
    if state == "Rejected":
        return Standing.REJECTED
    if spec.draft:
        return Standing.DRAFT
    agreed = document.part("status", "approvalState") == "Approved"
    if state in {"Active", "Approved"} or not spec.approval_required or (agreed and state == "Pending"):
        return Standing.BENDS
    if state == "Expired":
        return Standing.BENDS if applied_at else Standing.EXPIRED
    return Standing.PENDING
