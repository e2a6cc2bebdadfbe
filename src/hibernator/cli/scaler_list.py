"""The columns of `hibernator scaler list`."""

from typing import Final

from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.cli.output import Column, moment
from hibernator.decisions.conditions import find


def number(value: int | None) -> str:
    return "" if value is None else str(value)


def _ready(scaler: TimeWindowScaler) -> str:
    condition = find(scaler.status.conditions, "Ready")
    return condition.status if condition else ""


def _message(scaler: TimeWindowScaler) -> str:
    condition = find(scaler.status.conditions, "Ready")
    return condition.message if condition else ""


COLUMNS: Final[tuple[Column[TimeWindowScaler], ...]] = (
    Column("Target", lambda one: f"{one.spec.target_ref.kind}/{one.spec.target_ref.name}".lower()),
    Column("Window", lambda one: one.status.current_window),
    Column("Replicas", lambda one: number(one.status.effective_replicas)),
    Column("Next change", lambda one: moment(one.status.next_boundary)),
    Column("Ready", _ready),
    Column("Timezone", lambda one: one.spec.timezone, wide=True),
    Column("Message", _message, wide=True),
)
