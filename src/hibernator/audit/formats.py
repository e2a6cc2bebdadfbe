"""The trail for programs and spreadsheets: JSON, one JSON object for each line, or CSV."""

import csv
import io
import re
from collections.abc import Iterable
from typing import Final, Protocol

import msgspec

from hibernator.audit.chain import Entry
from hibernator.audit.event import as_text
from hibernator.audit.schema import COLUMNS, to_values
from hibernator.decisions.journal import BEHALF
from hibernator.decisions.person import in_place_of

_encode: Final = msgspec.json.Encoder(enc_hook=as_text).encode

# What moves a cursor or turns letters round: control characters, and those that say which way to read.
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

# A spreadsheet takes a cell that begins like this for a formula, and runs it.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def acting(entry: Entry) -> str:
    """Who did it, as people read it: a deputy with the one in whose place they decided."""
    by = entry.actor.email or entry.actor.id
    if BEHALF.encode() not in bytes(entry.data):
        return by
    try:
        found = msgspec.json.decode(entry.data)
    except msgspec.DecodeError:
        return by
    return in_place_of(by, str(found.get(BEHALF, "")) if isinstance(found, dict) else "")


class Format(Protocol):
    """Text in pieces, so that a trail of any length goes through without being held."""

    def begin(self) -> str: ...

    def page(self, entries: Iterable[Entry]) -> str: ...

    def end(self) -> str: ...


class NdJson:
    """One object for each line, with everything that is needed to check the chain again."""

    def begin(self) -> str:
        return ""

    def page(self, entries: Iterable[Entry]) -> str:
        return "".join(f"{_json(entry)}\n" for entry in entries)

    def end(self) -> str:
        return ""


class Json:
    """One array."""

    def __init__(self) -> None:
        self._first = True

    def begin(self) -> str:
        return "["

    def page(self, entries: Iterable[Entry]) -> str:
        text = ""
        for entry in entries:
            text += ("\n" if self._first else ",\n") + _json(entry)
            self._first = False
        return text

    def end(self) -> str:
        return "]\n" if self._first else "\n]\n"


class Csv:
    """One row for each event, in the columns of the table. Safe to open in a spreadsheet."""

    def begin(self) -> str:
        return _csv_line(COLUMNS)

    def page(self, entries: Iterable[Entry]) -> str:
        return "".join(_csv_line(map(_cell, to_values(entry, as_text))) for entry in entries)

    def end(self) -> str:
        return ""


def _csv_line(cells: Iterable[object]) -> str:
    buffer = io.StringIO()
    # Quoted throughout: the writer alone leaves a lone carriage return bare, which readers cannot parse.
    csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerow(cells)
    return buffer.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    seen = _UNSEEN.sub(_escaped, value)
    return f"'{seen}" if seen.startswith(_FORMULA) else seen


def _json(entry: Entry) -> str:
    """The same event for every reader of JSON, and nothing that a terminal would obey."""
    return _UNSEEN.sub(_escaped, _encode(entry).decode())


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
