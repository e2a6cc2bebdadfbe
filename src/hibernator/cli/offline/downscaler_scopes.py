"""kube-downscaler's annotations on one object, read; whatever has no equivalent is refused here."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from hibernator.api.structural import guess
from hibernator.cli.offline.drafts import Draft
from hibernator.schedule.downscaler import Hours, Rules, read_hours
from hibernator.schedule.errors import ScheduleError

PREFIX: Final = "downscaler/"
TIMES: Final = ("uptime", "downtime", "upscale-period", "downscale-period")
FORCES: Final = ("force-uptime", "force-downtime")

_REPLICAS: Final = ("downtime-replicas", "downscale-replicas")
_UNTIL: Final = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(Z|[+-]\d\d:\d\d))?)?", re.ASCII)
_WORDS: Final = {"true": True, "false": False}
_WITHOUT_EQUIVALENT: Final = {
    "original-replicas": (
        "it is asleep at this moment, so that it is not known here what it shall wake to",
        "Let kube-downscaler wake it, and convert what is written then.",
    ),
    "grace-period": (
        "a plan has one for all of its workloads",
        "Remove it, and set spec.behavior.graceForNew of the plan that comes out.",
    ),
    "scale-children": (
        "what belongs to a workload is left to the workload",
        "Remove it, and give the children hours of their own if they need some.",
    ),
    "upscale-excluded": ("what is excluded is not touched", "Remove it."),
    "timezone": (
        "kube-downscaler reads the zone from the hours",
        f"Write it behind them, for example {PREFIX}uptime: Mon-Fri 07:30-20:30 Europe/Berlin.",
    ),
}
_KNOWN: Final = (*TIMES, *FORCES, *_REPLICAS, "exclude", "exclude-until", *_WITHOUT_EQUIVALENT)


@dataclass(frozen=True, slots=True)
class Scope:
    """What one object says about its sleep."""

    hours: dict[str, Hours] = field(default_factory=dict)  # by the names of the annotations
    replicas: int | None = None
    exclude: bool | None = None
    until: str = ""

    @property
    def times(self) -> dict[str, Hours]:
        return {name: self.hours[name] for name in TIMES if name in self.hours}

    @property
    def forces(self) -> dict[str, Hours]:
        return {name: self.hours[name] for name in FORCES if name in self.hours}


def rules(hours: dict[str, Hours]) -> Rules:
    return Rules(**{name.replace("-", "_"): each for name, each in hours.items()})


def place(name: str) -> str:
    return f"metadata.annotations.{PREFIX}{name}"


def annotations(draft: Draft) -> dict[str, Any]:
    """kube-downscaler's annotations of the object, without their prefix."""
    found = draft.document.part("metadata", "annotations")
    return {
        key.removeprefix(PREFIX): value
        for key, value in (found if isinstance(found, dict) else {}).items()
        if key.startswith(PREFIX)
    }


def forget(draft: Draft) -> None:
    """Take the annotations off."""
    metadata = draft.value["metadata"]
    rest = {key: text for key, text in metadata["annotations"].items() if not key.startswith(PREFIX)}
    if rest:
        metadata["annotations"] = rest
    else:
        del metadata["annotations"]


def read(draft: Draft) -> Scope:
    hours: dict[str, Hours] = {}
    replicas: int | None = None
    exclude: bool | None = None
    until = ""
    for name, value in annotations(draft).items():
        if not isinstance(value, str):
            draft.refuse(place(name), value, "it must be text", "Put it in quotes.")
        elif name in TIMES or name in FORCES:
            try:
                hours[name] = read_hours(value)
            except ScheduleError as error:
                draft.refuse(place(name), value, error.message, error.fix)
        elif name in _REPLICAS:
            replicas = _replicas(draft, name, value)
        elif name == "exclude":
            exclude = _exclude(draft, value)
        elif name == "exclude-until":
            until = _until(draft, value)
        else:
            draft.refuse(place(name), value, *_WITHOUT_EQUIVALENT.get(name, _unknown(name)))
    return Scope(hours, replicas, exclude, until)


def _unknown(name: str) -> tuple[str, str]:
    meant = guess(name, _KNOWN)
    fix = f"Did you mean {PREFIX}{meant}?" if meant else "Remove it if nothing depends on it."
    return "it is not an annotation that we know of", fix


def _replicas(draft: Draft, name: str, value: str) -> int | None:
    if value.isdecimal():
        return int(value)
    draft.refuse(place(name), value, "this is not a number of replicas", "Write a number, for example 1.")
    return None


def _exclude(draft: Draft, value: str) -> bool | None:
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    draft.refuse(
        place("exclude"),
        value,
        "one program excludes it for good by this, the other one at these times only",
        'Write "true" to exclude it, or the times as downscaler/force-uptime.',
    )
    return None


def _until(draft: Draft, value: str) -> str:
    """The moment in full; without a zone it is Greenwich's."""
    found = _UNTIL.fullmatch(value)
    if found is None:
        draft.refuse(
            place("exclude-until"), value, "this is not a moment", "Write it like 2026-12-24T18:00:00Z."
        )
        return ""
    if found[3]:
        return value
    day, _, clock = value.replace(" ", "T").partition("T")
    return f"{day}T{clock or '00:00'}:00Z"
