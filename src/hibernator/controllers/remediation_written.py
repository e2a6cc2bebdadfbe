"""When the API server took a decision, by its own clock: what it keeps about who wrote which field.

Only asked for when a decision is first seen after its deadline, because nobody was there to see it in time.
The time that people write into a condition is theirs to choose, and proves nothing.
"""

from datetime import datetime
from typing import Any, Final

from whenever import Instant

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object, ObjectMeta
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.kube.client import Client


class _Entry(Model):
    time: datetime | None = None
    fields_v1: Any = None


class _Metadata(ObjectMeta):
    managed_fields: tuple[_Entry, ...] = ()


class _Managed(Object):
    metadata: _Metadata = _Metadata()


_KIND: Final = Kind(
    _Managed,
    APPROVAL_REQUESTS.group,
    APPROVAL_REQUESTS.version,
    APPROVAL_REQUESTS.kind,
    APPROVAL_REQUESTS.plural,
)


async def written_at(client: Client, request: RemediationApprovalRequest, condition: str) -> Instant | None:
    """When a condition was last written; None where the API server does not know."""
    metadata = request.metadata
    found = await client.get(_KIND, metadata.name, metadata.namespace)
    if found.metadata.uid != metadata.uid:
        return None
    times = [
        entry.time
        for entry in found.metadata.managed_fields
        if entry.time and _has(entry.fields_v1, condition)
    ]
    return Instant(max(times)) if times else None


def _has(fields: Any, condition: str) -> bool:
    for step in ("f:status", "f:conditions", f'k:{{"type":"{condition}"}}'):
        if not isinstance(fields, dict) or step not in fields:
            return False
        fields = fields[step]
    return True
