"""Makes a typed value out of a broken document by putting something harmless where it is broken.

All mistakes are told at once: a window without an end must not keep us from noticing an unknown zone. So what
cannot be decoded is patched over, the rest is looked at, and nothing is said about the patches.
"""

import copy
import re
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

_MOST_PATCHES = 500
_PLACE = re.compile(r"(?: - at `\$(.*)`)$")
_MISSING = re.compile(r"missing required field `([^`]+)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")

# What is written where a field is missing or has the wrong type. Anything else that is wrong is removed.
_HARMLESS: dict[str, Any] = {
    "timezone": "UTC",
    "offHours": [],
    "windows": [],
    "start": "00:00",
    "end": "12:00",
    "daysOfWeek": ["MON"],
    "days": ["Mon"],
    "replicas": 0,
    "planRef": {"name": "any"},
    "targetRef": {"kind": "Deployment", "name": "any"},
    "kind": "Deployment",
    "name": "any",
    "type": "extend",
    "validFrom": "2000-01-01T00:00:00Z",
    "validUntil": "2000-01-02T00:00:00Z",
}
_HARMLESS_ENTRY: dict[str, Any] = {
    "daysOfWeek": "MON",
    "days": "Mon",
    "offHours": {"start": "00:00", "end": "12:00", "daysOfWeek": ["MON"]},
    "windows": {
        "start": "00:00",
        "end": "12:00",
        "daysOfWeek": ["MON"],
        "days": ["Mon"],
        "replicas": 0,
    },
}


class Repaired(NamedTuple):
    value: Any
    patches: tuple[str, ...]  # paths, as in `offHours[0].start`

    def concerns(self, path: str) -> bool:
        """Whether what is said about this place would be about a patch."""
        return any(patch == path or patch.startswith((f"{path}.", f"{path}[")) for patch in self.patches)


def repaired(part: Any, wanted: type[Any]) -> Repaired | None:
    """The part of a document as its type, or None where there is too little to make anything of it."""
    if not isinstance(part, dict):
        return None
    part = copy.deepcopy(part)
    patches: list[str] = []
    while len(patches) < _MOST_PATCHES:
        try:
            return Repaired(msgspec.convert(part, wanted), tuple(patches))
        except msgspec.ValidationError as error:
            steps = _steps(str(error))
            if not steps or not _patch(part, steps):
                return None
            patches.append(_path(steps))
    return None


def _steps(message: str) -> list[str | int]:
    place = _PLACE.search(message)
    missing = _MISSING.search(message)
    steps: list[str | int] = [
        name or int(index) for name, index in _STEP.findall(place.group(1) if place else "")
    ]
    return [*steps, missing.group(1)] if missing else steps


def _patch(part: Any, steps: list[str | int]) -> bool:
    *way, last = steps
    inside = part
    for step in way:
        inside = inside[step]
    if isinstance(last, int):
        owner = next((step for step in reversed(way) if isinstance(step, str)), "")
        inside[last] = copy.deepcopy(_HARMLESS_ENTRY.get(owner))
        return owner in _HARMLESS_ENTRY
    if last in _HARMLESS and inside.get(last) != _HARMLESS[last]:
        inside[last] = copy.deepcopy(_HARMLESS[last])
        return True
    return inside.pop(last, None) is not None


def _path(steps: list[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
