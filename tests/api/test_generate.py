"""The files that are made from the types."""

from pathlib import Path

import pytest

from api.walk import KINDS, nodes
from hibernator.api.kinds import DEFINITIONS
from tools import api_reference, generate


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    return tmp_path


def test_what_is_generated_is_not_stale(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate.write()
    assert "config/crd/hibernateplans.hibernator.ardikabs.com.yaml" in capsys.readouterr().out
    assert generate.check() == 0


def test_a_second_time_nothing_is_written(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate.write()
    capsys.readouterr()
    generate.write()
    assert not capsys.readouterr().out


def test_a_file_that_was_edited_by_hand_is_named(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate.write()
    page = checkout / "docs/reference/api.md"
    page.write_text(page.read_text() + "more")
    assert generate.check() == 1
    assert capsys.readouterr().err == "docs/reference/api.md is out of date. Run: make generate\n"


def test_the_crd_of_a_kind_that_is_gone_is_removed(checkout: Path) -> None:
    generate.write()
    gone = checkout / "config/crd/naps.example.org.yaml"
    gone.write_text("kind: CustomResourceDefinition")
    assert generate.check() == 1
    generate.write()
    assert not gone.exists()


@pytest.mark.parametrize("name", KINDS)
def test_the_reference_has_every_field_and_every_rule(name: str) -> None:
    text = api_reference.text()
    section = text[text.index(f"### `{name.rpartition('/')[0]}` {name.rpartition('/')[2]}\n") :]
    section = section[: section.index("\n## ")]
    for path, node in nodes(KINDS[name]):
        for field in node.get("properties", {}):
            place = f"{path}.{field}".strip(".")
            assert f"| `{place}` |" in section or "." not in place
        if node.get("format") != "date-time":
            for rule in node.get("x-kubernetes-validations", []):
                assert rule["message"] in section


def test_the_reference_shows_the_samples() -> None:
    text = api_reference.text()
    for definition in DEFINITIONS:
        assert f"\nkind: {definition.kind.kind}\n" in text
