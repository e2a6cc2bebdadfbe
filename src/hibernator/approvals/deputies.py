"""Who decides for whom while they are away: a list under a key of its own beside the roles.

It is where the roles are because it has the same power: who may write one of them decides who approves.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

import yaml
from whenever import Instant

from hibernator.decisions.person import mailbox

DEPUTIES: Final = "_deputies"  # the key; no role goes by it
MOST_DEPUTIES: Final = 500
_FIELDS: Final = frozenset({"away", "deputy", "from", "until"})
_YEARS: Final = range(2000, 2200)
_EXAMPLE: Final = "{away: carol@company.com, deputy: dave@company.com, from: 2026-12-21, until: 2027-01-03}"


class DeputiesError(ValueError):
    """The list has a mistake; the message names it and the fix."""


@dataclass(frozen=True, slots=True)
class Deputy:
    away: str  # an address or a user name
    deputy: str
    since: Instant
    until: Instant


def read_deputies(text: str) -> tuple[Deputy, ...]:
    """Read the list; one mistake refuses all of it, so that no one is a deputy by half."""
    try:
        found = yaml.safe_load(text) if text.strip() else []
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a day that there is not is a ValueError
        problem = str(error).splitlines()[0]
        raise DeputiesError(
            f"{DEPUTIES} is no YAML: {problem}. Write a list such as [{_EXAMPLE}]."
        ) from error
    if not isinstance(found, list) or len(found) > MOST_DEPUTIES:
        raise DeputiesError(f"{DEPUTIES} must be a list of at most {MOST_DEPUTIES} entries like {_EXAMPLE}.")
    return tuple(_deputy(index, entry) for index, entry in enumerate(found))


def _deputy(index: int, entry: object) -> Deputy:
    where = f"{DEPUTIES}[{index}]"
    if not isinstance(entry, dict) or entry.keys() != _FIELDS:
        raise DeputiesError(f"{where} must have away, deputy, from and until, for example {_EXAMPLE}.")
    away, deputy = _name(f"{where}.away", entry["away"]), _name(f"{where}.deputy", entry["deputy"])
    since, until = _moment(f"{where}.from", entry["from"]), _moment(f"{where}.until", entry["until"], days=1)
    if away == deputy:
        raise DeputiesError(f"{where}.deputy is {deputy}, who is away: name another person.")
    if since >= until:
        raise DeputiesError(f"{where}.until must be after from.")
    return Deputy(away, deputy, since, until)


def _name(where: str, value: object) -> str:
    if not isinstance(value, str) or not value or value != value.strip():
        raise DeputiesError(f"{where} must be an address or a user name.")
    return mailbox(value) if "@" in value else value


def _moment(where: str, value: object, days: int = 0) -> Instant:
    """A moment with its offset, or a day in UTC; the last day is part of the time."""
    if isinstance(value, date) and value.year not in _YEARS:
        raise DeputiesError(f"{where} must be a day from {_YEARS[0]} to {_YEARS[-1]}.")
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise DeputiesError(f"{where} needs an offset, for example 2026-12-21T08:00:00+01:00.")
        return Instant(value)
    if isinstance(value, date):
        day = value + timedelta(days=days)
        return Instant.from_utc(day.year, day.month, day.day)
    raise DeputiesError(f"{where} must be a day such as 2026-12-21, or 2026-12-21T08:00:00+01:00.")
