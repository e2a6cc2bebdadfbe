"""A new ScheduleException from what a person writes: commands and pages file the same object.

    ready = read(Wanted(name="late", plan="dev", type="suspend", until="tomorrow 07:00"))  # or a TimeError
    ready.document("Europe/Berlin", now, requester_notes(user, claims))

Pure. What is wrong with the object itself is for the checks of its kind to find.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.schedule.errors import TimeError
from hibernator.schedule.periods import EVERY_DAY, Period, period
from hibernator.schedule.words import spelt_out

_DAYS: Final = r"[A-Za-z]+(?:\s*-\s*[A-Za-z]+)?"
_WINDOW: Final = re.compile(rf"(\d{{1,2}}:\d{{2}})-(\d{{1,2}}:\d{{2}})\s+({_DAYS}(?:\s*,\s*{_DAYS})*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionInput:
    """What is asked for, as it was written: times in the one language, windows as `21:00-02:00 SAT,SUN`."""

    name: str
    plan: str
    type: str
    from_: str = ""  # empty is now
    for_: str = ""
    until: str = ""
    windows: tuple[str, ...] = ()  # none is all the time
    lead_time: str = ""
    reason: str = ""
    approvers: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    threshold: int | None = None  # None is everyone
    draft: bool = False


@dataclass(frozen=True, slots=True)
class ParsedInput:
    """What is asked for, once it could be read."""

    wanted: ExceptionInput
    period: Period
    windows: list[dict[str, Any]]

    def document(
        self, zone: str, now: Instant, notes: dict[str, str]
    ) -> tuple[dict[str, Any], Instant, Instant]:
        """The object to create, and from when until when it holds on the plan's clock."""
        wanted = self.wanted
        begin, end = self.period(zone, now)
        spec: dict[str, Any] = {
            "planRef": {"name": wanted.plan},
            "type": wanted.type,
            "validFrom": begin.format_iso(unit="second"),
            "validUntil": end.format_iso(unit="second"),
            "windows": self.windows,
            "approverEmails": list(wanted.approvers),
            "approvalRequiredRoles": list(wanted.roles),
            "approvalThreshold": wanted.threshold,
            "leadTime": wanted.lead_time,
            "reason": wanted.reason,
            "draft": wanted.draft,
            "approvalRequired": bool(wanted.approvers or wanted.roles),
        }
        given = {key: value for key, value in spec.items() if value}
        return {"metadata": {"name": wanted.name, "annotations": notes}, "spec": given}, begin, end


def read(wanted: ExceptionInput) -> ParsedInput:
    """Understand the times; TimeError says what cannot be understood."""
    valid = period(wanted.from_ or None, wanted.for_ or None, wanted.until or None)
    return ParsedInput(wanted, valid, [_window(text) for text in wanted.windows] or EVERY_DAY)


def _window(text: str) -> dict[str, Any]:
    found = _WINDOW.fullmatch(text.strip())
    if not found:
        hint = 'Write it as "21:00-02:00 SAT,SUN" or "21:00-02:00 Mon-Fri".'
        raise TimeError(f"--window {text}: this is no window.", hint=hint)
    start, end, days = found.groups()
    each = [day for part in days.split(",") for day in spelt_out(part.strip())]
    return {"start": start, "end": end, "daysOfWeek": each}


@dataclass(frozen=True, slots=True)
class QuickOverride:
    """What someone wants of a plan at once."""

    word: str  # part of the exception's name
    type: str
    phase: str  # of the plan once it is so
    done: str  # in words
    doing: str


WAKE: Final = QuickOverride("wake", "suspend", "Active", "awake", "waking up")
SLEEP: Final = QuickOverride("sleep", "extend", "Hibernated", "asleep", "going to sleep")


def at_once(
    plan: HibernatePlan,
    override: QuickOverride,
    now: Instant,
    until: Instant,
    reason: str,
    notes: dict[str, str],
) -> dict[str, Any]:
    """An exception that holds all day long, from now until then: its validity says when."""
    stamp = now.to_stdlib().strftime("%Y%m%d-%H%M%S")
    return {
        "metadata": {
            "name": f"{plan.metadata.name}-{override.word}-{stamp}",
            "namespace": plan.metadata.namespace,
            "annotations": notes,
        },
        "spec": {
            "planRef": {"name": plan.metadata.name},
            "type": override.type,
            "validFrom": now.format_iso(unit="second"),
            "validUntil": until.format_iso(unit="second"),
            "windows": EVERY_DAY,
            "reason": reason or f"hibernator plan {override.word}",
        },
    }
