"""The demo from start to summary, as a stranger runs it."""

import pytest

from support.command import hibernator


def test_the_shop_passes_through_a_morning_and_leaves_nothing_behind() -> None:
    done = hibernator("demo", "--for", "12s", "--speed", "3600")
    assert done.code == 0, done.err
    assert 'Scaled Deployment "web" from 3 to 1.' in done.out
    assert "the window 06:00-09:00 Mon-Fri" in done.out
    assert "Everything is gone again." in done.out


@pytest.mark.parametrize("text", ["soon", "3", "-1s", "5h"])
def test_a_duration_that_cannot_be_read_is_told_with_examples(text: str) -> None:
    done = hibernator("demo", f"--for={text}")
    assert done.code == 2
    assert "write a duration such as 90s, 3m or 2m30s" in done.err
