"""What the ExceptionPolicies among documents ask of the exceptions among them, before a cluster sees them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace
from whenever import Instant

from hibernator.api.exceptionpolicy import ExceptionPolicy
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import Object
from hibernator.api.scheduleexception import ScheduleException
from hibernator.cli.offline.loading.documents import Document, without_nulls
from hibernator.decisions.exceptionpolicy import (
    Case,
    Demands,
    demands,
    foretold,
    policy_name,
    why_not_about,
)
from hibernator.decisions.exceptionpolicy_limits import uses
from hibernator.decisions.person import Person
from hibernator.decisions.scheduleexception_request import requester

HOME: Final = "hibernator-system"
NAME_LABEL: Final = "kubernetes.io/metadata.name"
T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class Files:
    """Policies, plans and exceptions, from files or from a cluster."""

    policies: tuple[ExceptionPolicy, ...] = ()
    plans: tuple[HibernatePlan, ...] = ()
    exceptions: tuple[ScheduleException, ...] = ()
    home: str = HOME
    labels: Mapping[str, str] = field(default_factory=dict)  # of the namespace, where a cluster was asked

    def plan_of(self, exception: ScheduleException) -> HibernatePlan | None:
        wanted = exception.metadata.namespace, exception.spec.plan_ref.name
        return next(
            (one for one in self.plans if (one.metadata.namespace, one.metadata.name) == wanted), None
        )

    def case(self, exception: ScheduleException, who: Person, now: Instant) -> Case:
        plan = self.plan_of(exception)
        others = [
            one
            for one in self.exceptions
            if one is not exception
            and one.spec.plan_ref.name == exception.spec.plan_ref.name
            and one.metadata.namespace == exception.metadata.namespace
        ]
        return Case(
            requester=who,
            asked_at=now,
            uses=uses(exception, others, plan),
            namespace_labels={**self.labels, NAME_LABEL: exception.metadata.namespace},
            home=self.home,
        )

    def asked(self, exception: ScheduleException, who: Person, now: Instant) -> Demands:
        case = self.case(exception, who, now)
        return demands(exception, self.plan_of(exception), self.policies, case, now)


def files_of(documents: Sequence[Document], home: str = HOME, near: str = "default") -> Files:
    """What of the documents can be read; `validate` says what is wrong with the others.

    What names no namespace is in the one that is `near`.
    """
    return Files(
        tuple(_all(documents, "ExceptionPolicy", ExceptionPolicy, near)),
        tuple(_all(documents, "HibernatePlan", HibernatePlan, near)),
        tuple(_all(documents, "ScheduleException", ScheduleException, near)),
        home,
    )


def explained(files: Files, exception: ScheduleException, who: Person, now: Instant) -> Iterator[str]:
    """Every policy, whether it matches, and what it requires."""
    plan, case = files.plan_of(exception), files.case(exception, who, now)
    found = files.asked(exception, who, now)
    each = {one.policy: one for one in found.each}
    for policy in sorted(files.policies, key=lambda one: (one.metadata.namespace, one.metadata.name)):
        name = policy_name(policy, exception)
        if why := why_not_about(policy, exception, plan, case):
            yield f"  {name}: does not match, because {why}."
            continue
        lines = [*foretold(Demands((each[name],))), *Demands((each[name],)).problems] if name in each else []
        yield f"  {name}: matches." if lines else f"  {name}: matches, and asks for nothing."
        yield from (f"    {line.removeprefix(f'ExceptionPolicy {name}: ')}" for line in lines)


def foretold_of(documents: Sequence[Document], now: Instant) -> Iterator[tuple[str, bool, str]]:
    """For each exception that policies of the documents are about: its key, whether it is held, and why."""
    files = files_of(documents)
    for exception in files.exceptions if files.policies else ():
        if exception.spec.draft or exception.spec.cancelled or exception.status.state:
            continue
        asked = files.asked(exception, Person(requester(exception)), now)
        key = f"{exception.metadata.namespace}/{exception.metadata.name}"
        for said in (*asked.problems, *foretold(asked)):
            yield key, bool(asked.problems or asked.needs), f"{key}: {said}"


def _all(documents: Sequence[Document], kind: str, wanted: type[T], near: str) -> Iterator[T]:
    for document in documents:
        if document.is_a(kind):
            try:
                found = msgspec.convert(without_nulls(document.value), wanted)
            except msgspec.ValidationError:
                continue
            namespace = found.metadata.namespace or near
            yield replace(found, metadata=replace(found.metadata, namespace=namespace))
