"""The documents behind `-f`, each with the place it came from, and what could not be read.

Nothing here raises for the content of a file: a mistake is a value, so that all of them are reported at once.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from hibernator.api.exceptionpolicy import EXCEPTION_POLICIES
from hibernator.api.hibernatenotification import NOTIFICATIONS
from hibernator.api.hibernateplan import PLANS
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.api.timewindowscaler import SCALERS
from hibernator.cli.offline.loading import json_documents, yaml_documents
from hibernator.cli.offline.loading.sources import NoText, Text, read_texts
from hibernator.cli.offline.loading.yaml_documents import Parsed, UnreadableError

OLD_GROUP = "hibernator.ardikasaputro.io"
GROUPS = {
    PLANS.kind: (PLANS.group, OLD_GROUP),
    EXCEPTIONS.kind: (EXCEPTIONS.group, OLD_GROUP),
    EXCEPTION_POLICIES.kind: (EXCEPTION_POLICIES.group,),
    NOTIFICATIONS.kind: (NOTIFICATIONS.group,),
    SCALERS.kind: (SCALERS.group,),
    "ConfigMap": ("",),
}

T = TypeVar("T")

_LAST_STEP = re.compile(r"(\.[^.\[]*|\[[^\]]*\]?|^[^.\[]+)$")


@dataclass(frozen=True, slots=True)
class Position:
    """Where something stands: a file, and what is known beyond that."""

    file: str
    document: int = 0
    item: int = 0  # in a document of kind List
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        known = [
            f"{word} {number}"
            for word, number in (
                ("document", self.document),
                ("item", self.item),
                ("line", self.line),
                ("column", self.column),
            )
            if number
        ]
        return f"{self.file} ({', '.join(known)})" if known else self.file


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong at a place. Without a path it is about the whole document or file."""

    place: Position
    problem: Problem


@dataclass(frozen=True, slots=True)
class Document:
    """A Kubernetes object as it was written."""

    value: dict[str, Any]
    place: Position
    lines: dict[str, int]
    prefix: str = ""  # where in the YAML document the object begins: `items[3]` in a List
    text: str = ""  # as it was written, where it can be cut out of its file

    @property
    def kind(self) -> str:
        return _text(self.value.get("kind"))

    @property
    def group(self) -> str:
        group, slash, _ = _text(self.value.get("apiVersion")).rpartition("/")
        return group if slash else ""

    @property
    def name(self) -> str:
        return _text(self._metadata.get("name"))

    @property
    def namespace(self) -> str:
        return _text(self._metadata.get("namespace")) or "default"

    @property
    def _metadata(self) -> dict[str, Any]:
        metadata = self.value.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What is there only once in a cluster."""
        return self.group, self.kind, self.namespace, self.name

    @property
    def title(self) -> str:
        """How people call it: `HibernatePlan default/dev`."""
        return f"{self.kind} {self.namespace}/{self.name}"

    def is_a(self, kind: str) -> bool:
        """Whether it is one of ours, in today's group or in the one before; namesakes in others are not."""
        return self.kind == kind and self.group in GROUPS.get(kind, ())

    def part(self, *steps: str) -> Any:
        """What stands under `spec`, `schedule`, …, or None where there is nothing."""
        inside: Any = self.value
        for step in steps:
            inside = inside.get(step) if isinstance(inside, dict) else None
        return inside

    def typed(self, wanted: type[T], *steps: str) -> T:
        """The same as one of our types; for what was found free of mistakes."""
        return msgspec.convert(without_nulls(self.part(*steps)), wanted)

    def place_of(self, path: str) -> Position:
        """The place of a field, or of the nearest thing around it that is there."""
        whole = yaml_documents.child(self.prefix, path) if self.prefix and path else self.prefix + path
        while whole and whole not in self.lines:
            shorter = _LAST_STEP.sub("", whole)
            whole = shorter if shorter != whole else ""
        return replace(self.place, line=self.lines.get(whole, self.place.line))

    def mistake(self, problem: Problem) -> Mistake:
        return Mistake(self.place_of(problem.path), problem)


@dataclass(frozen=True, slots=True)
class Loaded:
    documents: tuple[Document, ...]
    mistakes: tuple[Mistake, ...]


def load(names: Sequence[str]) -> Loaded:
    """Every document in the named files, directories and standard input."""
    documents: list[Document] = []
    mistakes: list[Mistake] = []
    for text in read_texts(names):
        for each in _in_text(text) if isinstance(text, Text) else [_file_mistake(text)]:
            if isinstance(each, Document):
                documents.append(each)
            else:
                mistakes.append(each)
    if not documents and not mistakes:
        where = ", ".join("stdin" if name == "-" else name for name in names)
        mistakes.append(_file_mistake(NoText(where, "there is nothing in it", "Write a document into it.")))
    return Loaded(tuple(documents), tuple(mistakes))


def _file_mistake(text: NoText) -> Mistake:
    return Mistake(Position(text.name), Problem("", None, text.message, text.fix))


def _in_text(text: Text) -> Iterator[Document | Mistake]:
    number = 0
    for parsed in _parse(text.text):
        if isinstance(parsed, Parsed) and parsed.value is None:
            continue  # `---` with nothing after it
        number += 1
        if isinstance(parsed, UnreadableError):
            yield _unreadable(parsed, text, number)
        else:
            yield from _expand(parsed, Position(text.name, number, line=parsed.line))


def _parse(text: str) -> Iterator[Parsed | UnreadableError]:
    if json_documents.looks_like_json(text):
        try:
            yield from json_documents.read(text)
        except UnreadableError:
            pass  # a flow mapping in YAML begins with a brace as well
        else:
            return
    yield from yaml_documents.read(text)


def _unreadable(error: UnreadableError, text: Text, number: int) -> Mistake:
    fix = "Check the indentation, the colons and the quotes around this place."
    lines = text.text.splitlines()
    if error.line <= len(lines) and "{{" in lines[error.line - 1]:
        fix = "A template has to be rendered first, for example with `helm template`."
    return Mistake(
        Position(text.name, number, line=error.line, column=error.column),
        Problem("", None, f"this is not valid YAML: {error}", fix),
    )


def _expand(parsed: Parsed, place: Position) -> Iterator[Document | Mistake]:
    """A document, or the documents in a List."""
    value = parsed.value
    if not isinstance(value, dict):
        yield _not_an_object(value, place)
    elif value.get("kind") == "List" and isinstance(items := value.get("items"), list):
        for index, item in enumerate(items):
            prefix = f"items[{index}]"
            inside = replace(place, item=index + 1, line=parsed.lines.get(prefix, place.line))
            if isinstance(item, dict):
                yield Document(item, inside, parsed.lines, prefix)
            else:
                yield _not_an_object(item, inside)
    else:
        yield Document(value, place, parsed.lines, text=parsed.text)


def _not_an_object(value: Any, place: Position) -> Mistake:
    what = "a list" if isinstance(value, list) else "a single value"
    return Mistake(
        place,
        Problem(
            "",
            value,
            f"this is {what}, not a Kubernetes object",
            "Begin it with apiVersion, kind and metadata.",
        ),
    )


def without_nulls(value: Any) -> Any:
    """What the API server makes of a field without a value, which templates like to write: it is gone."""
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
