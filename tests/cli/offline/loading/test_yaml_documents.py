"""Reading YAML: the right values, the right lines, and a sentence for every way a file can be bad."""

from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from hibernator.cli.offline.loading import yaml_documents
from hibernator.cli.offline.loading.yaml_documents import Parsed, UnreadableError, read


def values(text: str) -> list[Any]:
    return [each.value for each in parsed(text)]


def parsed(text: str) -> list[Parsed]:
    documents = list(read(text))
    assert all(isinstance(each, Parsed) for each in documents), documents
    return [each for each in documents if isinstance(each, Parsed)]


def complaint(text: str) -> tuple[int, int, str]:
    [error] = [each for each in read(text) if isinstance(each, UnreadableError)]
    return error.line, error.column, str(error)


def test_every_field_knows_its_line() -> None:
    [document] = parsed("# a comment\nspec:\n  windows:\n    - start: '8'\n      days: [Mon,\n        Tue]\n")
    assert document.lines == {
        "": 2,
        "spec": 2,
        "spec.windows": 3,
        "spec.windows[0]": 4,
        "spec.windows[0].start": 4,
        "spec.windows[0].days": 5,
        "spec.windows[0].days[0]": 5,
        "spec.windows[0].days[1]": 6,
    }


def test_lines_are_counted_through_the_whole_file() -> None:
    first, second = parsed("a: 1\n---\n\nb: 2\n")
    assert (first.line, second.line, second.lines["b"]) == (1, 4, 4)


def test_a_document_that_cannot_be_read_does_not_hide_the_others() -> None:
    good, bad, other = read("a: 1\n---\nb: [\n---\nc: 3\n")
    assert isinstance(good, Parsed)
    assert isinstance(bad, UnreadableError)
    assert isinstance(other, Parsed)
    assert (good.value, bad.line, other.value, other.line) == ({"a": 1}, 4, {"c": 3}, 5)


def test_an_open_quote_ends_with_its_document() -> None:
    line, _, message = complaint('a: "never closed\n---\nb: 1\n')
    assert line == 2
    assert "quoted scalar that begins on line 1" in message


def test_directives_belong_to_the_document_after_them() -> None:
    assert values("%YAML 1.1\n---\na: 1\n...\n%YAML 1.1\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]


def test_quoted_words_are_text_and_unquoted_times_too() -> None:
    assert values("a: 'yes'\nb: \"1\"\nc: 20:00\nd: 2026-12-25\ne: yes\n") == [
        {"a": "yes", "b": "1", "c": "20:00", "d": "2026-12-25", "e": True}
    ]


def test_keys_become_text_as_in_json() -> None:
    assert values("1: a\n1.5: b\non: c\n2026-12-25: d\n20:00: e\n") == [
        {"1": "a", "1.5": "b", "true": "c", "2026-12-25": "d", "20:00": "e"}
    ]


def test_tags_of_the_core_are_obeyed_and_those_of_others_ignored() -> None:
    assert values("a: !!str 20\nb: !!int '3'\nc: !mine word\nd: !!null ''\ne: !!timestamp 2026-01-01\n") == [
        {"a": "20", "b": 3, "c": "word", "d": None, "e": "2026-01-01"}
    ]


def test_aliases_and_merge_keys_work() -> None:
    text = "base: &base {a: 1, b: 2}\nmore: &more {c: 3, a: 9}\nuse:\n  <<: [*base, *more]\n  b: 5\n"
    text += "same: *base\n"
    [value] = values(text)
    assert value["use"] == {"a": 1, "b": 5, "c": 3}
    assert value["same"] == {"a": 1, "b": 2}


def test_a_quoted_merge_key_is_just_a_key() -> None:
    assert values('"<<": 1\n') == [{"<<": 1}]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", 4, 3, 'the key "c" is twice in the same mapping, first on line 3'),
        ("a:\n\tb: 1\n", 2, 1, "a tab indents this line; YAML allows only spaces there"),
        ("a: @me\n", 1, 4, "a value cannot begin with @; put it in quotes"),
        ("a: b: c\n", 1, 5, "mapping values are not allowed in this context"),
        ("a: .inf\n", 1, 4, ".inf is a number that Kubernetes cannot store"),
        ("[a]: 1\n", 1, 1, "a key must be text, not a list or a mapping"),
        ("~: 1\n", 1, 1, "a key must be text, and this one is empty"),
        ("a: *nobody\n", 1, 4, "*nobody refers to nothing: there is no &nobody before it"),
        ("a: &a [*a]\n", 1, 8, "*a refers to nothing: there is no &a before it"),
        ("<<: 1\n", 1, 5, "the merge key << needs a mapping, or a list of mappings"),
        ("a: 1\nb: x\0y\n", 2, 5, "the character U+0000 is not allowed"),
        (
            "a: !!binary aGk=\n",
            1,
            4,
            "the tag !!binary is not understood here; write the value as plain text",
        ),
        ("[" * 500, 1, 101, "fields are nested more than 100 levels deep"),
        ("- " * 500, 1, 201, "fields are nested more than 100 levels deep"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_column(text: str, line: int, column: int, words: str) -> None:
    assert complaint(text) == (line, column, words)


def test_aliases_cannot_multiply_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    _, _, message = complaint("\n".join(lines))
    assert "multiply into more than 100,000 values" in message


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(TREES)
def test_whatever_is_written_as_yaml_reads_back_the_same(tree: Any) -> None:
    text = yaml.safe_dump(tree, allow_unicode=True, default_style='"')
    assert values(text) == [tree]


@given(st.text(st.characters(codec="utf-8")) | st.text("{}[]:,-&*!|>'\"%@`#? \n\tab<1"))
def test_no_text_breaks_the_reader(text: str) -> None:
    for each in yaml_documents.read(text):
        assert isinstance(each, Parsed | UnreadableError)
        assert each.line >= 1
