"""The one way in which this package says that a control plane cannot be had."""


class ControlPlaneError(Exception):
    """What went wrong, in a sentence for a person; `hint` says what to do about it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class FetchError(ControlPlaneError):
    """Something could not be downloaded."""
