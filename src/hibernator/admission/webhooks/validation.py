"""Refuses what cannot mean anything, with field, value and fix, and exceptions that have no place to go.

None of this protects anything by itself: controllers say the same in the status of whatever slipped through.
It is here because people would rather hear it while they still have the file open.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from whenever import Instant

from hibernator.admission.review import AdmissionRequest, Allowed, Denied, Verdict
from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.checks import check_document
from hibernator.api.cloudprovider import PROVIDERS
from hibernator.api.conversion import Document, converted
from hibernator.api.exceptionpolicy import EXCEPTION_POLICIES, ExceptionPolicy
from hibernator.api.hibernatenotification import NOTIFICATIONS, HibernateNotification
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.k8scluster import CLUSTERS, K8SCluster
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.api.structural import show
from hibernator.api.timewindowscaler import SCALERS
from hibernator.approvals.people import People, asker
from hibernator.approvals.policies import Policies
from hibernator.decisions.connectors import Connector, Name, borrowed, connectors_of, provider_of
from hibernator.decisions.exceptionpolicy import Case, Demands, demands, foretold
from hibernator.decisions.exceptionpolicy_limits import uses
from hibernator.decisions.exceptionpolicy_problems import check_policy_spec
from hibernator.decisions.scheduleexception_line import conflict, crowded, is_ready, taken
from hibernator.decisions.scheduleexception_request import requester
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.errors import ApiError, NotFound
from hibernator.schedule.problems import (
    check_exception,
    check_notification,
    check_scaler_beta,
    check_schedule,
    exception_hints,
    scaler_hints,
    schedule_hints,
)

PATH: Final = "/validate"
_TOO_DEEP: Final = "It is nested too deeply to be read: write fewer levels of lists and objects."

Judge = Callable[[AdmissionRequest], Awaitable[Verdict]]
# The exceptions of a plan that are not over, by namespace and name of the plan: from a cache, because those
# that are over are never few.
OpenOnes = Callable[[str, str], Iterable[ScheduleException]]
Others = Iterable[ScheduleException]


@dataclass(frozen=True, slots=True)
class Governance:
    """The policies, and the people whom they are about."""

    policies: Policies
    people: People

    def asked(self, new: ScheduleException, plan: HibernatePlan, others: Others, now: Instant) -> Demands:
        """What the policies will ask for, as the operator will work it out."""
        namespace = new.metadata.namespace
        case = Case(
            requester=asker(new, self.people.directory()),
            asked_at=now,
            uses=uses(new, others, plan),
            namespace_labels=self.policies.labels(namespace),
            home=self.policies.home,
            matched=frozenset(one.name for one in new.status.policies),
        )
        return demands(new, plan, self.policies.of(namespace), case, now)


def validation(
    client: Client, clock: Clock, open_ones: OpenOnes, governance: Governance | None = None
) -> Judge:
    """The judge of everything that people write."""

    async def judge(request: AdmissionRequest) -> Verdict:
        if request.too_deep:
            return Denied(_TOO_DEEP, code=422, reason="Invalid")
        document = request.new(dict[str, Any])
        old = None if request.operation == "CREATE" else request.old(dict[str, Any])
        if _is_old_news(document, old):
            return Allowed()
        if problems := list(mistakes(document)):
            return _invalid(problems)
        if request.resource.resource == EXCEPTIONS.plural:
            exception = request.new(ScheduleException)
            user = request.user_info.username
            verdict = await _place(client, open_ones, clock.now(), exception, old, user, governance)
            if isinstance(verdict, Denied):
                return verdict
            return Allowed(warnings=[*verdict.warnings, *await _hints(client, exception)])
        if request.resource.resource == PLANS.plural:
            plan = request.new(HibernatePlan)
            if refused := await _borrowed(client, plan):
                return _invalid(refused)
            return Allowed(warnings=list(schedule_hints(plan.spec.schedule)))
        if request.resource.resource == SCALERS.plural:
            whole = converted(document, v1beta1.SCALERS.api_version)
            scaler = msgspec.convert(whole, v1beta1.TimeWindowScaler).spec
            return Allowed(warnings=list(scaler_hints(scaler.timezone, scaler.holidays)))
        return Allowed()

    return judge


def mistakes(document: Document) -> Iterator[Problem]:
    """Shape and time together; where both complain about the same place, time knows better."""
    if document.get("kind") == SCALERS.kind:
        document = converted(document, v1beta1.SCALERS.api_version)  # as it was meant, whole
    about_time = list(_about_time(document))
    reported = {problem.path for problem in about_time}
    yield from (problem for problem in check_document(dict(document)) if problem.path not in reported)
    yield from about_time


def _about_time(document: Document) -> Iterator[Problem]:
    match document.get("kind"):
        case PLANS.kind:
            yield from check_schedule(msgspec.convert(document, HibernatePlan).spec.schedule)
        case EXCEPTIONS.kind:
            yield from check_exception(msgspec.convert(document, ScheduleException).spec)
        case EXCEPTION_POLICIES.kind:
            yield from check_policy_spec(msgspec.convert(document, ExceptionPolicy).spec)
        case NOTIFICATIONS.kind:
            yield from check_notification(msgspec.convert(document, HibernateNotification).spec)
        case SCALERS.kind:
            yield from check_scaler_beta(msgspec.convert(document, v1beta1.TimeWindowScaler).spec)


def _is_old_news(document: Document, old: Document | None) -> bool:
    """Whether nothing is asked for: only new wishes are looked at, so that old ones can be taken apart."""
    if document["metadata"].get("deletionTimestamp"):
        return True
    return old is not None and old.get("spec") == document.get("spec")


async def _place(
    client: Client,
    open_ones: OpenOnes,
    now: Instant,
    new: ScheduleException,
    old: Document | None,
    user: str,
    governance: Governance | None,
) -> Verdict:
    """An exception needs a plan, a place beside the others, and a time that none of them has taken."""
    name, namespace = new.spec.plan_ref.name, new.metadata.namespace
    try:
        plan = await client.get(PLANS, name, namespace)
    except NotFound:
        there_is_none = f"there is no such HibernatePlan in the namespace {namespace}"
        fix = "Create it, or correct the name."
        missing = _invalid([Problem("spec.planRef.name", name, there_is_none, fix)])
        return missing if old is None else Allowed()
    if new.spec.cancelled:
        return Allowed()
    others = [one for one in open_ones(namespace, name) if one.metadata.uid != new.metadata.uid]
    if old is None:
        mine = sum(requester(one) == user for one in others)
        if too_many := crowded(name, len(others), mine, user):
            return Denied(too_many)
    if new.spec.draft:
        return Allowed()
    asking = new if old else _last(new)
    asked = governance.asked(asking, plan, others, now) if governance else Demands()
    if asked.problems:
        return Denied(" ".join(asked.problems))
    verdict = _turn(new, others, plan, now)
    return Allowed(warnings=list(foretold(asked))) if isinstance(verdict, Allowed) else verdict


def _last(new: ScheduleException) -> ScheduleException:
    """What is being created comes behind all that there is, whatever its name. It has a uid here already."""
    nameless = msgspec.structs.replace(new.metadata, uid="")
    return msgspec.structs.replace(new, metadata=nameless)


def _turn(
    new: ScheduleException, others: Iterable[ScheduleException], plan: HibernatePlan, now: Instant
) -> Verdict:
    for other in others:
        is_active = other.status.state == "Active" and is_ready(other, now)
        if is_active and (first := conflict(new.spec, other.spec, plan)):
            cancel = f"hibernator exception cancel {other.metadata.name} -n {other.metadata.namespace}"
            why = f"Both have {first.format_iso()} in a window. Choose other times, or run `{cancel}`."
            return Denied(f"{taken(plan.metadata.name, other)}. {why}", code=409, reason="Conflict")
    return Allowed()


async def _borrowed(client: Client, plan: HibernatePlan) -> list[Problem]:
    """Connectors of other namespaces that it may not use. Those of its own need no look-up here."""
    elsewhere = {name for name in connectors_of(plan) if name[1] != plan.metadata.namespace}
    found = {name: await _connector(client, name) for name in elsewhere}
    below = {provider_of(one) for one in found.values() if isinstance(one, K8SCluster)} - {None}
    found |= {name: await _connector(client, name) for name in below if name}
    return list(borrowed(plan, found.get))


async def _connector(client: Client, name: Name) -> Connector | None:
    kind, namespace, called = name
    try:
        if kind == PROVIDERS.kind:
            return await client.get(PROVIDERS, called, namespace)
        return await client.get(CLUSTERS, called, namespace)
    except NotFound:
        return None


async def _hints(client: Client, exception: ScheduleException) -> list[str]:
    """What of an exception will have no effect, in the zone of its plan."""
    zone = None
    with suppress(ApiError):
        schedule = (await client.get(PLANS, exception.spec.plan_ref.name, exception.metadata.namespace)).spec
        zone = None if any(check_schedule(schedule.schedule)) else schedule.schedule.timezone
    return list(exception_hints(exception.spec, zone))


def _invalid(problems: Iterable[Problem]) -> Denied:
    text = " ".join(f"{p.path} is {show(p.value)}: {p.message}. {p.fix}" for p in problems)
    return Denied(text, code=422, reason="Invalid")
