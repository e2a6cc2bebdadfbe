"""The characters and colours of timelines in a terminal, for terminals that can and for those that cannot."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from hibernator.pictures.days import Mark
from hibernator.schedule.timeline import Interval, Reason, State


class Cause(StrEnum):
    SCHEDULE = "schedule"
    HOLIDAY = "holiday"
    EXCEPTION = "exception"


_CAUSES = {
    Reason.HOLIDAY_SLEEP: Cause.HOLIDAY,
    Reason.HOLIDAY_AWAKE: Cause.HOLIDAY,
    Reason.HOLIDAY_CLOSED: Cause.HOLIDAY,
    Reason.HOLIDAY_OPEN: Cause.HOLIDAY,
    Reason.EXCEPTION_EXTEND: Cause.EXCEPTION,
    Reason.EXCEPTION_SUSPEND: Cause.EXCEPTION,
    Reason.EXCEPTION_LEAD_TIME: Cause.EXCEPTION,
    Reason.EXCEPTION_REPLACE: Cause.EXCEPTION,
}


class Tone(NamedTuple):
    """A state and why; for a scaler the state is whether anything runs at all."""

    asleep: bool
    cause: Cause


def tone(interval: Interval[Any]) -> Tone:
    return Tone(is_asleep(interval.value), _CAUSES.get(interval.reason, Cause.SCHEDULE))


def is_asleep(value: Any) -> bool:
    return value is State.ASLEEP or value == 0


def words(value: Any) -> str:
    """`asleep`, `awake`, `1 replica`, `3 replicas`."""
    if isinstance(value, int):
        return f"{value} replica{'' if value == 1 else 's'}"
    return str(value).lower()


@dataclass(frozen=True, slots=True)
class Ink:
    """The characters to draw with: all of Unicode's, or only those of ASCII."""

    tones: dict[Tone, str]
    would_sleep: str
    would_wake: str
    levels: str
    marks: dict[Mark, str]
    more: str

    def level(self, replicas: int, most: int) -> str:
        if replicas == 0:
            return self.tones[Tone(asleep=False, cause=Cause.SCHEDULE)]
        return self.levels[min(len(self.levels) - 1, (replicas * len(self.levels) - 1) // max(most, 1))]


UNICODE = Ink(
    tones={
        Tone(asleep=True, cause=Cause.SCHEDULE): "█",
        Tone(asleep=True, cause=Cause.HOLIDAY): "▓",
        Tone(asleep=True, cause=Cause.EXCEPTION): "▒",
        Tone(asleep=False, cause=Cause.SCHEDULE): "·",
        Tone(asleep=False, cause=Cause.HOLIDAY): "∘",
        Tone(asleep=False, cause=Cause.EXCEPTION): "○",
    },
    would_sleep="\N{BOX DRAWINGS LIGHT DIAGONAL UPPER RIGHT TO LOWER LEFT}",
    would_wake="\N{BOX DRAWINGS LIGHT DIAGONAL UPPER LEFT TO LOWER RIGHT}",
    levels="▁▂▃▄▅▆▇█",
    marks={mark: mark.value for mark in Mark},
    more="…",
)
ASCII = Ink(
    tones={
        Tone(asleep=True, cause=Cause.SCHEDULE): "#",
        Tone(asleep=True, cause=Cause.HOLIDAY): "%",
        Tone(asleep=True, cause=Cause.EXCEPTION): "=",
        Tone(asleep=False, cause=Cause.SCHEDULE): ".",
        Tone(asleep=False, cause=Cause.HOLIDAY): ",",
        Tone(asleep=False, cause=Cause.EXCEPTION): "o",
    },
    would_sleep="/",
    would_wake="\\",
    levels="-=#",
    marks={Mark.CLOCK: "", Mark.HOLIDAY: "*", Mark.EXCEPTION: "+", Mark.PROPOSAL: "?"},
    more="~",
)

STYLES = {
    Tone(asleep=True, cause=Cause.SCHEDULE): "blue",
    Tone(asleep=True, cause=Cause.HOLIDAY): "cyan",
    Tone(asleep=True, cause=Cause.EXCEPTION): "magenta",
    Tone(asleep=False, cause=Cause.SCHEDULE): "yellow",
    Tone(asleep=False, cause=Cause.HOLIDAY): "cyan",
    Tone(asleep=False, cause=Cause.EXCEPTION): "magenta",
}
PROPOSED = "bold red"

MEANINGS = {
    Tone(asleep=True, cause=Cause.SCHEDULE): "asleep",
    Tone(asleep=False, cause=Cause.SCHEDULE): "awake",
    Tone(asleep=True, cause=Cause.HOLIDAY): "asleep for a holiday",
    Tone(asleep=False, cause=Cause.HOLIDAY): "awake for a holiday",
    Tone(asleep=True, cause=Cause.EXCEPTION): "asleep by exception",
    Tone(asleep=False, cause=Cause.EXCEPTION): "awake by exception",
}

Look = tuple[str, str, str]  # a character, its style, and what it means

NEWLY_ASLEEP: Look = ("+", "bold green", "asleep in the new version only")
NEWLY_AWAKE: Look = ("-", "bold red", "asleep in the old version only")
MORE: Look = ("+", "bold green", "more replicas in the new version")
FEWER: Look = ("-", "bold red", "fewer replicas in the new version")
