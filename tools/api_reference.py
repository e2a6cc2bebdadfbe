"""docs/reference/api.md: every field of every kind, from the same source as the CRDs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hibernator.api.kinds import DEFINITIONS, Definition, Version
from hibernator.api.parameters import PARAMETERS
from hibernator.api.schema import INSTANT, Schema, schema_of, schema_of_object
from hibernator.api.structural import show

SAMPLES = Path(__file__).parents[1] / "config" / "samples"

INTRODUCTION = """\
<!-- Made from src/hibernator/api by `make generate`; do not edit. -->

# API reference

Every kind, every field. The API server checks what stands here when an object is written; `hibernator
validate` checks the same without a cluster, and more.

`[]` stands for each entry of a list. Instants are RFC 3339 with a zone, such as `2026-11-15T08:00:00Z`;
durations are written like `90s`, `15m` or `1h30m`.
"""

PARAMETERS_INTRODUCTION = """\
What may stand under `spec.targets[].parameters` of a HibernatePlan depends on the `type` of the target. The
API server keeps it as it is; admission and `hibernator validate` check it."""

_BOUNDS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " entries"),
    ("minProperties", "maxProperties", " fields"),
)


def text() -> str:
    parts = [INTRODUCTION, *_contents(), *map(_kind, DEFINITIONS), _parameters()]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _contents() -> Iterator[str]:
    links = [f"- [{definition.kind.kind}](#{definition.kind.kind.lower()})" for definition in DEFINITIONS]
    yield "\n".join([*links, "- [Parameters of targets](#parameters-of-targets)"])


def _kind(definition: Definition) -> str:
    kind = definition.kind
    lists = " or ".join(f"`kubectl get {name}`" for name in (kind.plural, *definition.short_names))
    scope = "in a namespace" if kind.namespaced else "for the whole cluster"
    sample = (SAMPLES / f"{kind.kind.lower()}.yaml").read_text(encoding="utf-8")
    return "\n\n".join(
        [
            f"## {kind.kind}",
            f"{kind.type.__doc__} It lives {scope}; {lists} lists it.",
            f"```yaml\n{sample}```",
            *map(_version, definition.versions),
        ]
    )


def _version(version: Version) -> str:
    schema = schema_of_object(version.kind.type)
    stored = "" if version.storage else " It is served, but stored as another version."
    spec = {"properties": {"spec": schema["properties"]["spec"]}, "required": schema.get("required", [])}
    status = {"properties": {"status": schema["properties"]["status"]}}
    parts = [
        f"### `{version.kind.api_version}` {version.kind.kind}",
        f"What people write.{stored}",
        _table(spec),
        "What the operator answers, in the `status` subresource.",
        _table(status),
    ]
    rules = list(_rules(schema, ""))
    if rules:
        parts += ["What must hold besides, or the object is refused:", "\n".join(rules)]
    return "\n\n".join(parts)


def _parameters() -> str:
    parts = ["## Parameters of targets", PARAMETERS_INTRODUCTION]
    for name, model in PARAMETERS.items():
        parts += [f"### `type: {name}`"]
        parts += [model.__doc__] if model.__doc__ else []
        parts += [_table(schema_of(model))]
    return "\n\n".join(parts)


def _table(schema: Schema) -> str:
    rows = ["| field | type | what it says |", "| --- | --- | --- |"]
    for path, field, required in _fields(schema, ""):
        kind = f"{_type(field)}, required" if required else _type(field)
        rows.append(f"| `{path}` | {kind} | {_cell(field)} |")
    return "\n".join(rows)


def _fields(schema: Schema, path: str) -> Iterator[tuple[str, Schema, bool]]:
    """Give every field below a value with its path, parents before children."""
    for name, field in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        yield place, field, name in schema.get("required", ())
        inner = field
        while inner.get("type") == "array":
            inner, place = inner["items"], f"{place}[]"
        yield from _fields(inner, place)


def _type(schema: Schema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    if "additionalProperties" in schema:
        return f"map of {_type(schema['additionalProperties'])}"
    if schema.get("format") == "date-time":
        return "instant"
    return str(schema.get("type", "anything"))


def _cell(schema: Schema) -> str:
    words = [schema["description"], *_facts(schema)]
    if schema.get("type") == "array" and (facts := list(_facts(schema["items"]))):
        words += [f"Each entry: {facts[0][0].lower()}{facts[0][1:]}", *facts[1:]]
    return " ".join(words).replace("|", "\\|").replace("\n", " ")


def _facts(schema: Schema) -> Iterator[str]:
    if "enum" in schema:
        yield f"One of {', '.join(f'`{value or show(value)}`' for value in schema['enum'])}."
    if "default" in schema:
        yield f"Default: `{_default(schema['default'])}`."
    if "pattern" in schema and schema["pattern"] != INSTANT:
        yield f"Matches `{schema['pattern']}`."
    yield from _bounds(schema)
    if schema.get("x-kubernetes-list-type") == "set":
        yield "Each entry once."
    if schema.get("x-kubernetes-list-type") == "map":
        yield f"Each `{'`, `'.join(schema['x-kubernetes-list-map-keys'])}` once."


def _bounds(schema: Schema) -> Iterator[str]:
    for least, most, unit in _BOUNDS:
        if least in schema and most in schema:
            yield f"From {schema[least]} to {schema[most]}{unit}."
        elif least in schema:
            yield "Not empty." if unit else f"At least {schema[least]}."
        elif most in schema:
            yield f"At most {schema[most]}{unit}."


def _default(value: Any) -> str:
    return value if isinstance(value, str) else show(value)


def _rules(schema: Schema, path: str) -> Iterator[str]:
    is_instant = schema.get("format") == "date-time"  # which the introduction explains once for all
    for rule in () if is_instant else schema.get("x-kubernetes-validations", ()):
        place = f"{path}{rule.get('fieldPath', '')}".removeprefix(".") or "metadata.name"
        yield f"- `{place}`: {rule['message']}."
    for name, field in schema.get("properties", {}).items():
        yield from _rules(field, f"{path}.{name}")
    if schema.get("type") == "array":
        yield from _rules(schema["items"], f"{path}[]")
