"""The whole why of an answer: every rule that was looked at, the one that won, and what would change it."""

from typing import Generic, NamedTuple, TypeVar

from hibernator.schedule.timeline import Answer
from hibernator.schedule.windows import Window
from hibernator.schedule.zones import Zone, local_text

V = TypeVar("V")


class Rule(NamedTuple):
    """A rule of the schedule, in the order in which they are looked at, and what it had to say."""

    name: str
    matched: bool
    decided: bool
    why: str


class Explanation(NamedTuple, Generic[V]):
    answer: Answer[V]
    rules: tuple[Rule, ...]
    following: Answer[V] | None  # what comes after it; None if nothing changes within the horizon
    otherwise: tuple[str, ...]  # what would have to be different for it to be otherwise


def window_why(window: Window, ticks: int, shown: Zone) -> str:
    """What a window says at an instant: that it covers it, or when it next begins."""
    covering = window.covering(ticks)
    start, end = covering or window.following(ticks)
    span = f"{local_text(shown, start)} until {local_text(shown, end)}"
    return f"covers this time, from {span}" if covering else f"does not cover this time; next from {span}"
