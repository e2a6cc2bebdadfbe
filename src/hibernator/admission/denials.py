"""Tells the audit trail whom a webhook has refused what, and why.

A refusal leaves no trace in any object that could be told from later. So it is written down before the API
server hears it: in the trail, or in the spool while the database is away, because nobody shall be let in, or
kept waiting, for that.
What the API server refuses by its own policies never comes here; its own audit log has that.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import structlog
from whenever import Instant

from hibernator.admission.review import AdmissionRequest, Denied, Verdict
from hibernator.audit.event import AuditEvent, Resource, event, person
from hibernator.kube.errors import ApiError

PATIENCE: Final = 1.0  # seconds; of the five that a request has

_log: Final = structlog.get_logger(__name__)

Judge = Callable[[AdmissionRequest], Awaitable[Verdict]]


class Keep(Protocol):
    """Returns when the event cannot be lost any more."""

    def __call__(self, told: AuditEvent, /, *, patience: float) -> Awaitable[None]: ...


def on_record(judge: Judge, keep: Keep, now: Callable[[], Instant], patience: float = PATIENCE) -> Judge:
    """The same judge, whose refusals are in the trail. A dry run changes nothing, the trail included."""

    async def judged(request: AdmissionRequest) -> Verdict:
        verdict = await judge(request)
        if isinstance(verdict, Denied) and not request.dry_run:
            try:
                await keep(denial(request, verdict, now()), patience=patience)
            except (ApiError, OSError, TimeoutError) as error:  # it stays refused, and told from memory
                _log.warning("a refusal is in memory only", name=request.name, why=str(error))
        return verdict

    return judged


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
        error=verdict.message,
    )
