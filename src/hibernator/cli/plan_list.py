"""The columns of `hibernator plan list`."""

from typing import Final

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.cli.output import Column, moment
from hibernator.decisions.conditions import find


def _message(plan: HibernatePlan) -> str:
    condition = find(plan.status.conditions, "Ready")
    return condition.message if condition else ""


def _exception(plan: HibernatePlan) -> str:
    return ", ".join(one.name for one in plan.status.active_exceptions if one.state == "Active")


def _at(plan: HibernatePlan) -> str:
    following = plan.status.next_transition
    return moment(following.at) if following else ""


def _to(plan: HibernatePlan) -> str:
    following = plan.status.next_transition
    return following.to if following else ""


COLUMNS: Final[tuple[Column[HibernatePlan], ...]] = (
    Column("Phase", lambda one: one.status.phase or ""),
    Column("Next", _to),
    Column("At", _at),
    Column("Targets", lambda one: one.status.progress),
    Column("Exception", _exception),
    Column("Timezone", lambda one: one.spec.schedule.timezone, wide=True),
    Column("Message", _message, wide=True),
)
