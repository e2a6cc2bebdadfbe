"""The columns of `hibernator plan list`."""

from collections.abc import Callable
from datetime import datetime

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.cli.output import Column, aged
from hibernator.cli.spoken import nearby, relative
from hibernator.decisions.conditions import find


def _message(plan: HibernatePlan) -> str:
    condition = find(plan.status.conditions, "Ready")
    return condition.message if condition else ""


def _exception(plan: HibernatePlan) -> str:
    return ", ".join(one.name for one in plan.status.active_exceptions if one.state == "Active")


def _next(plan: HibernatePlan) -> tuple[str, datetime] | None:
    """What becomes of the plan next, and when. While it is suspended, it follows no schedule."""
    if plan.status.phase == "Suspended":
        until = plan.spec.suspend_until
        return ("Resumed", until) if until else None
    found = plan.status.next_transition
    return (found.to, found.at) if found else None


def columns(now: Callable[[], Instant]) -> tuple[Column[HibernatePlan], ...]:
    """What is shown of a plan, by a clock."""

    def following(plan: HibernatePlan) -> str:
        found = _next(plan)
        return f"{found[0]} {relative(found[1], now())}" if found else ""

    def at(plan: HibernatePlan) -> str:
        found = _next(plan)
        return nearby(found[1], plan.spec.schedule.timezone, now()) if found else ""

    return (
        Column("Phase", lambda one: one.status.phase or ""),
        Column("Next", following, basis=_next),
        Column("At", at),
        Column("Targets", lambda one: one.status.progress),
        Column("Exception", _exception),
        aged(now),
        Column("Message", _message, wide=True),
    )
