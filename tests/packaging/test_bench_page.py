"""`make bench` writes one page with machine, versions and ratios."""

import sys

import pytest

from hibernator import __version__
from support.helm import ROOT


def test_every_row_of_every_table_is_a_line_with_its_ratios_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "bench")])
    from _page import Ran, page

    following = {
        "title": "Following",
        "columns": ["client", "CPU s", "ratio", "peak MB"],
        "rows": [["ours", "1.0", "1.4", "103"]],
        "versions": {"msgspec": "0.22"},
    }
    waiting = {
        "title": "Waiting",
        "columns": ["what", "value", "unit"],
        "rows": [["a|b", "3.5", "ms"]],
        "versions": {},
    }
    text = page("2 cores", [Ran("runtime", "words", [following, waiting]), Ran("audit", "", [], failed=True)])
    assert f"2 cores, hibernator {__version__}, etcd " in text
    assert "msgspec 0.22." in text
    assert "| runtime: Following | ours | 1.0 CPU s, 103 peak MB | 1.4 ratio |\n" in text
    assert "| runtime: Waiting | a\\|b | 3.5 ms |  |\n" in text
    assert "| audit |  | did not end well |  |\n" in text
    assert "## runtime\n\n```text\nwords\n```\n" in text
