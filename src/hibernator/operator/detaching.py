"""Takes back what an operator told the API server about itself, for the day on which it is removed.

CRDs outlive the operator, because the objects go with them. A CRD that still names a converter which is gone
cannot be read in all its versions, and keeps its namespaces from being deleted; and whoever writes waits for
webhooks that nobody answers.
"""

from collections.abc import Iterator
from typing import Any, Final

from hibernator.admission.registration import DEFINITIONS
from hibernator.admission.webhooks.configurations import MUTATING, NAME, VALIDATING
from hibernator.api.timewindowscaler import SCALERS
from hibernator.kube.client import Client
from hibernator.kube.errors import NotFound
from hibernator.operator.roles import Right, to

RIGHTS: Final[tuple[Right, ...]] = (
    to(DEFINITIONS, "get", "patch", names=(SCALERS.resource,)),
    *(to(kind, "get", "delete", names=(NAME,)) for kind in (MUTATING, VALIDATING)),
)

_NOBODY_CONVERTS: Final = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}


async def detach(client: Client) -> tuple[str, ...]:
    """Do it, and say in a sentence each what was taken back."""
    done = [
        await _conversion(client),
        *[await _configuration(client, kind) for kind in (MUTATING, VALIDATING)],
    ]
    return tuple(filter(None, done))


def rules() -> Iterator[dict[str, Any]]:
    """What whoever does it must be allowed."""
    return (right.rule() for right in RIGHTS)


async def _conversion(client: Client) -> str:
    try:
        found = await client.get(DEFINITIONS, SCALERS.resource)
    except NotFound:
        return ""
    if found.spec.conversion.strategy != "Webhook":
        return ""
    version = found.metadata.resource_version
    await client.patch(DEFINITIONS, SCALERS.resource, "", _NOBODY_CONVERTS, resource_version=version)
    return f"{SCALERS.resource} is no longer converted by a webhook."


async def _configuration(client: Client, kind: Any) -> str:
    try:
        found = await client.get(kind, NAME)
        await client.delete(kind, NAME, uid=found.metadata.uid)
    except NotFound:
        return ""
    return f"The {kind.kind} {NAME} is deleted."
