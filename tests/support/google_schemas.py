"""What Google publishes about its APIs: which requests there are, and what may be in them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "number": (int, float),
    "object": dict,
    "array": list,
}


@dataclass(frozen=True)
class Method:
    """One request that an API knows."""

    id: str
    http: str
    path: re.Pattern[str]
    parameters: frozenset[str]
    request: str | None
    response: str | None
    api: str

    def problems(self, body: Any) -> list[str]:
        """What is wrong with the body of a request."""
        if self.request is None:
            return [] if body is None else ["a body where none belongs"]
        return list(_wrong(self.api, {"$ref": self.request}, body, "", written=True))

    def inventions(self, body: Any) -> list[str]:
        """What is wrong with the body of an answer."""
        assert self.response is not None
        return list(_wrong(self.api, {"$ref": self.response}, body, "", written=False))


@cache
def methods() -> tuple[Method, ...]:
    return tuple(one for api in ("container", "sqladmin", "compute") for one in _methods(api, _document(api)))


@cache
def _document(api: str) -> Any:
    folder = files("googleapiclient") / "discovery_cache" / "documents"
    return json.loads((folder / f"{api}.v1.json").read_text())


def _methods(api: str, node: Mapping[str, Any]) -> Iterator[Method]:
    for one in node.get("methods", {}).values():
        path = _document(api)["servicePath"] + one.get("flatPath", one["path"])
        pattern = re.sub(r"\\\{[^}]+\\\}", "([^/:]+)", re.escape(path))
        yield Method(
            id=one["id"],
            http=one["httpMethod"],
            path=re.compile(pattern),
            parameters=frozenset(one.get("parameters", {})),
            request=one.get("request", {}).get("$ref"),
            response=one.get("response", {}).get("$ref"),
            api=api,
        )
    for child in node.get("resources", {}).values():
        yield from _methods(api, child)


def _wrong(api: str, schema: Mapping[str, Any], value: Any, at: str, *, written: bool) -> Iterator[str]:
    if name := schema.get("$ref"):
        schema = _document(api)["schemas"][name]
    if written and schema.get("readOnly"):
        yield f"{at} is only for reading"
    wanted = _TYPES[schema.get("type", "object")]
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        yield f"{at} is {value!r}, not {schema.get('type')}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is {value!r}, none of {schema['enum']}"
    if isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _wrong(api, schema["items"], entry, f"{at}[{number}]", written=written)
    if isinstance(value, dict):
        known, other = schema.get("properties", {}), schema.get("additionalProperties")
        for key, entry in _said(value, other, written=written):
            if key in known or other:
                yield from _wrong(api, known.get(key, other), entry, f"{at}.{key}", written=written)
            else:
                yield f"{at}.{key} is not a field"


def _said(value: dict[str, Any], other: Any, *, written: bool) -> list[tuple[str, Any]]:
    """The entries of an object; of a map, None takes one off."""
    return [(key, entry) for key, entry in value.items() if not (written and other and entry is None)]
