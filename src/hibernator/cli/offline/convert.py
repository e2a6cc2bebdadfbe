"""`hibernator convert`: other formats to plans with off-hours, or plans to cron lines.

Everything around what is converted is kept as it is written; of what comes from a cluster, only what is
converted is printed, without what the cluster added, so that it can be applied.
"""

import copy
import re
import shlex
from collections.abc import Collection, Iterable, Sequence

import msgspec

from hibernator.api.hibernateplan import Schedule
from hibernator.api.problem import Problem
from hibernator.cli.offline import downscaler, migrate, out, sleepinfo
from hibernator.cli.offline.checks import timing_mistakes
from hibernator.cli.offline.commands import Format
from hibernator.cli.offline.downscaler_scopes import PREFIX, annotations
from hibernator.cli.offline.drafts import LAST_APPLIED, Draft, as_written, is_from_a_cluster
from hibernator.cli.offline.loading.documents import OLD_GROUP, Document, Mistake, load
from hibernator.cli.offline.loading.yaml_documents import write
from hibernator.cli.offline.migrate import has_cron_lines, is_old, migrated
from hibernator.cli.offline.out import counted, refuse
from hibernator.schedule.cron import convert_schedule_to_cron
from hibernator.schedule.errors import ScheduleError


def removals(drafts: Iterable[Draft]) -> list[str]:
    """The commands that remove them, one for all objects of a namespace with the same annotations."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for draft in drafts:
        left = sorted(set(annotations(draft)) - _applied(draft.document))
        if left and draft.changed and is_from_a_cluster(draft.document):
            found.setdefault((draft.written_namespace, tuple(left)), []).append(_resource(draft.document))
    return [
        shlex.join(
            [
                *("kubectl", "annotate"),
                *(("-n", namespace) if namespace else ()),
                *resources,
                *(f"{PREFIX}{name}-" for name in left),
            ]
        )
        for (namespace, left), resources in found.items()
    ]


def _applied(document: Document) -> set[str]:
    """Which of them an apply has written, and the next one removes."""
    written = document.part("metadata", "annotations", LAST_APPLIED)
    try:
        applied = msgspec.json.decode(written or "{}")
        return {key.removeprefix(PREFIX) for key in applied["metadata"]["annotations"]}
    except (msgspec.DecodeError, KeyError, TypeError):
        return set()


def _resource(document: Document) -> str:
    group = f".{document.group}" if document.group else ""
    return f"{document.kind.lower()}{group}/{document.name}"


_MARKERS = re.compile(r"\A---[^\n]*\n|^\.\.\.\s*\Z", re.MULTILINE)
_COMMENT = re.compile(r"(^|\s)#", re.MULTILINE)


def run(files: Sequence[str], to: Format, *, keep_going: bool = False) -> None:
    loaded = load(files)
    drafts = [Draft(document) for document in loaded.documents]
    if to is Format.OFF_HOURS:
        sleepinfo.convert(drafts)
        downscaler.convert(drafts)
        migrate.take_exceptions_out(drafts)
    converter = _Converter(to, {draft.scope for draft in drafts if draft.problems})
    texts = [text for draft in drafts for text in converter.converted(draft)]
    if loaded.mistakes or not keep_going:  # what cannot be read may be what has to stay awake
        refuse([*loaded.mistakes, *converter.mistakes])
    out.data("---\n".join([*texts, *converter.made]))
    out.notes(converter.remarks() or ["nothing needed converting."])
    concerns = "it concerns" if len(converter.mistakes) == 1 else "they concern"
    refuse(converter.mistakes, so=f"and what {concerns} was left out")


class _Converter:
    """What is made of the documents comes last: by then, what stays awake is marked.

    A namespace is converted as a whole, or not at all: its plan would put to sleep what could not be read.
    """

    def __init__(self, to: Format, broken: Collection[str]) -> None:
        self._to = to
        self._broken = broken
        self._changed: list[Draft] = []
        self._unconcerned = 0
        self.made: list[str] = []
        self.mistakes: list[Mistake] = []
        self.notes: list[str] = []

    def remarks(self) -> list[str]:
        found = list(self.notes)
        if self._unconcerned:
            left = "needs no conversion and was" if self._unconcerned == 1 else "need no conversion and were"
            found.append(f"{counted(self._unconcerned, 'object')} from the cluster {left} left out.")
        if commands := removals(self._changed):
            found.append("kubectl apply keeps annotations that it did not write. Remove them afterwards:")
        return found + commands

    def converted(self, draft: Draft) -> list[str]:
        """The document, or the documents, that take its place."""
        document = draft.document
        self.mistakes += [document.mistake(problem) for problem in draft.problems]
        if draft.changed and draft.scope in self._broken:
            return []
        if draft.changed:
            self._changed.append(draft)
            return self._redrafted(draft)
        if self._to is Format.OFF_HOURS and is_old(document):
            return self._to_off_hours(document)
        if self._to is Format.CRON and document.is_a("HibernatePlan") and not has_cron_lines(document):
            return self._to_cron(migrated(document).document)
        if is_from_a_cluster(document):
            self._unconcerned += 1
            return []
        return [_as_written(document)]

    def _redrafted(self, draft: Draft) -> list[str]:
        plain = f"{draft.document.title} lost annotations of kube-downscaler that said nothing."
        self._remark(draft.document, draft.notes or [plain])
        self.made += map(write, draft.made)
        return [] if draft.replaced else [write(draft.value)]

    def _to_off_hours(self, document: Document) -> list[str]:
        modern = migrated(document)
        if modern.problems:
            self.mistakes += [document.mistake(problem) for problem in modern.problems]
            return []
        self._tell(document, *modern.notes)
        return [write(as_written(modern.document))]

    def _to_cron(self, document: Document) -> list[str]:
        found = timing_mistakes(document)
        if found:
            self.mistakes += found
            return []
        schedule = document.typed(Schedule, "spec", "schedule")
        try:
            pairs = convert_schedule_to_cron(schedule)
        except ScheduleError as error:
            path = "spec.schedule"
            self.mistakes.append(document.mistake(Problem(path, None, error.message, error.fix)))
            return []
        if len(pairs) > 1:
            self._tell(
                document, f"It takes {len(pairs)} pairs of cron lines, so that it became as many plans."
            )
        else:
            self._tell(document)
        plans = []
        for number, (hibernate, wake_up) in enumerate(pairs, start=1):
            value = copy.deepcopy(as_written(document))
            value["apiVersion"] = f"{OLD_GROUP}/v1alpha1"
            if len(pairs) > 1:
                value["metadata"]["name"] = f"{document.name}-{number}"
            value["spec"]["schedule"] = {
                "hibernate": hibernate,
                "wakeUp": wake_up,
                "timezone": schedule.timezone,
            }
            plans.append(write(value))
        return plans

    def _tell(self, document: Document, *remarks: str) -> None:
        self._remark(document, [f"{document.title} was converted to {self._to}.", *remarks])

    def _remark(self, document: Document, remarks: Sequence[str]) -> None:
        lost = " Its comments are lost." if _COMMENT.search(document.text) else ""
        self.notes += [f"{remarks[0]}{lost}", *remarks[1:]]


def _as_written(document: Document) -> str:
    """What needs no conversion keeps its comments and its layout."""
    if not document.text:
        return write(document.value)
    return _MARKERS.sub("", document.text).rstrip("\n") + "\n"
