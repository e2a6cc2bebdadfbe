"""Holds a plain document against a structural schema and tells every mistake at once, without a cluster.

The API server checks the same, with two differences that matter to people: it drops fields that it does not
know without a word, where this says what was probably meant; and its sentences name the rule, not the fix.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from typing import Any

import msgspec

from hibernator.api.exceptionpolicy import DATE, PATTERN
from hibernator.api.meta import NAMESPACE_OR_ALL, OBJECT_NAME, SHORT_NAME
from hibernator.api.people import EMAIL
from hibernator.api.problem import Problem
from hibernator.api.schema import INSTANT, Schema
from hibernator.api.timewindowscaler_v1beta1 import PERCENTAGE
from hibernator.api.windows import DURATION, RELAXED_DAY, RELAXED_TIME, STRICT_TIME

_WORDS: Mapping[str, str] = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a block of fields",
    "array": "a list",
}
_FORMS: Mapping[str, str] = {
    RELAXED_TIME: "Write the time as HH:MM, for example 20:00.",
    STRICT_TIME: "Write the time as HH:MM with two digits each, for example 08:00.",
    RELAXED_DAY: "Write a day of the week, for example MON or Monday.",
    DATE: "Write a date, for example 2026-12-20.",
    PATTERN: "Write a regular expression without groups, for example [A-Z]+-[0-9]+.",
    DURATION: "Write a duration, for example 30m, 1h30m or 3600s.",
    f"^$|{DURATION}": "Write a duration, for example 30m, 1h30m or 3600s.",
    INSTANT: "Write an instant with its zone, for example 2026-11-15T08:00:00Z.",
    OBJECT_NAME: "Use lower-case letters, digits, `-` and `.`; begin and end with a letter or a digit.",
    NAMESPACE_OR_ALL: "Write a namespace, or `*` for all of them.",
    SHORT_NAME: "Use lower-case letters, digits and `-`; begin and end with a letter or a digit.",
    PERCENTAGE: "Write a number of replicas, or a share such as 10%.",
    EMAIL: "Write an e-mail address, for example ada@example.com.",
}
# Which of these words it was is lost; the country NO is the one that people meet.
_WITHOUT_QUOTES = "Put what you wrote in quotes: YAML reads y, yes, on, n, no and off as true or false, too."
_INT32 = 2**31

MOST_PROBLEMS = 50  # that are reported of one document; anyone who has more reads no further
_SPARE = 64  # what is only a little too long is reported by its form too, which says more
_SHORTEST_BEGINNING = 4
LONGEST_GUESS = 64  # characters of a word of which another could be meant


def check(schema: Schema, value: Any, path: str = "") -> Iterator[Problem]:
    """Tell everything that is wrong with a value; nothing when it fits."""
    if schema.get("x-kubernetes-int-or-string"):
        yield from _int_or_string(schema, value, path)
        return
    wanted = schema.get("type")
    if wanted is None:  # anything goes
        return
    if not _is(wanted, value):
        yield _wrong_type(schema, value, path)
        return
    yield from _CHECKS[wanted](schema, value, path)


def guess(word: str, known: Iterable[str]) -> str | None:
    """Find the word that was probably meant, whatever the case and the dashes."""
    if len(word) > LONGEST_GUESS:
        return None
    plain = {_plain(name): name for name in known}
    found = get_close_matches(_plain(word), plain, n=1, cutoff=0.7)
    return plain[found[0]] if found else None


def _longer(word: str, known: Iterable[str]) -> str | None:
    """The only name that the word begins, or that begins the word: `days` for `daysOfWeek`."""
    plain = _plain(word)
    found = [name for name in known if plain.startswith(_plain(name)) or _plain(name).startswith(plain)]
    return found[0] if len(found) == 1 and len(plain) >= _SHORTEST_BEGINNING else None


def show(value: Any) -> str:
    """Write a value as a person would in a file, shortened where it is long."""
    text = msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= 60 else f"{text[:57]}…"  # noqa: PLR2004 - about half a line


def _is(wanted: str, value: Any) -> bool:
    match wanted:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return not isinstance(value, bool) and (
                isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            )
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _wrong_type(schema: Schema, value: Any, path: str) -> Problem:
    wanted = schema["type"]
    message = f"it must be {_WORDS[wanted]}, not {_noun(value)}"
    if wanted == "string" and isinstance(value, bool):
        return Problem(path, value, message, _WITHOUT_QUOTES)
    if wanted == "string" and isinstance(value, int | float):
        quoted = show(value)
        refused = next(_string(schema, quoted, path), None)
        return Problem(path, value, message, refused.fix if refused else f"Put it in quotes: {show(quoted)}.")
    if isinstance(value, str) and wanted in {"integer", "number", "boolean"}:
        unquoted = re.fullmatch(r"-?[0-9]+|true|false", value)
        return Problem(path, value, message, f"Remove the quotes: {value}." if unquoted else _write(wanted))
    if wanted == "array":
        return Problem(path, value, message, "Write it as a list, each entry after a dash.")
    return Problem(path, value, message, _write(wanted))


def _write(wanted: str) -> str:
    return f"Write {_WORDS[wanted]}."


def _noun(value: Any) -> str:
    if value is None:
        return "empty"
    names = {bool: "true or false", str: "text", dict: "a block of fields", list: "a list"}
    if isinstance(value, float) and not value.is_integer():
        return "a fraction"
    return names.get(type(value), "a number")


def _int_or_string(schema: Schema, value: Any, path: str) -> Iterator[Problem]:
    if _is("string", value):
        yield from _string(schema, value, path)
    elif _is("integer", value):
        yield from _number(schema, value, path)
    else:
        yield Problem(
            path, value, f"it must be a whole number or text, not {_noun(value)}", "Write a number."
        )


def _object(schema: Schema, value: dict[str, Any], path: str) -> Iterator[Problem]:
    known: Mapping[str, Schema] = schema.get("properties", {})
    more: Schema | None = schema.get("additionalProperties")
    most = schema.get("maxProperties")
    if most is not None and len(value) > most:
        yield Problem(path, value, f"it has {len(value)} fields", f"Keep it to {most}.")
    for name in schema.get("required", ()):
        if value.get(name) is None:
            about = known[name].get("description", "")
            yield Problem(_below(path, name), None, "it is missing", f"Add it. {about}".rstrip())
    for name, inner in value.items():
        place = _below(path, str(name))
        field = known.get(name, more)
        if field is not None:
            # The API server drops an empty field before it looks at anything else.
            yield from check(field, inner, place) if inner is not None else ()
        elif not schema.get("x-kubernetes-preserve-unknown-fields"):
            absent = {each: field for each, field in known.items() if value.get(each) is None}
            yield _unknown(str(name), inner, place, known, absent)


def _unknown(
    name: str, value: Any, path: str, known: Mapping[str, Schema], absent: Mapping[str, Schema]
) -> Problem:
    # What is there already is hardly meant, unless nothing else is like it.
    meant = guess(name, absent) or _longer(name, absent) or guess(name, known)
    inside = next((each for each, field in known.items() if name in field.get("properties", ())), None)
    if inside:
        fix = f"Write it below {inside}, indented."
    elif meant:
        fix = f"Did you mean {meant}?"
    elif "matchLabels" in known and isinstance(value, str):  # as a Service selects
        fix = f"Write it below matchLabels: {name}: {value}."
    elif known:
        fix = f"Remove it. The fields here are {', '.join(known)}."
    else:
        fix = "Remove it. Nothing is written here."
    return Problem(path, value, "there is no such field", fix)


def _array(schema: Schema, value: list[Any], path: str) -> Iterator[Problem]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least:
        yield Problem(path, value, "the list is empty", f"Add at least {_entries(least)}.")
    if most is not None and len(value) > most:
        yield Problem(
            path, value, f"the list has {len(value)} entries", f"Keep it to at most {_entries(most)}."
        )
    value = value if most is None else value[: most + _SPARE]
    for index, inner in enumerate(value):
        yield from check(schema["items"], inner, f"{path}[{index}]")
    yield from _repeated(schema, value, path)


def _entries(number: int) -> str:
    return "one entry" if number == 1 else f"{number} entries"


def _repeated(schema: Schema, value: list[Any], path: str) -> Iterator[Problem]:
    keys = schema.get("x-kubernetes-list-map-keys", ())
    if schema.get("x-kubernetes-list-type") not in {"set", "map"}:
        return
    seen: dict[str, int] = {}
    for index, inner in enumerate(value):
        if keys and not isinstance(inner, dict):
            continue
        identity = [inner.get(key) for key in keys] if keys else inner
        if keys and None in identity:
            continue
        first = seen.setdefault(show(identity), index)
        if first != index:
            what = " and ".join(f"{key} {show(inner[key])}" for key in keys) or show(inner)
            fix = f"Give it another {' or '.join(keys)}, or remove it." if keys else "Remove it."
            yield Problem(f"{path}[{index}]", inner, f"it repeats {what} of {path}[{first}]", fix)


def _string(schema: Schema, value: str, path: str) -> Iterator[Problem]:
    if "enum" in schema and value not in schema["enum"]:
        yield _not_in_enum(schema["enum"], value, path)
        return
    if len(value) < schema.get("minLength", 0):
        yield Problem(path, value, "it is empty", f"Write something here. {schema.get('description', '')}")
        return
    longest = schema.get("maxLength")
    pattern = schema.get("pattern")
    if longest is not None and len(value) > longest + _SPARE:  # no pattern is asked about that
        yield Problem(path, value, f"it is {len(value)} characters long", f"Keep it to {longest}.")
    elif pattern is not None and not _compiled(pattern).search(value):
        alternatives = [part for part in pattern.strip("^()$").split("|") if part.isalnum()]
        meant = guess(value, alternatives)
        fix = _FORMS.get(pattern) or schema.get("description") or "Write it as in the reference."
        fix = f"Did you mean {meant}? {fix}" if meant else fix
        yield Problem(path, value, f"{show(value)} does not have the right form", fix)
    elif longest is not None and len(value) > longest:
        yield Problem(path, value, f"it is {len(value)} characters long", f"Keep it to {longest}.")
    elif schema.get("format") == "date-time" and not _is_instant(value):
        yield Problem(path, value, f"there is no such moment as {show(value)}", _FORMS[INSTANT])


def _not_in_enum(choices: list[str], value: str, path: str) -> Problem:
    meant = guess(value, choices)
    options = " or ".join(choices) if len(choices) < 3 else f"one of {', '.join(choices)}"  # noqa: PLR2004 - two
    fix = f"Did you mean {meant}? Write {options}." if meant and len(choices) > 1 else f"Write {options}."
    return Problem(path, value, f"{show(value)} is not known here", fix)


def _is_instant(value: str) -> bool:
    try:
        msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        return False
    return True


def _number(schema: Schema, value: float, path: str) -> Iterator[Problem]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if schema.get("format") == "int32":
        most = _INT32 - 1 if most is None else most
        least = -_INT32 if least is None else least
    if least is not None and value < least:
        yield Problem(path, value, f"{show(value)} is too small", f"Write {least} or more.")
    if most is not None and value > most:
        yield Problem(path, value, f"{show(value)} is too large", f"Write {most} or less.")


def _boolean(_schema: Schema, _value: bool, _path: str) -> Iterator[Problem]:  # noqa: FBT001 - one of _CHECKS
    return iter(())


_CHECKS: Mapping[str, Callable[[Schema, Any, str], Iterator[Problem]]] = {
    "string": _string,
    "boolean": _boolean,
    "integer": _number,
    "number": _number,
    "object": _object,
    "array": _array,
}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Python's `$` also matches before a final line break, Go's does not.
    return re.compile(pattern.replace("$", r"\Z"), re.ASCII)


def _plain(word: str) -> str:
    return re.sub(r"[-_ ]", "", word).lower()


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
