"""The columns of `hibernator plan list`."""

from collections.abc import Callable

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


def columns(now: Callable[[], Instant]) -> tuple[Column[HibernatePlan], ...]:
    """What is shown of a plan, by a clock."""

    def following(plan: HibernatePlan) -> str:
        found = plan.status.next_transition
        return f"{found.to} {relative(found.at, now())}" if found else ""

    def at(plan: HibernatePlan) -> str:
        found = plan.status.next_transition
        return nearby(found.at, plan.spec.schedule.timezone, now()) if found else ""

    return (
        Column("Phase", lambda one: one.status.phase or ""),
        Column("Next", following, basis=lambda one: one.status.next_transition),
        Column("At", at),
        Column("Targets", lambda one: one.status.progress),
        Column("Exception", _exception),
        aged(now),
        Column("Message", _message, wide=True),
    )
