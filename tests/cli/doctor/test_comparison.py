"""What the doctor compares: only what somebody would notice is a difference."""

from typing import Any

import pytest

from hibernator.cli.doctoring.installed import difference


@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_what_is_empty_may_be_missing_there(empty: Any) -> None:
    assert difference({"rules": [1], "variables": empty}, {"rules": [1]}, "spec") == ""


def test_what_is_missing_or_more_is_named() -> None:
    assert difference({"rules": [1]}, {}, "spec") == "spec.rules"
    assert difference({}, {"rules": [1]}, "spec") == "spec.rules"
    assert difference({}, {"rules": [1]}, "spec", more=True) == ""
