"""The columns of `hibernator scaler list`."""

from collections.abc import Callable

from whenever import Instant

from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.cli.output import Column, aged
from hibernator.decisions.conditions import find
from hibernator.schedule.spoken import nearby, relative


def number(value: int | None) -> str:
    return "" if value is None else str(value)


def _ready(scaler: TimeWindowScaler) -> str:
    condition = find(scaler.status.conditions, "Ready")
    return condition.status if condition else ""


def _message(scaler: TimeWindowScaler) -> str:
    condition = find(scaler.status.conditions, "Ready")
    return condition.message if condition else ""


def columns(now: Callable[[], Instant]) -> tuple[Column[TimeWindowScaler], ...]:
    """What is shown of a scaler, by a clock."""

    def following(scaler: TimeWindowScaler) -> str:
        at = scaler.status.next_boundary
        return relative(at, now()) if at else ""

    def when(scaler: TimeWindowScaler) -> str:
        at = scaler.status.next_boundary
        return nearby(at, scaler.spec.timezone, now()) if at else ""

    return (
        Column("Target", lambda one: f"{one.spec.target_ref.kind}/{one.spec.target_ref.name}".lower()),
        Column("Window", lambda one: one.status.current_window),
        Column("Replicas", lambda one: number(one.status.effective_replicas)),
        Column("Next change", following, basis=lambda one: one.status.next_boundary),
        Column("At", when),
        Column("Ready", _ready),
        aged(),
        Column("Message", _message, wide=True),
    )
