"""Writes documents as YAML that means the same to every reader of YAML, kubectl's included."""

from typing import Any

import yaml

from hibernator.cli.offline.loading.scalars import plain


class _Dumper(yaml.SafeDumper):
    """Quotes whatever kubectl would not read as text: PyYAML would leave `y` and `1e3` bare."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - what was repeated is written out
        return True


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = None if plain(value) == value and not value[:1].isdigit() else '"'
    if "\n" in value.strip():
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _list(dumper: _Dumper, values: list[Any]) -> yaml.SequenceNode:
    """Lists of words fit on a line: `daysOfWeek: [MON, TUE]`."""
    short = not any(isinstance(value, dict | list) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)


def write(document: dict[str, Any]) -> str:
    """A document in the order of its fields."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100, default_flow_style=False
    )
    return text
