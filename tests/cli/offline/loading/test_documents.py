"""From the names after `-f` to documents: where they may stand, and how each knows its place."""

import json
import os
from pathlib import Path

import pytest

from cli.offline import samples
from hibernator.api.problem import Problem
from hibernator.cli.offline.loading import sources
from hibernator.cli.offline.loading.documents import Document, Loaded, load
from support.command import hibernator


def names(loaded: Loaded) -> list[str]:
    assert not loaded.mistakes, loaded.mistakes
    return [document.name for document in loaded.documents]


def complaints(*arguments: object) -> list[str]:
    return [
        f"{mistake.place}: {mistake.problem.message}"
        for mistake in load([str(each) for each in arguments]).mistakes
    ]


def write(path: Path, *documents: samples.Value) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(samples.text(*documents), encoding="utf-8")
    return path


def test_a_directory_is_read_with_all_below_it_in_the_order_of_the_alphabet(tmp_path: Path) -> None:
    write(tmp_path / "b.yaml", samples.plan("b"))
    write(tmp_path / "a.yml", samples.plan("a"))
    write(tmp_path / "deep/er/c.YAML", samples.plan("c"))
    (tmp_path / "deep/d.json").write_text(json.dumps(samples.plan("d")), encoding="utf-8")
    (tmp_path / "README.md").write_text("kind: [", encoding="utf-8")
    write(tmp_path / ".git/hidden.yaml", samples.plan("hidden"))
    write(tmp_path / ".hidden.yaml", samples.plan("hidden"))
    assert names(load([str(tmp_path)])) == ["a", "b", "d", "c"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", samples.plan("a"))
    (tmp_path / "link.yaml").symlink_to(file)
    assert names(load([str(file), str(tmp_path), str(tmp_path / "." / "a.yaml")])) == ["a"]


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "..2026_03_01/plan.yaml", samples.plan("a"))
    (tmp_path / "..data").symlink_to("..2026_03_01")
    (tmp_path / "plan.yaml").symlink_to("..data/plan.yaml")
    assert names(load([str(tmp_path)])) == ["a"]


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.fork()
    if writer == 0:
        pipe.write_text(samples.text(samples.plan("piped")), encoding="utf-8")
        os._exit(0)
    assert names(load([str(pipe)])) == ["piped"]
    os.waitpid(writer, 0)


def test_a_list_is_the_documents_in_it(tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    items = [samples.plan("a"), samples.plan("b", timezone="Nowhere")]
    write(file, {"apiVersion": "v1", "kind": "List", "items": items})
    loaded = load([str(file)])
    assert names(loaded) == ["a", "b"]
    problem = Problem("spec.schedule.timezone", "Nowhere", "it is wrong", "Mend it.")
    line = file.read_text(encoding="utf-8").splitlines().index("      timezone: Nowhere") + 1
    assert str(loaded.documents[1].mistake(problem).place) == f"{file} (document 1, item 2, line {line})"


def test_json_documents_may_follow_one_another() -> None:
    ran = hibernator(
        "validate",
        "-f",
        "-",
        stdin=json.dumps(samples.plan("a")) + "\n" + json.dumps(samples.plan("b"), indent=2),
    )
    assert ran.out == "No mistakes in 2 documents: 2 HibernatePlan.\n"


def test_json_keeps_characters_beyond_the_first_65536(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(samples.config_map({"face": "\N{GRINNING FACE}"})), encoding="utf-8")
    assert load([str(file)]).documents[0].part("data", "face") == "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"a": 1,}', []),  # YAML allows the comma
        ('{"a": 1, "a": 2}', ['the key "a" is twice in the same mapping, first on line 1']),
        ("{a: 1}", []),
        ('{"a": [}', ["did not find expected node content"]),
        ('{"a": "\\ud800"}', ["found invalid Unicode character escape code"]),
        ('{"a":' * 300 + "1" + "}" * 300, ["fields are nested more than 100 levels deep"]),
        ("[" * 100_000, ["fields are nested more than 100 levels deep"]),
        ("1" * 10_000, ["this is a single value, not a Kubernetes object"]),
        ('{"a": ' + "1" * 10_000 + "}", []),  # too long for a number, so that it is text
    ],
)
def test_odd_json_is_told_in_words(tmp_path: Path, content: str, words: list[str]) -> None:
    file = tmp_path / "odd.json"
    file.write_text(content, encoding="utf-8")
    found = complaints(file)
    assert len(found) == len(words)
    assert all(word in complaint for word, complaint in zip(words, found, strict=True))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"\xff\xfek\x00", "it is written in UTF-16"),
        (b"kind: x\nname: \xe9\n", "it is not UTF-8 text (line 2 has other bytes)"),
        (b"- a\n- b\n", "this is a list, not a Kubernetes object"),
        (b"hello\n", "this is a single value, not a Kubernetes object"),
        (b"", "there is nothing in it"),
        (b"---\n---\n", "there is nothing in it"),
    ],
)
def test_what_is_no_document_is_told(tmp_path: Path, content: bytes, complaint: str) -> None:
    file = tmp_path / "odd.yaml"
    file.write_bytes(content)
    [found] = complaints(file)
    assert found.endswith(f": {complaint}")


def test_a_template_is_told_to_be_rendered_first(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("kind: HibernatePlan\nmetadata:\n  name: {{ .Values.name }}\n", encoding="utf-8")
    (mistake,) = load([str(file)]).mistakes
    assert mistake.problem.fix == "A template has to be rendered first, for example with `helm template`."


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "bom.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + samples.text(samples.plan("a")).encode())
    assert names(load([str(file)])) == ["a"]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_BYTES", 1024 * 1024)
    file = tmp_path / "large.yaml"
    file.write_bytes(b"#" * (1024 * 1024 + 1))
    assert complaints(file) == [f"{file}: it is larger than 1 MiB"]


def test_a_directory_without_documents_is_told(tmp_path: Path) -> None:
    assert complaints(tmp_path) == [f"{tmp_path}: there is no .yaml, .yml or .json file in this directory"]


def test_a_broken_link_in_a_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone.yaml").symlink_to("nowhere")
    assert complaints(tmp_path) == [f"{tmp_path}/gone.yaml: there is no such file or directory"]


def test_standard_input_can_be_named_once() -> None:
    ran = hibernator("validate", "-f", "-", "-f", "-")
    assert (ran.code, ran.err) == (2, "error: Standard input can be read only once.\nGive `-f -` once.\n")


def test_a_document_without_namespace_is_in_the_default_one() -> None:
    document = Document(samples.plan("a"), place=load(["-"]).mistakes[0].place, lines={})
    assert document.title == "HibernatePlan default/a"


def test_the_place_of_a_field_that_is_missing_is_that_of_what_is_around_it(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", samples.plan("a"))
    [document] = load([str(file)]).documents
    assert (
        document.place_of("spec.schedule.offHours[0].nothing").line
        == document.place_of("spec.schedule.offHours[0]").line
    )
    assert document.place_of("status.what[3].ever").line == 1
