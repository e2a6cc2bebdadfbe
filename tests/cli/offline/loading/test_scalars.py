"""What kubectl 1.36 makes of an unquoted word, observed with its own library (sigs.k8s.io/yaml 1.6)."""

import math

import pytest

from hibernator.cli.offline.loading.yaml_documents import Scalar, plain

AS_KUBECTL_READS_THEM: list[tuple[str, Scalar]] = [
    ("20:00", "20:00"),
    ("6:00", "6:00"),
    ("1:30.5", "1:30.5"),
    ("on", True),
    ("OFF", False),
    ("yes", True),
    ("no", False),
    ("y", True),
    ("N", False),
    ("TRUE", True),
    ("tRUE", "tRUE"),
    ("~", None),
    ("NULL", None),
    ("", None),
    ("2026-01-01", "2026-01-01"),
    ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    ("010", 8),
    ("08", 8),
    ("0o10", 8),
    ("0b11", 3),
    ("0x1F", 31),
    ("-0x1F", -31),
    ("1_000", 1000),
    ("1__0", 10),
    ("_1", "_1"),
    ("1.5", 1.5),
    ("1e3", 1000),
    (".5", 0.5),
    ("5.", 5),
    ("+1", 1),
    ("-0", 0),
    ("1.0", 1),
    ("18446744073709551615", 18446744073709551615),
    ("99999999999999999999", 1e20),
    ("1" * 400, "1" * 400),
    ("=", "="),
    ("0x", "0x"),
    ("-", "-"),
    ("MON", "MON"),
]


@pytest.mark.parametrize(("word", "value"), AS_KUBECTL_READS_THEM)
def test_an_unquoted_word_means_what_it_means_to_kubectl(word: str, value: Scalar) -> None:
    read = plain(word)
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize("word", [".inf", "-.Inf", ".NaN"])
def test_numbers_that_json_lacks_are_recognised_so_that_they_can_be_refused(word: str) -> None:
    read = plain(word)
    assert isinstance(read, float)
    assert not math.isfinite(read)
