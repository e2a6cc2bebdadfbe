"""Reads JSON: one document, or several after one another, as kubectl does where a file begins with `{`."""

import json
import re
from collections.abc import Iterator
from typing import Any

from hibernator.cli.offline.loading.yaml_documents import MAX_DEPTH, Parsed, UnreadableError

_SPACE = re.compile(r"\s*")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


def looks_like_json(text: str) -> bool:
    return text.lstrip()[:1] in {"{", "["}


def read(text: str) -> list[Parsed]:
    """Every document of a text; raises UnreadableError at the first that cannot be read."""
    return list(_documents(text))


def _documents(text: str) -> Iterator[Parsed]:
    decoder = json.JSONDecoder(object_pairs_hook=_no_key_twice, parse_constant=_no_such_number)
    position = _end_of_space(text, 0)
    line, counted = 1, 0
    while position < len(text):
        line, counted = line + text.count("\n", counted, position), position
        try:
            value, end = decoder.raw_decode(text, position)
            _check(value)
        except json.JSONDecodeError as error:
            raise UnreadableError(error.msg, error.lineno, error.colno) from error
        except RecursionError as error:
            raise UnreadableError(f"fields are nested more than {MAX_DEPTH} levels deep", line) from error
        except ValueError as error:
            raise UnreadableError(str(error), line) from error
        yield Parsed(value, line, {})
        position = _end_of_space(text, end)


def _end_of_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f'the key "{twice}" is twice in the same mapping')
    return mapping


def _no_such_number(word: str) -> None:
    raise ValueError(f"{word} is a number that Kubernetes cannot store")


def _check(value: Any) -> None:
    """Refuse what JSON can hold and nothing after it can: bottomless nesting and halves of characters."""
    open_values = [(value, 1)]
    while open_values:
        inside, depth = open_values.pop()
        if depth > MAX_DEPTH:
            raise RecursionError
        if isinstance(inside, dict):
            open_values += [(part, depth + 1) for part in inside.values()] + [(key, depth) for key in inside]
        elif isinstance(inside, list):
            open_values += [(part, depth + 1) for part in inside]
        elif isinstance(inside, str) and _LONE_SURROGATE.search(inside):
            raise ValueError(f"{inside!a} contains half of a character (a lone surrogate)")
