"""What a log line looks like, for people and for machines."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from hibernator.kube.logging import about, configure


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_pipe_gets_json_with_the_object_that_a_reconcile_is_about() -> None:
    out = io.StringIO()
    configure(file=out)
    with about("plans", "team", "nightly"):
        structlog.get_logger().warning("did not work", seconds=30)
    line = json.loads(out.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "message": "did not work",
        "level": "warning",
        "seconds": 30,
        "controller": "plans",
        "namespace": "team",
        "name": "nightly",
    }


def test_an_error_in_json_carries_its_traceback_on_the_same_line() -> None:
    out = io.StringIO()
    configure(file=out)
    structlog.get_logger().error("a bug", exc_info=ValueError("no such zone"))
    (line,) = out.getvalue().splitlines()
    assert "ValueError: no such zone" in json.loads(line)["exception"]


def test_libraries_log_the_same_way() -> None:
    out = io.StringIO()
    configure(file=out)
    logging.getLogger("aiohttp").warning("odd %s", "thing")
    assert json.loads(out.getvalue())["message"] == "odd thing"


def test_a_terminal_gets_lines_for_people_without_colours_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    configure(file=out)
    structlog.get_logger().info("leading", epoch=3)
    assert "leading" in out.getvalue()
    assert "epoch=3" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_what_is_below_the_level_is_left_out() -> None:
    out = io.StringIO()
    configure("warning", file=out)
    structlog.get_logger().info("not this")
    logging.getLogger("aiohttp").info("nor this")
    assert out.getvalue() == ""
