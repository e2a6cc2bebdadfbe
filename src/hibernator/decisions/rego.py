"""What an approval policy may say, and what a namespace may: one shape, checked, no matter who wrote it.

A policy can only ask for more: it makes people agree where the confidence alone would not. What cannot be
understood is never taken for a no: a broken policy counts as one that wants approval.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec

from hibernator.api.people import EMAIL, ApproverLevel
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.ticks import DAY, SECOND
from hibernator.schedule.words import read_duration

QUERY: Final = "data.remediation.approval"
SUFFIX: Final = ".rego"
ESCALATE_AFTER: Final = 0.5  # of the time that people have

_LONGEST: Final = 366 * DAY
_MOST: Final = 20  # people or roles of a level, as the CRD has it
_WORD: Final = re.compile(r"[^\s,\[\]\"']+")
_KEYS: Final = ("approvalTimeout", "approversL1", "approversL2", "escalateAfter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Who shall be asked and for how long, as far as someone said so."""

    seconds: float | None = None
    approvers: tuple[ApproverLevel, ...] = ()
    escalate_after: float | None = None


NO_WISHES: Final = Wishes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a policy says about one analysis."""

    required: bool
    reason: str = ""
    wishes: Wishes = NO_WISHES


@dataclass(frozen=True, slots=True)
class Broken:
    """Why the policy has no answer."""

    why: str


class _Levels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    L1: tuple[str, ...] = ()
    L2: tuple[str, ...] = ()


class _Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    require_approval: bool
    reason: Annotated[str, msgspec.Meta(max_length=1024)] = ""
    timeout: str | None = None
    approvers: _Levels = _Levels()
    escalate_after: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None


def read_answer(said: Any) -> Answer | Broken:
    """Check what the policy's rule `approval` came to."""
    try:
        found = msgspec.convert(said, _Said)
        wishes = Wishes(
            seconds=read_timeout(found.timeout) if found.timeout is not None else None,
            approvers=_levels(found.approvers.L1, found.approvers.L2),
            escalate_after=found.escalate_after,
        )
    except msgspec.ValidationError as error:
        return Broken(f"{QUERY} is not what it should be: {error}.")
    except ValueError as error:
        return Broken(f"{QUERY} is not what it should be: {error}")
    return Answer(required=found.require_approval, reason=found.reason, wishes=wishes)


def read_namespace(data: Mapping[str, str]) -> tuple[Wishes, tuple[str, ...]]:
    """What a namespace's ConfigMap says, and in sentences what in it cannot be used."""
    problems = [f"{key} is none of {', '.join(_KEYS)}." for key in data if key not in _KEYS]

    def tried(key: str, read: Any) -> Any:
        try:
            return read(data[key]) if key in data else None
        except ValueError as error:
            problems.append(f"{key}: {error}")
            return None

    wishes = Wishes(
        seconds=tried("approvalTimeout", read_timeout),
        approvers=(*(tried("approversL1", _level_one) or ()), *(tried("approversL2", _level_two) or ())),
        escalate_after=tried("escalateAfter", _fraction),
    )
    return wishes, tuple(problems)


def read_timeout(text: str) -> float:
    """The seconds that people have; raises ValueError for what is no sensible time."""
    try:
        ticks = read_duration(text)
    except ScheduleError as error:
        raise ValueError(f"{error}. Write a duration such as 15m.") from error
    if not 0 < ticks <= _LONGEST:
        raise ValueError(f"{text!r} is no time to decide in. Write a duration such as 15m, up to a year.")
    return ticks / SECOND


def _fraction(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise ValueError(f"{text!r} is no part of the time. Write a number such as 0.5.")
    return number


def _level_one(text: str) -> tuple[ApproverLevel, ...]:
    return _levels(_words(text), ())


def _level_two(text: str) -> tuple[ApproverLevel, ...]:
    return _levels((), _words(text))


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word != "-"]


def _levels(one: Iterable[str], two: Iterable[str]) -> tuple[ApproverLevel, ...]:
    return (*_level("L1", one), *_level("L2", two))


def _level(level: Literal["L1", "L2"], names: Iterable[str]) -> tuple[ApproverLevel, ...]:
    """Addresses are people, everything else is a role."""
    found = tuple(dict.fromkeys(names))
    emails = tuple(name for name in found if "@" in name)
    roles = tuple(name for name in found if "@" not in name)
    for name in emails:
        if not re.fullmatch(EMAIL, name) or len(name) > 254:  # noqa: PLR2004  the longest address, as in the CRD
            raise ValueError(f"{name!r} is no e-mail address.")
    for name in roles:
        if not re.fullmatch(r"\S{1,128}", name):
            raise ValueError(f"{name!r} is no role: it is one word of at most 128 characters.")
    if max(len(emails), len(roles)) > _MOST:
        raise ValueError(f"{level} names more than {_MOST} people or roles. Make a role of them.")
    return (ApproverLevel(level=level, emails=emails, roles=roles),) if found else ()
