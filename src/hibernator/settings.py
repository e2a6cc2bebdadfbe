"""The settings of a process, as one schema: flags, environment and file are three ways to say the same.

The later wins: defaults, then the file, then the environment, then the flags. A mistake is reported with the
name that it was written under, wherever that was. Each process has a schema of its own.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import yaml

S = TypeVar("S", bound=msgspec.Struct)

_LAST_PORT: Final = 65_535


_NOUNS: Final = {
    "array": "a list",
    "bool": "true or false",
    "datetime": "an instant such as 2026-11-15T08:00:00Z",
    "float": "a number",
    "int": "a whole number",
    "object": "a block of fields",
    "str": "text",
}


class Said(NamedTuple):
    """What does not fit, for people: `cases[0].name`, `write text`."""

    path: str
    words: str


def in_words(error: msgspec.ValidationError) -> Said:
    """What msgspec says of a value, in the words of this project."""
    said, _, place = str(error).partition(" - at `$")
    path = place.removesuffix("`").removeprefix(".")
    if wanted := re.match(r"Expected `(\w+)", said):
        least = re.search(r"` >= (\S+)$", said)
        noun = _NOUNS.get(wanted[1], wanted[1])
        return Said(path, f"write {noun}{f' of at least {least[1]}' if least else ''}")
    if missing := re.fullmatch(r"Object missing required field `(.+)`", said):
        return Said(path, f"the field {missing[1]} is missing")
    if unknown := re.fullmatch(r"Object contains unknown field `(.+)`", said):
        return Said(path, f"there is no field {unknown[1]}")
    return Said(path, f"{said[:1].lower()}{said[1:]}")


class SettingsError(Exception):
    """A setting cannot be used; the message says where it was written and what to write instead."""


@dataclass(frozen=True, slots=True)
class Schema(Generic[S]):
    """The settings of one process."""

    type: type[S]
    prefix: str  # of its environment variables
    listed_by: str  # the command that shows all of them
    guarded: frozenset[str] = frozenset()  # those that may hold a password, by their names in a file

    def read(self, flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None) -> S:
        """Lay the sources over each other. Flags are by field name, and None where they were not given."""
        values: dict[str, Any] = {}
        for source in (
            self._from_file(file) if file else {},
            self._from_environment(environment),
            self._from_flags(flags),
        ):
            values |= source
        return msgspec.convert(values, self.type)

    def fields(self) -> Iterator[tuple[msgspec.structs.FieldInfo, str, Any]]:
        """Every setting with its description and its plain type, for flags and for the reference page."""
        hints = get_type_hints(self.type, include_extras=True)
        for field in msgspec.structs.fields(self.type):
            extras = hints[field.name].__metadata__
            yield (
                field,
                next(extra for extra in extras if isinstance(extra, str)),
                hints[field.name].__origin__,
            )

    def variable(self, name: str) -> str:
        return self.prefix + name.upper()

    def _from_file(self, file: Path) -> dict[str, Any]:
        try:
            document = yaml.safe_load(file.read_text("utf-8")) or {}
        except OSError as error:
            raise SettingsError(f"{file} cannot be read: {error.strerror}. Check the path.") from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            mark, said = getattr(error, "problem_mark", None), getattr(error, "problem", None)
            why = f"{said} in line {mark.line + 1}" if mark else "it has characters that YAML does not allow"
            raise SettingsError(f"{file} is not YAML: {why}.") from error
        if not isinstance(document, dict):
            raise SettingsError(
                f"{file} holds a {type(document).__name__}; write settings as `name: value` lines."
            )
        known = {field.encode_name for field, _, _ in self.fields()}
        for name, value in document.items():
            if name not in known:
                near = difflib.get_close_matches(str(name), known, 1)
                hint = f" Did you mean {near[0]}?" if near else f" See `{self.listed_by}` for all of them."
                raise SettingsError(f"{file}: {name} is no setting.{hint}")
            self._checked(name, value, f"{file}: {name}", strict=True)
        return document

    def _from_environment(self, environment: Mapping[str, str]) -> dict[str, Any]:
        return {
            field.encode_name: self._checked(
                field.encode_name, environment[self.variable(field.name)], self.variable(field.name)
            )
            for field, _, _ in self.fields()
            if environment.get(self.variable(field.name))
        }

    def _from_flags(self, flags: Mapping[str, Any]) -> dict[str, Any]:
        return {
            field.encode_name: self._checked(field.encode_name, flags[field.name], flag(field.name))
            for field, _, _ in self.fields()
            if flags.get(field.name) is not None
        }

    def _checked(self, name: str, value: Any, written_as: str, *, strict: bool = False) -> Any:
        """The value as the setting's type; text is read as what it means unless `strict`."""
        try:
            checked = msgspec.convert({name: value}, self.type, strict=strict)
        except msgspec.ValidationError as error:
            shown = "not usable" if name in self.guarded else repr(value)
            choices = self._choices(name)
            wrong = f"write {choices}" if choices else in_words(error).words
            raise SettingsError(f"{written_as} is {shown}: {wrong}.") from error
        return msgspec.to_builtins(checked)[name]

    def _choices(self, name: str) -> str:
        """The values that a setting may have, if they are a few."""
        kind = next(kind for field, _, kind in self.fields() if field.encode_name == name)
        *others, last = get_args(kind) if get_origin(kind) is Literal else ("",)
        return f"{', '.join(others)} or {last}" if others else ""


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def check_address(name: str, address: str) -> None:
    """Whether something can be served there, as far as its form tells."""
    port = address.rpartition(":")[2]
    if not (":" in address and port.isdecimal() and int(port) <= _LAST_PORT):
        raise SettingsError(f"{name} is {address!r}: write host:port, for example 0.0.0.0:8080 or :8080.")
