"""What stands in a schedule and cannot be read. `problems` turns these into places in a document."""


class ScheduleError(ValueError):
    """A value with which no timeline can be computed: what is wrong with it, and what to write instead."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class UnknownTimezoneError(ScheduleError):
    """A name that the IANA database does not know. Scalers fall back to their default replicas on it."""
