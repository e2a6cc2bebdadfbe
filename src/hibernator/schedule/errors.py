"""What cannot be read: in a schedule, where `problems` turns it into places in a document, or as a time."""

from typing import Final

FORMS: Final = "07:00, tomorrow 07:00, 4h, 2026-11-20 or 2026-11-20T07:00:00Z"  # of a time


class ScheduleError(ValueError):
    """A value with which no timeline can be computed: what is wrong with it, and what to write instead."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class UnknownTimezoneError(ScheduleError):
    """A name that the IANA database does not know. Scalers fall back to their default replicas on it."""


class TimeError(Exception):
    """What a person wrote as a time and cannot be used; `hint` says how to write it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
