"""How commands end. The table in docs/reference/exit-codes.md is checked against this one."""

from enum import IntEnum


class Exit(IntEnum):
    OK = 0  # it was done, or the answer is yes
    FOUND = 1  # the input has mistakes, or the answer is no
    USAGE = 2  # the command line itself is wrong
    UNAVAILABLE = 3  # something that is needed cannot be reached, found or built
    REFUSED = 4  # the cluster said no: a permission is missing, or a policy does not allow it
    UNPROVEN = 5  # what could be compared fits, but not everything that was asked could be compared
    WAITING = 6  # it was requested, and waits for people or is not finished yet
    CONFLICT = 7  # something else is in the way: another object, or a change since it was shown
    LOST = 75  # the operator led and does not any more; start it again
    INTERRUPTED = 130  # Ctrl-C


class ReaderGoneError(Exception):
    """The reader of the output has seen enough. Not an `OSError`, which Typer would end with a 1."""


class CliError(Exception):
    """Ends a command with a sentence for a person; never with a traceback."""

    def __init__(self, message: str, *, hint: str = "", code: Exit = Exit.FOUND) -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code
