"""Strategies made from the schemas themselves: documents that fit, and documents that do not quite."""

import copy
import re
import string
from typing import Any

from hypothesis import strategies as st

from api.objects import Json
from hibernator.api.meta import OBJECT_NAME, SHORT_NAME
from hibernator.api.people import EMAIL
from hibernator.api.schema import Schema
from hibernator.api.windows import RELAXED_DAY, RELAXED_TIME, STRICT_TIME

_WORDS = st.text(string.ascii_letters + "äß日-. ", min_size=1, max_size=12)
# Drawing from an expression is slow, and these stand in nearly every field.
_EXAMPLES = {
    RELAXED_TIME: ("6:00", "06:00", "20:59", "23:59"),
    STRICT_TIME: ("00:00", "06:00", "20:59", "23:59"),
    RELAXED_DAY: ("MON", "tue", "Wednesday", "sUN"),
    OBJECT_NAME: ("a", "a-1", "shop.dev", "x" * 63),
    SHORT_NAME: ("a", "a-1", "0", "x" * 63),
    EMAIL: ("a@b", "ada+x@example.com"),
}
_INSTANTS = st.sampled_from(
    ("1970-01-01T00:00:00Z", "2026-02-28T23:59:59.999999+05:45", "2999-12-31T12:00:00-09:30")
)


def fitting(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that a schema lets in; its rules are not looked at."""
    if schema.get("x-kubernetes-int-or-string"):
        words = "pattern" in schema or "default" not in schema
        return st.integers(1, 5) | (_texts(schema) if words else st.just(schema["default"]))
    match schema.get("type"):
        case "string":
            return _texts(schema)
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(schema.get("minimum", -5), schema.get("maximum", 5000))
        case "number":
            return st.floats(schema.get("minimum", -5), schema.get("maximum", 5000))
        case "array":
            return _lists(schema)
        case "object":
            return _objects(schema)
        case _:
            return _WORDS | st.dictionaries(_WORDS, st.integers(0, 5), max_size=2)


def _texts(schema: Schema) -> st.SearchStrategy[str]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("format") == "date-time":
        return _INSTANTS
    if schema.get("pattern") in _EXAMPLES:
        return st.sampled_from(_EXAMPLES[schema["pattern"]])
    if "pattern" in schema:
        pattern = re.compile(schema["pattern"].replace("$", r"\Z"), re.ASCII)
        longest = schema.get("maxLength", 253)
        return st.from_regex(pattern, fullmatch=True).filter(lambda text: len(text) <= longest)
    return st.text(min_size=schema.get("minLength", 0), max_size=min(schema.get("maxLength", 20), 20))


def _lists(schema: Schema) -> st.SearchStrategy[list[Any]]:
    keys = schema.get("x-kubernetes-list-map-keys", ())
    unique = {"set": repr, "map": lambda entry: repr([entry[key] for key in keys])}
    return st.lists(
        fitting(schema["items"]),
        min_size=schema.get("minItems", 0),
        max_size=min(schema.get("maxItems", 3), 3),
        unique_by=unique.get(schema.get("x-kubernetes-list-type", "atomic")),
    )


def _objects(schema: Schema) -> st.SearchStrategy[Json]:
    if "additionalProperties" in schema:
        return st.dictionaries(_WORDS, fitting(schema["additionalProperties"]), max_size=2)
    required = set(schema.get("required", ()))
    fields = {name: fitting(field) for name, field in schema.get("properties", {}).items()}
    return st.fixed_dictionaries(
        {name: fields[name] for name in required},
        optional={name: field for name, field in fields.items() if name not in required},
    )


_ODD: tuple[Any, ...] = (None, 5, -1, 1.5, "", "x", "9:00", "2026-12-01T00:00:00Z", True, [], {}, [{}], ["x"])


@st.composite
def almost(draw: st.DrawFn, documents: list[Json], part: str) -> Json:
    """A good document with one change in a part of it: a value, a field less, one more, a repetition."""
    document = copy.deepcopy(draw(st.sampled_from(documents)))
    holder, key = draw(st.sampled_from(list(_places(document[part]))))
    change = draw(st.sampled_from(("odd", "odd", "remove", "add", "repeat")))
    if change == "odd":
        holder[key] = draw(st.sampled_from(_ODD))
    elif change == "remove":
        del holder[key]
    elif change == "add" and isinstance(holder, dict):
        holder["surprise"] = 1
    elif change == "repeat" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    return document


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document where something stands."""
    found = []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        found += [(value, key), *_places(below)]
    return found
