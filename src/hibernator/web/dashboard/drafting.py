"""What people type into the form of a new exception, and what would come of it. Pure.

The same text becomes the object, its YAML and the command, so that all three ask for the same.
"""

import re
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec
from whenever import Instant

from hibernator.api.checks import check_document
from hibernator.api.crd import to_yaml
from hibernator.api.exceptionpolicy import ExceptionPolicy
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.approvals.people import Directory, asker
from hibernator.decisions.exceptionpolicy import Case, Demands, demands, foretold
from hibernator.decisions.exceptionpolicy_limits import uses
from hibernator.decisions.scheduleexception_line import conflict, is_open
from hibernator.decisions.scheduleexception_new import ExceptionInput, ParsedInput, read
from hibernator.messages.facts import Facts, facts_of_exception, local
from hibernator.schedule.errors import FORMS, TimeError
from hibernator.schedule.problems import check_exception, check_schedule, exception_hints

TYPES: Final = (
    ("suspend", "Stay awake", "nothing sleeps in these hours"),
    ("extend", "Sleep more", "it sleeps in these hours, too"),
    ("replace", "Another schedule", "it sleeps in these hours only"),
)
_LABELS: Final = {"--until": "Until", "--from": "From", "--window": "Windows"}
_MOST_CONFLICTS: Final = 5
_MOST_KEPT: Final = 4_096  # bytes of a form without its reason: more than any that can be filed
_MOST_REASON: Final = 2_048  # characters; twice as many as can be filed
_SPLIT: Final = re.compile(r"[,;\s]+")


