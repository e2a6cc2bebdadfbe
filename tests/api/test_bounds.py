"""Everything that a user can write has a bound, in the CRD itself."""

from collections.abc import Iterator
from typing import Any

import pytest

from hibernator.api.kind import Kind
from hibernator.api.kinds import all_kinds
from hibernator.api.schema import Schema, schema_of_object

# Free by design: the policy gets it as it is. What the API server stores is bound enough for a value that is
# only handed on, to a process with bounds.
FREE = {"spec.analysis.signal"}


def unbounded(schema: Schema, path: str) -> Iterator[str]:
    kind = schema.get("type")
    known = "enum" in schema or schema.get("format") == "date-time"
    if kind == "string" and "maxLength" not in schema and not known:
        yield path
    if kind == "array":
        if "maxItems" not in schema:
            yield path
        yield from unbounded(schema["items"], f"{path}[]")
    for name, inner in schema.get("properties", {}).items():
        yield from unbounded(inner, f"{path}.{name}")
    more = schema.get("additionalProperties")
    open_ended = isinstance(more, dict) or schema.get("x-kubernetes-preserve-unknown-fields")
    if open_ended and "maxProperties" not in schema:
        yield path
    if isinstance(more, dict):
        yield from unbounded(more, f"{path}.*")


@pytest.mark.parametrize("kind", list(all_kinds()), ids=lambda kind: f"{kind.kind}.{kind.version}")
def test_every_text_list_and_map_of_a_spec_has_a_bound(kind: Kind[Any]) -> None:
    spec = schema_of_object(kind.type)["properties"]["spec"]
    assert set(unbounded(spec, "spec")) <= FREE
