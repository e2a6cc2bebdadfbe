"""Going through a schema, for tests that say something about every field."""

from collections.abc import Iterator
from typing import Any

from hibernator.api.kinds import DEFINITIONS
from hibernator.api.parameters import PARAMETERS
from hibernator.api.schema import Schema, schema_of, schema_of_object

# One schema for each version of each kind, and one for the parameters of each type of target.
KINDS: dict[str, Schema] = {
    version.kind.api_version + "/" + version.kind.kind: schema_of_object(version.kind.type)
    for definition in DEFINITIONS
    for version in definition.versions
}
SCHEMAS = KINDS | {f"parameters of {name}": schema_of(model) for name, model in PARAMETERS.items()}


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every level of a schema with its path; metadata, which is not ours to describe, left out."""
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        if path or name != "metadata":
            yield from nodes(field, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}[]")


def find(schema: Schema, path: str) -> Any:
    """The part of a schema at a path such as `.spec.windows`."""
    for name in path.strip(".").split("."):
        schema = schema["properties"][name]
    return schema
