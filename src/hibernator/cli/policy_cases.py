"""A table of cases for policies: what is asked, by whom and when, and what the policies must make of it.

now: 2026-11-16T09:00:00Z
policies: [production.yaml]
roles: {on-call: [dora@company.com]}
plan: {labels: {tier: production}, timezone: Europe/Berlin}
cases:
  - name: a suspension of two hours needs no approver
    exception: {type: suspend, validFrom: …, validUntil: …, windows: […]}
    expect: {approvers: []}
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml
from whenever import Instant

from hibernator.api.exceptionpolicy import ExceptionPolicy
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import ObjectMeta
from hibernator.api.scheduleexception import ScheduleException
from hibernator.cli.exits import CliError
from hibernator.cli.offline import out
from hibernator.cli.offline.governed import HOME, Files, files_of
from hibernator.cli.offline.loading.documents import load
from hibernator.decisions.exceptionpolicy import Demands
from hibernator.decisions.person import Person
from hibernator.settings import in_words

_NAMESPACE = "default"
_HINT = "A table of cases has now, policies and cases: see docs/guides/exception-policies.md."
_ALL_DAY = {"start": "00:00", "end": "23:59", "daysOfWeek": ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]}
Name = Annotated[str, msgspec.Meta(min_length=1)]


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str = "plan"
    labels: Mapping[str, str] = {}
    timezone: str = "UTC"


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    approvers: tuple[str, ...] | None = None  # every person and role that is asked
    refused: str | None = None  # a part of the sentence; empty where nothing is refused
    policies: tuple[str, ...] | None = None  # that match


class CaseRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    exception: Mapping[str, Any]
    expect: Expected
    requester: str = ""
    plan: Plan | None = None
    others: tuple[Mapping[str, Any], ...] = ()  # exceptions of the plan that are active


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    now: datetime
    policies: tuple[str, ...]
    cases: tuple[CaseRequest, ...]
    plan: Plan = Plan()
    roles: Mapping[str, tuple[str, ...]] = {}


def outcomes(file: str) -> Iterator[tuple[str, str]]:
    """Each case with what is wrong; nothing where it is as expected."""
    table = _read(Path(file))
    loaded = load([str(Path(file).parent / one) for one in table.policies])
    if loaded.mistakes:
        raise CliError(out.sentence(loaded.mistakes[0]))
    policies = tuple(_near(policy) for policy in files_of(loaded.documents).policies)
    if not policies:
        raise CliError(f"{file}: policies: there is no ExceptionPolicy in {', '.join(table.policies)}.")
    for case in table.cases:
        yield case.name, _wrong(case.expect, _demands(table, case, policies, file))


def _demands(table: Table, case: CaseRequest, policies: tuple[ExceptionPolicy, ...], file: str) -> Demands:
    plan = case.plan or table.plan
    try:
        exception = _exception("case", plan.name, case.exception)
        others = tuple(
            _exception(f"other-{number}", plan.name, one, state="Active")
            for number, one in enumerate(case.others)
        )
    except msgspec.ValidationError as error:
        path, words = in_words(error)
        raise CliError(f"{file}: case {case.name!r}: exception.{path}: {words}.") from error
    roles = frozenset(role for role, members in table.roles.items() if case.requester in members)
    files = Files(policies, (_plan(plan),), (exception, *others))
    return files.asked(exception, Person(case.requester, roles=roles), Instant(table.now))


def _wrong(expected: Expected, found: Demands) -> str:
    problems = " ".join(found.problems)
    asked = sorted({place.name for place in found.places})
    matched = [one.policy for one in found.each]
    if not expected.refused and problems:
        return f"it is refused: {problems}"
    if expected.refused and expected.refused not in problems:
        return f"refused is {problems or 'nothing'}, not {expected.refused!r}"
    if expected.approvers is not None and asked != sorted(expected.approvers):
        return f"approvers are {', '.join(asked) or 'none'}, not {', '.join(expected.approvers) or 'none'}"
    if expected.policies is not None and matched != sorted(expected.policies):
        return f"policies are {', '.join(matched) or 'none'}, not {', '.join(expected.policies) or 'none'}"
    return ""


def _read(path: Path) -> Table:
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
        return msgspec.convert(found, Table, strict=False)
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror}.") from error
    except yaml.YAMLError as error:
        raise CliError(f"{path} is no YAML: {error}") from error
    except msgspec.ValidationError as error:
        where, words = in_words(error)
        raise CliError(f"{path}: {f'{where}: ' if where else ''}{words}.", hint=_HINT) from error


def _near(policy: ExceptionPolicy) -> ExceptionPolicy:
    """A policy counts wherever its file says that it lives: cases have no namespaces."""
    namespace = HOME if policy.spec.namespace_selector is not None else _NAMESPACE
    metadata = msgspec.structs.replace(policy.metadata, namespace=namespace)
    return msgspec.structs.replace(policy, metadata=metadata)


def _exception(name: str, plan: str, spec: Mapping[str, Any], state: str | None = None) -> ScheduleException:
    whole = {"planRef": {"name": plan}, "windows": [_ALL_DAY], **spec}
    metadata = {"name": name, "uid": name, "namespace": _NAMESPACE}
    document = {"metadata": metadata, "spec": whole, "status": {"state": state} if state else {}}
    return msgspec.convert(document, ScheduleException, strict=False)


def _plan(plan: Plan) -> HibernatePlan:
    spec = {"schedule": {"timezone": plan.timezone, "offHours": []}, "targets": []}
    found = msgspec.convert({"spec": spec}, HibernatePlan)
    metadata = ObjectMeta(name=plan.name, namespace=_NAMESPACE, labels=plan.labels)
    return msgspec.structs.replace(found, metadata=metadata)
