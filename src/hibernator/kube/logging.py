"""Logs: lines for a person on a terminal, JSON for everything else.

Modules log with `structlog.get_logger(__name__)`. While a reconcile runs, its controller and key are known,
so that every line that it causes, in whatever module, says which object it is about.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TextIO

import structlog
from structlog.types import EventDict, Processor

# One value for all three: structlog's own means set one for each, which showed in the profile of a storm.
_SUBJECT: Final[ContextVar[tuple[str, str, str] | None]] = ContextVar("subject", default=None)


@contextmanager
def about(controller: str, namespace: str, name: str) -> Iterator[None]:
    """What every line is about until the block ends."""
    token = _SUBJECT.set((controller, namespace, name))
    try:
        yield
    finally:
        _SUBJECT.reset(token)


def with_subject(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Add what the line is about, unless it says so itself."""
    if subject := _SUBJECT.get():
        for key, value in zip(("controller", "namespace", "name"), subject, strict=True):
            event.setdefault(key, value)
    return event


_SHARED: Final[tuple[Processor, ...]] = (
    with_subject,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
)


def configure(level: str = "info", *, json: bool | None = None, file: TextIO | None = None) -> None:
    """Send every log line, also those of libraries, to standard error; as JSON unless that is a terminal."""
    file = file or sys.stderr
    as_json = not file.isatty() if json is None else json
    rendering = _json() if as_json else _console(file)
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*_SHARED, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(file),
    )
    handler = logging.StreamHandler(file)
    remove = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=_SHARED, processors=[remove, *rendering])
    )
    logging.basicConfig(handlers=[handler], level=max(threshold, logging.INFO), force=True)


def _json() -> tuple[Processor, ...]:
    return (
        structlog.processors.format_exc_info,
        structlog.processors.EventRenamer("message"),
        structlog.processors.JSONRenderer(),
    )


def _console(file: TextIO) -> tuple[Processor, ...]:
    colors = file.isatty() and not os.environ.get("NO_COLOR")
    plain = structlog.dev.plain_traceback
    return (structlog.dev.ConsoleRenderer(colors=colors, timestamp_key="time", exception_formatter=plain),)
