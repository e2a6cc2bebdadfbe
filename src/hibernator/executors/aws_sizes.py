"""A smallest, a greatest and a wanted number of machines: what auto-scaling and node groups have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hibernator.decisions.sleepmark import Mark


@dataclass(frozen=True, slots=True)
class Size:
    min: int
    max: int
    desired: int

    @property
    def asleep(self) -> bool:
        return self.min == 0 and self.desired == 0

    def document(self) -> dict[str, int]:
        return {"min": self.min, "max": self.max, "desired": self.desired}


def saved_size(restore: Mapping[str, Any]) -> Size:
    return Size(int(restore["min"]), int(restore["max"]), int(restore["desired"]))


def marked_size(mark: Mark | None) -> Size | None:
    """What it was by its mark, if that says so."""
    try:
        return saved_size(mark.was) if mark and mark.was else None
    except KeyError:
        return None


def still_asleep(now: Size, before: Size) -> bool:
    """Whether nobody has woken it.

    A rule for scaling may have asked for a machine in the night. Only a person sets the smallest number back.
    """
    return now != before and now.min == 0 and (now.desired == 0 or before.min > 0)
