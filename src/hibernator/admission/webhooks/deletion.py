"""Records who asks to delete an object, before it is deleted: nothing says so afterwards.

A controller sees that an object is gone, without the user; a webhook sees the user, and not whether the
deletion went through. So each request is an event of its own, durable before the API server is answered, and
the event of the deletion takes its actor from there. No deletion fails for this, or waits longer than three
seconds.
"""

import asyncio
from typing import Any, Final

from whenever import Instant

from hibernator.admission.review import WITHIN, AdmissionRequest, Allowed, Judge, Keep, Verdict, recorded
from hibernator.api.meta import Object
from hibernator.audit import asked
from hibernator.audit.event import AuditEvent, Resource, event, person
from hibernator.kube.clock import Clock

PATH: Final = "/delete"


def deletion(keep: Keep, real: Clock, within: float = WITHIN) -> Judge:
    """The clock is the one of the API server, which says when something began to go."""

    async def record(request: AdmissionRequest) -> Verdict:
        until = asyncio.get_running_loop().time() + within
        is_going = request.old(Object).metadata.deletion_timestamp is not None
        if not request.dry_run and not is_going:
            await recorded(keep, request, lambda: _requested(request, real.now()), until)
        return Allowed()

    return record


def _requested(request: AdmissionRequest, at: Instant) -> AuditEvent:
    """Named by the request: someone who was refused may ask again."""
    document = request.old(dict[str, Any])
    metadata = document["metadata"]
    return event(
        asked.TYPE,
        Resource(
            group=request.resource.group,
            kind=document["kind"],
            namespace=metadata.get("namespace", ""),
            name=metadata["name"],
            uid=metadata["uid"],
        ),
        at=at,
        identity=(request.uid,),
        actor=person(request.user_info.username),
        channel="admission",
    )
