"""Reads YAML into plain values and remembers on which line each field stands.

Built on the parser's events and not on PyYAML's own constructor: a stranger's file must not be able to hang
or crash the command (nesting, aliases that multiply), must mean what it means to kubectl, must not repeat a
key unnoticed, and every message should name a line.
"""

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

MAX_DEPTH = 100
MAX_ALIASED = 100_000

Scalar = str | int | float | bool | None

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MARKER = re.compile(r"^(?:%.*\n)*---(?=\s|$)", re.MULTILINE)
_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = {_TAG + name for name in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq")}


class UnreadableError(Exception):
    """What is wrong with the text, and where (both counted from 1)."""

    def __init__(self, message: str, line: int, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document as plain values; `lines` has the line of each field by its path, `spec.windows[0].start`."""

    value: Any
    line: int
    lines: dict[str, int]
    text: str = ""  # as it was written, where it has a part of the file for itself


def read(text: str) -> Iterator[Parsed | UnreadableError]:
    """Every document of a text. One that cannot be read does not hide the others."""
    for part, skipped in _parts(text):
        documents = list(_in_part(part, skipped))
        if len(documents) == 1 and isinstance(documents[0], Parsed):
            documents = [replace(documents[0], text=part)]
        yield from documents


def _in_part(part: str, skipped: int) -> Iterator[Parsed | UnreadableError]:
    try:
        yield from _Reader(skipped).documents(part)
    except UnreadableError as error:
        yield error
    except yaml.YAMLError as error:
        yield _unreadable(error, part, skipped)


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """The text cut at its `---` lines, which YAML allows nowhere but between documents."""
    cuts = [0, *(match.start() for match in _MARKER.finditer(text) if match.start()), len(text)]
    line = 0
    for begin, end in itertools.pairwise(cuts):
        yield text[begin:end], line
        line += text.count("\n", begin, end)


def child(path: str, step: str | int) -> str:
    """The path of a field's field: `spec` and `windows` give `spec.windows`, that and 0 `spec.windows[0]`."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


@dataclass(slots=True)
class _Collection:
    """A mapping or a list that is being read."""

    into: Any
    path: str
    anchor: str | None
    seen_before: int
    key: str | None = None
    merges: bool = False  # the value that comes next belongs to the key `<<`
    key_lines: dict[str, int] = field(default_factory=dict)
    merged: list[Any] = field(default_factory=list)


class _Reader:
    """Turns events into values, without recursion."""

    def __init__(self, skipped: int) -> None:
        self._skipped = skipped  # lines before the part that is read
        self._document_line = 1
        self._lines: dict[str, int] = {}
        self._open: list[_Collection] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._seen = 0  # values so far, with those behind an alias counted each time
        self._aliased = 0
        self._root: Any = None

    def documents(self, text: str) -> Iterator[Parsed]:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.ScalarEvent):
                self._take(self._scalar(event), event)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                self._enter(event)
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                self._leave(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                self._document_line = self._line(event)
                self._lines, self._anchors, self._aliased = {}, {}, 0
            elif isinstance(event, yaml.DocumentEndEvent):
                first = min(self._lines.values(), default=self._document_line)
                yield Parsed(self._root, first, self._lines)

    def _line(self, event: yaml.Event) -> int:
        return _mark(event).line + 1 + self._skipped

    def _fail(self, message: str, event: yaml.Event) -> UnreadableError:
        return UnreadableError(message, self._line(event), _mark(event).column + 1)

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        if event.tag and event.tag.startswith(_TAG) and event.tag not in _KNOWN_TAGS:
            kind = event.tag.removeprefix(_TAG)
            raise self._fail(f"the tag !!{kind} is not understood here; write the value as plain text", event)
        quoted = not event.implicit[0] and event.tag in {None, "!"}
        if quoted or (event.tag and event.tag not in {_TAG + "int", _TAG + "float", _TAG + "bool"}):
            value: Scalar = event.value if event.tag != _TAG + "null" else None
        else:
            value = plain(event.value)
        if isinstance(value, float) and not math.isfinite(value):
            raise self._fail(f"{event.value} is a number that Kubernetes cannot store", event)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        return value

    def _enter(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise self._fail(f"fields are nested more than {MAX_DEPTH} levels deep", event)
        if self._awaits_key():
            raise self._fail("a key must be text, not a list or a mapping", event)
        path = self._next_path()
        self._lines.setdefault(path, self._line(event))
        into: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_Collection(into, path, event.anchor, self._seen))

    def _leave(self, event: yaml.Event) -> None:
        done = self._open.pop()
        for mapping in done.merged:
            done.into = mapping | done.into
        if done.anchor:
            self._anchors[done.anchor] = (done.into, self._seen - done.seen_before + 1)
        self._put(done.into, event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self._anchors:
            raise self._fail(
                f"*{event.anchor} refers to nothing: there is no &{event.anchor} before it", event
            )
        value, size = self._anchors[event.anchor]
        self._aliased += size
        self._seen += size - 1
        if self._aliased > MAX_ALIASED:
            raise self._fail(
                f"its aliases (*{event.anchor}) multiply into more than {MAX_ALIASED:,} values", event
            )
        self._take(value, event)

    def _take(self, value: Any, event: yaml.Event) -> None:
        """A value whose event says it all: a key if one is awaited, otherwise a value in its place."""
        if self._awaits_key():
            self._take_key(value, event)
            return
        self._lines.setdefault(self._next_path(), self._line(event))
        self._put(value, event)

    def _awaits_key(self) -> bool:
        if not self._open or not isinstance(self._open[-1].into, dict):
            return False
        return self._open[-1].key is None and not self._open[-1].merges

    def _take_key(self, value: Any, event: yaml.Event) -> None:
        mapping = self._open[-1]
        if value == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
            mapping.merges = True
            return
        key = _key(value)
        if key is None:
            raise self._fail("a key must be text, and this one is empty", event)
        if key in mapping.key_lines:
            first = mapping.key_lines[key]
            raise self._fail(f'the key "{key}" is twice in the same mapping, first on line {first}', event)
        mapping.key = key
        mapping.key_lines[key] = self._line(event)
        self._lines[child(mapping.path, key)] = self._line(event)

    def _next_path(self) -> str:
        if not self._open:
            return ""
        parent = self._open[-1]
        if parent.merges:
            return child(parent.path, "<<")
        return child(parent.path, len(parent.into) if isinstance(parent.into, list) else parent.key or "")

    def _put(self, value: Any, event: yaml.Event) -> None:
        self._seen += 1
        if not self._open:
            self._root = value
            return
        parent = self._open[-1]
        if isinstance(parent.into, list):
            parent.into.append(value)
            return
        if parent.merges:
            parent.merged += self._mergeable(value, event)
        else:
            parent.into[parent.key] = value
        parent.key, parent.merges = None, False

    def _mergeable(self, value: Any, event: yaml.Event) -> list[Any]:
        mappings = value if isinstance(value, list) else [value]
        if not all(isinstance(mapping, dict) for mapping in mappings):
            raise self._fail("the merge key << needs a mapping, or a list of mappings", event)
        return mappings


def _key(value: Scalar) -> str | None:
    """Keys are text in JSON; kubectl writes numbers and booleans out."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return None
    return value if isinstance(value, str) else f"{value}"


def _mark(event: yaml.Event) -> yaml.Mark:
    mark = event.start_mark
    return yaml.Mark("", 0, mark.line, mark.column, None, 0) if mark else yaml.Mark("", 0, 0, 0, None, 0)


def _unreadable(error: yaml.YAMLError, text: str, skipped: int) -> UnreadableError:
    """The parser's complaint with its place, in words for people where the parser's are for programmers."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        line, column = error.problem_mark.line, error.problem_mark.column
        return UnreadableError(_said(error, text, skipped), line + 1 + skipped, column + 1)
    position = getattr(error, "position", 0)
    character = getattr(error, "character", 0)
    code = ord(character) if isinstance(character, str) else character
    before = text[:position]
    return UnreadableError(
        f"the character U+{code:04X} is not allowed",
        before.count("\n") + 1 + skipped,
        position - before.rfind("\n"),
    )


def _said(error: yaml.MarkedYAMLError, text: str, skipped: int) -> str:
    said = error.problem or error.context or "this is not YAML"
    mark = error.problem_mark
    if "cannot start any token" in said and mark:
        character = text.split("\n")[mark.line][mark.column : mark.column + 1]
        if character == "\t":
            return "a tab indents this line; YAML allows only spaces there"
        return f"a value cannot begin with {character}; put it in quotes"
    if error.context and error.context_mark and mark and error.context_mark.line != mark.line:
        said += f", {error.context} that begins on line {error.context_mark.line + 1 + skipped}"
    return said


_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_WHOLE = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = (16, 8, 2, 10)
_LONGEST = 3 + 64  # a sign, a prefix and 64 binary digits
_SMALLEST, _BIGGEST = -(2**63), 2**64 - 1


def plain(text: str) -> Scalar:
    """The value of a scalar without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    whole = _WHOLE.fullmatch(digits)
    if whole and (integer := _whole_number(whole)) is not None:
        return integer
    if _FLOAT.fullmatch(digits) and math.isfinite(number := float(digits)):
        return _shortest(number)
    return text


def _whole_number(match: re.Match[str]) -> int | None:
    sign, *by_base = match.groups()
    if len(match.group()) > _LONGEST:
        return None
    number = next(int(digits, base) for digits, base in zip(by_base, _BASES, strict=True) if digits)
    number = -number if sign == "-" else number
    return number if _SMALLEST <= number <= _BIGGEST else None


def _shortest(number: float) -> float | int:
    """On its way to the cluster everything becomes JSON, where 2.0 is written as 2."""
    if number.is_integer() and abs(number) <= _BIGGEST:
        return int(number)
    return number


class _Dumper(yaml.SafeDumper):
    """Quotes whatever kubectl would not read as text: PyYAML would leave `y` and `1e3` bare."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - what was repeated is written out
        return True


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = None if plain(value) == value and not value[:1].isdigit() else '"'
    if "\n" in value.strip():
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _list(dumper: _Dumper, values: list[Any]) -> yaml.SequenceNode:
    """Lists of words fit on a line: `daysOfWeek: [MON, TUE]`."""
    short = not any(isinstance(value, dict | list) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


def write(document: dict[str, Any]) -> str:
    """A document in the order of its fields."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100, default_flow_style=False
    )
    return text
