"""The schemas that the CRDs and the reference are made of."""

import re
from dataclasses import replace
from typing import Annotated, Any, get_args

import msgspec
import pytest

from api.walk import KINDS, SCHEMAS, find, nodes
from hibernator.api.crd import manifest, to_yaml
from hibernator.api.hibernateplan import PLANS, BuiltInType
from hibernator.api.kinds import DEFINITIONS, Definition, Version, all_kinds
from hibernator.api.meta import Model, rule, says
from hibernator.api.parameters import PARAMETERS
from hibernator.api.schema import Schema, schema_of
from hibernator.api.structural import _compiled

every_schema = pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
every_kind = pytest.mark.parametrize("schema", KINDS.values(), ids=KINDS)


@every_schema
def test_every_field_is_described(schema: Schema) -> None:
    fields = [path for path, node in nodes(schema) for path in _undescribed(path, node)]
    assert fields == []


def _undescribed(path: str, node: Schema) -> list[str]:
    return [
        f"{path}.{name}"
        for name, field in node.get("properties", {}).items()
        if (path or name != "metadata") and not field.get("description", "").endswith(".")
    ]


@every_schema
def test_every_level_is_structural(schema: Schema) -> None:
    for path, node in nodes(schema):
        free = node.get("x-kubernetes-preserve-unknown-fields") or node.get("x-kubernetes-int-or-string")
        assert node.get("type") or free, path
        assert not {"$ref", "anyOf", "oneOf", "nullable"} & set(node), path


@every_kind
def test_every_list_says_how_it_is_merged(schema: Schema) -> None:
    for path, node in nodes(schema):
        if node.get("type") == "array":
            assert node["x-kubernetes-list-type"] in {"atomic", "set", "map"}, path
            keys = node.get("x-kubernetes-list-map-keys", [])
            assert set(keys) <= set(node["items"].get("required", [])), path


@every_kind
def test_every_rule_has_a_sentence_and_points_at_a_field(schema: Schema) -> None:
    for path, node in nodes(schema):
        for validation in node.get("x-kubernetes-validations", []):
            assert validation["message"], path
            assert not validation["message"].endswith("."), "kubectl goes on after it"
            if "fieldPath" in validation:
                find(node, validation["fieldPath"])


@every_schema
def test_every_pattern_means_the_same_in_python(schema: Schema) -> None:
    for path, node in nodes(schema):
        if "pattern" in node:
            _compiled(node["pattern"])
            # `$` is translated wherever it stands, so it may only stand for the end.
            assert not re.search(r"\\\$|\[[^\]]*\$", node["pattern"]), path


@pytest.mark.parametrize("model", [*(kind.type for kind in all_kinds()), *PARAMETERS.values()])
def test_the_schema_and_the_type_have_the_same_defaults(model: type[Model]) -> None:
    for struct in _models(model):
        for field in msgspec.structs.fields(struct):
            schema = schema_of(field.type)
            if "default" in schema:
                assert msgspec.convert(schema["default"], field.type) == field.default, (struct, field.name)


def _models(annotation: Any) -> list[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        inner = [model for field in msgspec.structs.fields(annotation) for model in _models(field.type)]
        return [annotation, *inner]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models(part)]


def test_choices_keep_the_order_in_which_they_were_written() -> None:
    days = find(KINDS["kyklos.io/v1alpha1/TimeWindowScaler"], ".spec.windows")["items"]
    assert find(days, ".days")["items"]["enum"] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def test_every_type_of_target_has_its_parameters() -> None:
    assert set(PARAMETERS) == set(get_args(BuiltInType))


def test_a_field_can_be_required_though_the_decoder_does_without() -> None:
    class Lenient(Model):
        hour: Annotated[str, says("An hour.", required=True)] = ""

    schema = schema_of(Lenient)
    assert schema["required"] == ["hour"]
    assert "required" not in schema["properties"]["hour"]


def test_rules_stand_with_the_value_that_they_are_about() -> None:
    class Ruled(Model):
        RULES = (rule("self.a > 0", "a must be positive", field=".a"),)

        a: Annotated[int, says("A number.")]

    assert schema_of(Ruled)["x-kubernetes-validations"] == [
        {"rule": "self.a > 0", "message": "a must be positive", "fieldPath": ".a"}
    ]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda definition: definition.kind.kind)
def test_every_column_shows_a_field_that_exists(definition: Definition) -> None:
    for version in definition.versions:
        schema = KINDS[f"{version.kind.api_version}/{version.kind.kind}"]
        for column in version.columns:
            if not column.path.startswith(".metadata."):
                place, _, rest = re.sub(r"\[\?.*\]", "[]", column.path).partition("[]")
                node = find(schema, place)
                assert node["items"]["properties"][rest.strip(".")] if rest else node


def test_a_kind_can_have_several_versions_of_which_one_is_stored() -> None:
    newer = Version(replace(PLANS, version="v1beta1"), storage=False)
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}
    both = Definition(versions=(Version(PLANS), newer), short_names=("hplan",), conversion=conversion)
    spec = manifest(both)["spec"]
    assert both.kind is PLANS
    assert [(v["name"], v["served"], v["storage"]) for v in spec["versions"]] == [
        ("v1alpha1", True, True),
        ("v1beta1", True, False),
    ]
    assert spec["conversion"] == conversion


def test_a_manifest_is_written_without_abbreviations() -> None:
    for definition in DEFINITIONS:
        text = to_yaml(manifest(definition))
        assert not re.search(r"^\s*\S+: [&*]\w", text, re.MULTILINE)