class Fields(msgspec.Struct, frozen=True):
    """The form as it was sent; every value is text."""

    plan: str = ""  # namespace/name
    name: str = ""
    type: str = "suspend"
    begin: str = ""
    until: str = ""
    windows: str = ""  # one on each line
    lead_time: str = ""
    reason: str = ""
    approvers: str = ""
    roles: str = ""
    threshold: str = ""

    @classmethod
    def of(cls, sent: Mapping[str, str]) -> "Fields":
        known = {field: sent.get(field, "").strip().replace("\r\n", "\n") for field in cls.__struct_fields__}
        return cls(**(known | {"type": known["type"] or "suspend"}))

    def kept(self, room: int) -> str:
        """As text of so many bytes, packed; where it does not fit, the end of the reason is missing.

        Without a reason it has to fit: anyone may send anything here, and packing takes its time.
        """
        bare, reason = self._with(""), self.reason[:_MOST_REASON]
        if len(bare) > _MOST_KEPT or len(zlib.compress(bare)) > room:
            return ""
        while len(zlib.compress(text := self._with(reason))) > room:
            reason = reason[: len(reason) * 3 // 4]
        return text.decode()

    def _with(self, reason: str) -> bytes:
        return msgspec.json.encode(msgspec.structs.replace(self, reason=reason))


def from_kept(text: str) -> Fields | None:
    try:
        return msgspec.json.decode(text, type=Fields) if text else None
    except msgspec.DecodeError:
        return None


@dataclass(frozen=True, slots=True)
class Governed:
    """The ExceptionPolicies that may be about an exception, and what they may look at."""

    policies: tuple[ExceptionPolicy, ...] = ()
    directory: Directory = field(default_factory=Directory)
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    home: str = ""

    def asked(
        self,
        exception: ScheduleException,
        plan: HibernatePlan,
        others: Iterable[ScheduleException],
        now: Instant,
    ) -> Demands:
        """What they will ask for, as the operator will work it out; of a draft nothing."""
        case = Case(
            requester=asker(exception, self.directory),
            asked_at=now,
            uses=uses(exception, filter(is_open, others), plan),
            namespace_labels=self.namespace_labels,
            home=self.home,
        )
        return Demands() if exception.spec.draft else demands(exception, plan, self.policies, case, now)


_UNGOVERNED: Final = Governed()


@dataclass(frozen=True, slots=True)
class Preview:
    """What would come of it, or the sentences about what has to be written otherwise."""

    problems: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    facts: Facts | None = None
    when: str = ""
    agree: tuple[str, ...] = ()  # who has to
    needed: str = ""  # how many of them
    policies: tuple[str, ...] = ()  # what each policy asks besides, and why
    conflicts: tuple[str, ...] = ()
    document: Mapping[str, Any] | None = None  # to create
    yaml: str = ""
    command: str = ""


def suggested_name(plan: HibernatePlan, now: Instant) -> str:
    return f"{plan.metadata.name}-{now.to_stdlib():%Y%m%d-%H%M}"


def preview(
    fields: Fields,
    plan: HibernatePlan,
    others: Iterable[ScheduleException],
    notes: dict[str, str],
    now: Instant,
    *,
    draft: bool = False,
    governed: Governed = _UNGOVERNED,
) -> Preview:
    """What the form asks for, on the plan's clock."""
    others = tuple(others)
    try:
        ready = read(replace(_wanted(fields, plan, now), draft=draft))
        zone = _zone(plan)
        document, begin, end = ready.document(zone, now, notes)
    except TimeError as error:
        return Preview(problems=(_words(error),))
    except ValueError as error:
        return Preview(problems=(str(error),))
    whole: dict[str, Any] = {"apiVersion": EXCEPTIONS.api_version, "kind": EXCEPTIONS.kind, **document}
    whole["metadata"] = {"namespace": plan.metadata.namespace, **whole["metadata"]}
    if found := tuple(dict.fromkeys(_sentence(one) for one in _problems(whole))):
        return Preview(problems=found)
    exception = msgspec.convert(whole, ScheduleException)
    asked = governed.asked(exception, plan, others, now)
    if asked.problems:
        return Preview(problems=asked.problems)
    place = {"name": exception.metadata.name, "namespace": exception.metadata.namespace}
    return Preview(
        hints=tuple(exception_hints(exception.spec, zone)),
        facts=facts_of_exception(exception, plan, others),
        when=f"From {local(begin, zone)} until {local(end, zone)}",
        agree=tuple(_agree(exception)),
        needed=_needed(exception),
        policies=tuple(foretold(asked)),
        conflicts=tuple(_conflicts(exception, others, plan))[:_MOST_CONFLICTS],
        document=document,
        yaml=to_yaml({**whole, "metadata": place}),
        command=_command(ready, plan.metadata.namespace),
    )


def _wanted(fields: Fields, plan: HibernatePlan, now: Instant) -> ExceptionInput:
    if not fields.until:
        raise ValueError(f"Until is empty: write {FORMS}.")
    if fields.threshold and not (fields.threshold.isdecimal() and len(fields.threshold) < 4):  # noqa: PLR2004
        raise ValueError(f"How many must agree is {fields.threshold!r}: write a number, or nothing for all.")
    return ExceptionInput(
        name=fields.name or suggested_name(plan, now),
        plan=plan.metadata.name,
        type=fields.type,
        from_=fields.begin,
        until=fields.until,
        windows=tuple(line for line in fields.windows.split("\n") if line.strip()),
        lead_time=fields.lead_time,
        reason=fields.reason,
        approvers=tuple(word for word in _SPLIT.split(fields.approvers) if word),
        roles=tuple(word for word in _SPLIT.split(fields.roles) if word),
        threshold=int(fields.threshold) if fields.threshold else None,
    )


def _zone(plan: HibernatePlan) -> str:
    if problem := next(check_schedule(plan.spec.schedule), None):
        raise ValueError(f"The schedule of the plan has a mistake: {_sentence(problem)}")
    return plan.spec.schedule.timezone


def _problems(document: dict[str, Any]) -> Iterator[Problem]:
    shape = check_document(document)
    yield from shape
    if not shape:
        yield from check_exception(msgspec.convert(document, ScheduleException).spec)


def _agree(exception: ScheduleException) -> Iterator[str]:
    yield from exception.spec.approver_emails
    yield from (f"a member of the role {role}" for role in exception.spec.approval_required_roles)


def _needed(exception: ScheduleException) -> str:
    spec = exception.spec
    if not spec.approval_required:
        return ""
    places = len(spec.approver_emails) + len(spec.approval_required_roles)
    needed = places if spec.approval_threshold == "all" else spec.approval_threshold
    return f"{needed} of {places}"


def _conflicts(
    mine: ScheduleException, others: Iterable[ScheduleException], plan: HibernatePlan
) -> Iterator[str]:
    zone = plan.spec.schedule.timezone
    for other in others:
        if not is_open(other) or any(check_exception(other.spec)):
            continue
        if first := conflict(mine.spec, other.spec, plan):
            state = other.status.state or "new"
            yield (
                f"{other.metadata.name} ({state}) wants the same time from {local(first, zone)} on. Only "
                "one of the two can be in force: choose other windows, or cancel that one."
            )


def _command(ready: ParsedInput, namespace: str) -> str:
    wanted = ready.wanted
    words = ["hibernator", "exception", "create", wanted.name, "-n", namespace, "--plan", wanted.plan]
    words += ["--type", wanted.type]
    for option, value in (
        ("--from", wanted.from_),
        ("--until", wanted.until),
        ("--lead-time", wanted.lead_time),
        ("--reason", wanted.reason),
        ("--threshold", str(wanted.threshold or "")),
    ):
        words += [option, value] if value else []
    for option, values in (
        ("--window", wanted.windows),
        ("--approver", wanted.approvers),
        ("--role", wanted.roles),
    ):
        words += [part for value in values for part in (option, value.strip())]
    return shlex.join([*words, *(["--draft"] if wanted.draft else [])])


def _sentence(problem: Problem) -> str:
    where = problem.path.removeprefix("spec.").removeprefix("metadata.")
    return f"{where}: {problem.message.rstrip('.')}. {problem.fix}"


def _words(error: TimeError) -> str:
    """The sentence of a command with the names of the form."""
    text = str(error)
    for option, label in _LABELS.items():
        text = text.replace(option, label)
    return f"{text} {error.hint}".strip()
