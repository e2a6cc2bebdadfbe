"""Policies as their owners write them, and what they make of an exception."""

from typing import Any

import msgspec
from whenever import Instant

from decisions.exception_seen import NOW, PEOPLE, PLAN
from hibernator.api.exceptionpolicy import ExceptionPolicy
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.exceptionpolicy import Case, Demands, demands
from hibernator.decisions.exceptionpolicy_limits import uses

MANAGER: dict[str, Any] = {"require": {"roles": ["manager"]}}


def policy(name: str = "four-eyes", *, namespace: str = "", **spec: Any) -> ExceptionPolicy:
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": namespace}, "spec": spec}, ExceptionPolicy
    )


def plan(labels: dict[str, str] | None = None, **status: Any) -> HibernatePlan:
    document = msgspec.to_builtins(PLAN)
    document["metadata"]["labels"] = labels or {}
    return msgspec.convert(document | {"status": status}, HibernatePlan)


def asked(
    found: ScheduleException,
    *policies: ExceptionPolicy,
    plan: HibernatePlan | None = PLAN,
    others: tuple[ScheduleException, ...] = (),
    now: Instant = NOW,
    **case: Any,
) -> Demands:
    given: dict[str, Any] = {"requester": PEOPLE["alice"], "asked_at": NOW, "uses": uses(found, others, plan)}
    return demands(found, plan, policies, Case(**(given | case)), now)
