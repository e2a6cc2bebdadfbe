"""Tells the audit trail whom a webhook has refused what, and why.

A refusal leaves no trace in any object that could be told from later. So it is written down before the API
server hears it: in the trail, or in the spool while the database is away. The answer does not depend on that:
it stays the same when nothing can be recorded, and it is there before the API server gives up, which would
let the request in.
What the API server refuses by its own policies never comes here; its own audit log has that.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import structlog
from whenever import Instant

from hibernator.admission.review import AdmissionRequest, Denied, Verdict
from hibernator.audit.event import AuditEvent, Resource, clean, event, person

WITHIN: Final = 3.0  # seconds for judging and recording together; the application allows a request four
PATIENCE: Final = 1.0  # of them for the database

_LONGEST_ERROR: Final = 1024  # characters; it quotes what somebody has written

_log: Final = structlog.get_logger(__name__)

Judge = Callable[[AdmissionRequest], Awaitable[Verdict]]


class Keep(Protocol):
    """Returns when the event cannot be lost any more."""

    def __call__(self, told: AuditEvent, /, *, patience: float) -> Awaitable[None]: ...


def on_record(judge: Judge, keep: Keep, now: Callable[[], Instant], within: float = WITHIN) -> Judge:
    """The same judge, whose refusals are in the trail. A dry run changes nothing, the trail included."""

    async def judged(request: AdmissionRequest) -> Verdict:
        until = asyncio.get_running_loop().time() + within
        verdict = await judge(request)
        if isinstance(verdict, Denied) and not request.dry_run:
            await recorded(keep, request, lambda: denial(request, verdict, now()), until)
        return verdict

    return judged


async def recorded(
    keep: Keep, request: AdmissionRequest, tell: Callable[[], AuditEvent], until: float
) -> None:
    """Return when the event cannot be lost any more, or when the time is up; it never fails."""
    try:
        async with asyncio.timeout_at(until):
            await keep(tell(), patience=PATIENCE)
    except Exception as error:  # noqa: BLE001 — the answer to the API server must not depend on its record
        _log.warning(
            "admission record is in memory only",
            operation=request.operation,
            name=request.name,
            user=request.user_info.username,
            why=str(error) or type(error).__name__,
        )


def denial(request: AdmissionRequest, verdict: Denied, at: Instant) -> AuditEvent:
    """Named by the request, of which there is one, however often somebody asks again."""
    document = request.new(dict[str, Any])
    metadata, user = document.get("metadata", {}), request.user_info.username
    return event(
        "admission.denied",
        Resource(
            group=request.resource.group,
            kind=str(document.get("kind", request.resource.resource)),
            namespace=request.namespace,
            name=request.name or str(metadata.get("name", metadata.get("generateName", ""))),
            uid=str(metadata.get("uid", "")),
        ),
        at=at,
        identity=(request.uid,),
        actor=person(user),
        channel="admission",
        data={"operation": request.operation, "part": request.sub_resource},
        error=clean(verdict.message, _LONGEST_ERROR),
    )
