"""From a type to the structural OpenAPI schema that a CRD wants.

msgspec can write JSON schemas, but not structural ones: those have no `$ref`, no `anyOf` for "or absent",
a type on every level, and Kubernetes' own words for lists, rules and free-form objects.
"""

from collections.abc import Mapping
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from hibernator.api.meta import Model, Object, rule

Schema = dict[str, Any]

# How people read a schema: what it is for, what it is, what is allowed, and then what is inside.
_ORDER = (
    "description",
    "type",
    "format",
    "default",
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "required",
    "properties",
    "additionalProperties",
    "maxProperties",
    "items",
    "x-kubernetes-validations",
)
# The API server's own idea of a date-time lets `+24:00` and `00,5` pass, which no decoder reads back.
INSTANT = r"^[12][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"

# And it takes any list for a date-time; anyone who reads the object back would choke on it. CEL does not.
_IS_INSTANT = rule("self >= timestamp('1000-01-01T00:00:00Z')", "it must be an instant with its zone")

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    datetime: {
        "type": "string",
        "format": "date-time",
        "pattern": INSTANT,
        "x-kubernetes-validations": [_IS_INSTANT],
    },
    Any: {"x-kubernetes-preserve-unknown-fields": True},
}
_EVERY_OBJECT: Mapping[str, Schema] = {
    "apiVersion": {
        "description": "The group and version of the API that this object is written in.",
        "type": "string",
    },
    "kind": {"description": "What kind of object this is.", "type": "string"},
    "metadata": {"type": "object"},  # its own business: the API server allows no word about it
}


def schema_of(annotation: Any) -> Schema:
    """Say what may stand where a field is annotated like this."""
    schema = _shape(annotation)
    for meta in _notes(annotation):
        schema |= {"description": meta.description} if meta.description else {}
        schema |= meta.extra_json_schema or {}
    return _in_order(schema)


def schema_of_object(kind: type[Object]) -> Schema:
    """Write the schema of a whole object, metadata included, for the `versions` of a CRD."""
    schema = _struct(kind)
    schema["properties"] |= _EVERY_OBJECT
    return _in_order(schema | {"description": kind.__doc__})


def _notes(annotation: Any) -> list[msgspec.Meta]:
    if get_origin(annotation) is not Annotated:
        return []
    return [note for note in get_args(annotation)[1:] if isinstance(note, msgspec.Meta)]


def _shape(annotation: Any) -> Schema:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape(args[0])
    if origin in {Union, UnionType}:
        return _choice([arg for arg in args if arg is not NoneType])
    if origin is Literal:
        return {"type": "string", "enum": list(args)}
    if origin is tuple:
        return {"type": "array", "items": schema_of(args[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _map(args[1])
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return _struct(annotation)
    return dict(_PLAIN[annotation])


def _choice(options: list[Any]) -> Schema:
    if len(options) == 1:
        return schema_of(options[0])
    # The only choice of types that a structural schema has.
    return {"x-kubernetes-int-or-string": True}


def _map(values: Any) -> Schema:
    if values is Any:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "additionalProperties": schema_of(values)}


def _struct(cls: type[Model]) -> Schema:
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for field in msgspec.structs.fields(cls):
        properties[field.encode_name] = schema = schema_of(field.type)
        # `required=True` is said of fields that the decoder, in its leniency, can do without.
        if field.required or schema.get("required") is True:
            required.append(field.encode_name)
        if schema.get("required") is True:
            del schema["required"]
    schema = {"type": "object"}
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = sorted(required)
    if cls.RULES:
        schema["x-kubernetes-validations"] = [dict(entry) for entry in cls.RULES]
    return _in_order(schema)


def _in_order(schema: Schema) -> Schema:
    return {key: schema[key] for key in sorted(schema, key=_ORDER.index)}
