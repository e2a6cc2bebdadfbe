"""What the API server can answer instead of what was asked, typed by what happens next.

A caller never looks at status codes. It catches the class that says what to do: read again (`Conflict`),
list again (`Gone`), wait (`Throttled`, `Unavailable`), tell the user (`Invalid`, `Forbidden`), or be content
(`NotFound` on a deletion, `AlreadyExists` on a creation by a name that only we give).
"""

# ruff: noqa: N818 — the classes are named after what is the case; "Error" behind each would add nothing

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from hibernator.kube.backoff import asked_to_wait


class Cause(NamedTuple):
    """One thing that the API server disliked."""

    field: str
    message: str
    reason: str = ""


class ApiError(Exception):
    """Something else than the expected answer. `message` is the server's, `request` what was asked."""

    def __init__(
        self,
        message: str,
        *,
        request: str = "",
        status: int = 0,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
    ) -> None:
        super().__init__(f"{message} ({request})" if request else message)
        self.message = message
        self.request = request
        self.status = status
        self.reason = reason
        self.causes = causes


class NotFound(ApiError):
    """It is not there. Also what a whole kind answers whose CRD is not installed."""


class AlreadyExists(ApiError):
    """Something of this name is there already."""


class Conflict(ApiError):
    """It is no longer what the precondition said: read it again and decide again."""


class Gone(ApiError):
    """The version, or the continuation of a list, is too old for the server to go on from: list again."""


class Invalid(ApiError):
    """The request itself is wrong and stays wrong; `causes` names the fields."""


class Forbidden(ApiError):
    """A permission is missing, a quota is used up, or an admission rule said no."""


class Unauthorized(ApiError):
    """The credentials were refused, also after they were loaded afresh."""


class Throttled(ApiError):
    """Too many requests; nothing was done. Try again after `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: float = 1.0, **details: Any) -> None:
        super().__init__(message, **details)
        self.retry_after = retry_after


class Unavailable(ApiError):
    """No answer, or one that says nothing about the request: try again later.

    `maybe_committed` is true when a write was sent and its answer lost. Then no one knows whether it
    happened, and the only way to find out is to read.
    """

    def __init__(
        self, message: str, *, maybe_committed: bool = False, retry_after: float | None = None, **details: Any
    ) -> None:
        super().__init__(message, **details)
        self.maybe_committed = maybe_committed
        self.retry_after = retry_after


class Undecodable(ApiError):
    """The object is there, but not of the shape that its type says. A write that gets this did happen."""


class BadCredentials(ApiError):
    """What should let us into the cluster is missing or wrong; nothing helps but to change it."""


class _StatusCause(msgspec.Struct, frozen=True):
    field: str = ""
    message: str = ""
    reason: str = ""


class _StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    causes: tuple[_StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """How the API server words an error, as the body of an answer or inside a watch."""

    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _StatusDetails | None = None


_LONGEST_MESSAGE: Final = 1000

_BY_CODE: Final[Mapping[int, type[ApiError]]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: Invalid,
    406: Invalid,
    409: Conflict,
    410: Gone,
    413: Invalid,
    415: Invalid,
    422: Invalid,
}
_TOO_MANY: Final = 429
_LONGEST_REST = 60.0  # a server that asks for more is asked again after this long all the same


def from_answer(
    code: int,
    body: bytes,
    *,
    reads: bool,
    request: str = "",
    retry_after: str = "",
    trusted: bool = True,
) -> ApiError:
    """Type an answer that is not a success.

    Where users name the server (not `trusted`), nothing of what is no API server's answer is passed on: the
    status of an object is no window into other people's services.
    """
    try:
        status = msgspec.json.decode(body, type=Status)
    except (ValueError, RecursionError):
        # A proxy or balancer in between, which answers in HTML or in nothing.
        status = Status(message=body[:200].decode(errors="replace").strip())
    if not trusted:
        known = status.message[:_LONGEST_MESSAGE] if status.kind == "Status" else ""
        status = msgspec.structs.replace(status, message=known or f"it answered {code}, unlike an API server")
    return from_status(status, code, reads=reads, request=request, retry_after=retry_after)


def from_status(
    status: Status, code: int, *, reads: bool, request: str = "", retry_after: str = ""
) -> ApiError:
    """Type what the API server said, in an answer or inside a watch."""
    details = status.details or _StatusDetails()
    said: dict[str, Any] = {
        "request": request,
        "status": code,
        "reason": status.reason,
        "causes": tuple(Cause(cause.field, cause.message, cause.reason) for cause in details.causes),
    }
    message = status.message or f"the API server answered {code} without saying why"
    rest = min(asked_to_wait(retry_after) or 0.0, _LONGEST_REST) or float(details.retry_after_seconds)
    if code == _TOO_MANY:
        return Throttled(message, retry_after=rest or 1.0, **said)
    if status.reason == "AlreadyExists":
        return AlreadyExists(message, **said)
    if error := _BY_CODE.get(code):
        return error(message, **said)
    return Unavailable(message, maybe_committed=not reads, retry_after=rest or None, **said)
