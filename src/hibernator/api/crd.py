"""The CustomResourceDefinitions, as the API server wants them and as people read them."""

from typing import Any

import yaml

from hibernator.api.kinds import Column, Definition, Version
from hibernator.api.schema import schema_of_object

CATEGORY = "hibernator"


def manifest(definition: Definition) -> dict[str, Any]:
    """Write the CustomResourceDefinition of one kind, all its versions included."""
    kind = definition.kind
    names: dict[str, Any] = {
        "categories": [CATEGORY],
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
    }
    if definition.short_names:
        names["shortNames"] = list(definition.short_names)
    spec: dict[str, Any] = {
        "group": kind.group,
        "names": names,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "versions": [_version(version) for version in definition.versions],
    }
    if definition.conversion:
        spec["conversion"] = dict(definition.conversion)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource},
        "spec": spec,
    }


def to_yaml(document: dict[str, Any]) -> str:
    """Write a document in the order in which it was made, in lines that fit a screen."""
    return yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100, default_flow_style=False
    )


def _version(version: Version) -> dict[str, Any]:
    return {
        "name": version.kind.version,
        "served": True,
        "storage": version.storage,
        "additionalPrinterColumns": [_column(column) for column in version.columns],
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema_of_object(version.kind.type)},
    }


def _column(column: Column) -> dict[str, Any]:
    words: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        "description": column.description,
    }
    return words | ({"priority": 1} if column.wide else {})


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key, as everyone does by hand, and never abbreviates with anchors."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002, ARG002 - the signature is PyYAML's
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True
