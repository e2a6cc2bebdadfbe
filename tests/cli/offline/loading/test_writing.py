"""What is written is read back the same, by us and therefore by kubectl."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hibernator.cli.offline.loading.yaml_documents import Parsed, read, write

# YAML cannot hold most control characters, and no Kubernetes document has them.
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff"))
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXTS, TREES, min_size=1, max_size=4))
def test_a_document_is_read_back_as_it_was(document: dict[str, Any]) -> None:
    [parsed] = read(write(document))
    assert isinstance(parsed, Parsed)
    assert parsed.value == document


@pytest.mark.parametrize("word", ["y", "on", "20:00", "06:00", "1e3", "0x1F", "~", "", "null", "2026-12-25"])
def test_words_that_are_not_text_to_every_reader_get_quotes(word: str) -> None:
    assert write({"a": word}) == f'a: "{word}"\n'


def test_short_lists_stay_on_a_line_and_long_texts_do_not() -> None:
    assert write({"days": ["MON", "TUE"], "text": "two\nlines\n"}) == (
        "days: [MON, TUE]\ntext: |\n  two\n  lines\n"
    )
