"""What tests measured, printed at the end of a run, also of one that was spread over several processes."""

from collections.abc import Callable

import pytest

_PROPERTY = "measured"


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Have a line printed at the end. It is for people: no test depends on what it says."""
    return lambda line: record_property(_PROPERTY, line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for report in terminalreporter.getreports("passed") if report.when == "call"]
    lines = [text for report in reports for name, text in report.user_properties if name == _PROPERTY]
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.line(str(line))
