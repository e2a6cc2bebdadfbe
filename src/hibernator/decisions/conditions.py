"""Conditions as one pure fold: what is true now, laid over what was said before.

Every kind words its conditions through here, so that a transition time moves only on a real change and so
that the conditions of other writers are never touched.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, Literal, TypeVar

from whenever import Instant

from hibernator.api.meta import Condition

LONGEST_MESSAGE: Final = 4096  # characters


@dataclass(frozen=True, slots=True)
class ConditionState:
    """What one of our conditions shall say."""

    type: str
    holds: bool
    reason: str
    message: str = ""


def lay_over(
    before: Sequence[Condition], verdicts: Iterable[ConditionState], *, now: Instant, generation: int
) -> tuple[Condition, ...]:
    """Return the conditions after this pass, in a stable order: ours where they stood, new ones last."""
    ours = {verdict.type: verdict for verdict in verdicts}
    known = {condition.type: condition for condition in before}
    order = [*known, *(type_ for type_ in ours if type_ not in known)]
    return tuple(
        _condition(known.get(type_), ours[type_], now, generation) if type_ in ours else known[type_]
        for type_ in order
    )


def find(conditions: Sequence[Condition], type_: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == type_), None)


def whole_second(moment: Instant) -> datetime:
    """An instant as the API writes it: in whole seconds, never rounded into the future."""
    return moment.round("second", mode="floor").to_stdlib()


def seconds_until(moment: Instant, now: Instant) -> float:
    """How long it is until then; nothing where that is past."""
    return max(0.0, (moment - now).total("seconds"))


def shortened(message: str) -> str:
    """As much as the API server takes, and more than anyone reads."""
    return message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"


def _condition(old: Condition | None, verdict: ConditionState, now: Instant, generation: int) -> Condition:
    status = "True" if verdict.holds else "False"
    since = old.last_transition_time if old and old.status == status else whole_second(now)
    return Condition(
        type=verdict.type,
        status=status,
        reason=verdict.reason,
        message=shortened(verdict.message),
        last_transition_time=since,
        observed_generation=generation,
    )


R = TypeVar("R", bound=str)


@dataclass(frozen=True, slots=True)
class Notice(Generic[R]):
    type: Literal["Normal", "Warning"]
    reason: R
    message: str
