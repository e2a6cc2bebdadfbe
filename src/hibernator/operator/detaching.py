"""Takes back what an operator registered with the API server, for the day on which it is removed.

CRDs outlive the operator, because the objects go with them. A CRD that still names a converter which is gone
cannot be read in all its versions, and keeps its namespaces from being deleted; anyone who writes waits for
webhooks that no one answers; and anyone who deletes, for someone who takes a finalizer off. Only a plan that
has put something to sleep keeps its own: it says how everything is woken.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeVar

from hibernator.admission.registration import DEFINITIONS
from hibernator.admission.webhooks.configurations import MUTATING, NAME, VALIDATING
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.api.timewindowscaler import SCALERS
from hibernator.decisions import hibernateplan_case, scheduleexception
from hibernator.decisions.hibernateplan_status import standing
from hibernator.kube.client import Client
from hibernator.kube.errors import NotFound
from hibernator.operator.roles import Right, to

T = TypeVar("T", bound=Object)

_FINALIZERS: Final[tuple[tuple[Kind[Any], str], ...]] = (
    (EXCEPTIONS, scheduleexception.FINALIZER),
    (PLANS, hibernateplan_case.FINALIZER),
)
RIGHTS: Final[tuple[Right, ...]] = (
    to(DEFINITIONS, "get", "patch", names=(SCALERS.resource,)),
    *(to(kind, "get", "delete", names=(NAME,)) for kind in (MUTATING, VALIDATING)),
    *(to(kind, "list", "patch") for kind, _ in _FINALIZERS),
    *(to(kind, "update", part="finalizers") for kind, _ in _FINALIZERS),
)

_NO_CONVERSION: Final = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}


async def detach(client: Client) -> tuple[str, ...]:
    """Do it, and say in a sentence each what was taken back."""
    done = [
        await _conversion(client),
        *[await _configuration(client, kind) for kind in (MUTATING, VALIDATING)],
        *[await _release(client, kind, finalizer) for kind, finalizer in _FINALIZERS],
    ]
    return tuple(filter(None, done))


def rules() -> Iterator[dict[str, Any]]:
    """What the user who does it must be allowed."""
    return (right.rule() for right in RIGHTS)


async def _conversion(client: Client) -> str:
    try:
        found = await client.get(DEFINITIONS, SCALERS.resource)
    except NotFound:
        return ""
    if found.spec.conversion.strategy != "Webhook":
        return ""
    version = found.metadata.resource_version
    await client.patch(DEFINITIONS, SCALERS.resource, "", _NO_CONVERSION, resource_version=version)
    return f"{SCALERS.resource} is no longer converted by a webhook."


async def _configuration(client: Client, kind: Any) -> str:
    try:
        found = await client.get(kind, NAME)
        await client.delete(kind, NAME, uid=found.metadata.uid)
    except NotFound:
        return ""
    return f"The {kind.kind} {NAME} is deleted."


async def _release(client: Client, kind: Kind[T], finalizer: str) -> str:
    """Let the objects of a kind be deleted without an operator."""
    try:
        held = [one for one in await client.list(kind) if finalizer in one.metadata.finalizers]
    except NotFound:
        return ""
    asleep = [one for one in held if isinstance(one, HibernatePlan) and is_asleep(one)]
    for one in held:
        if one not in asleep:
            await without(client, kind, one, finalizer)
    freed = len(held) - len(asleep)
    sentences = [f"{freed} of {kind.resource} can be deleted without an operator."] if freed else []
    sentences += [
        f"HibernatePlan {one.metadata.namespace}/{one.metadata.name} has things asleep: let an operator wake "
        f"them (`hibernator plan wake`), or take the finalizer {finalizer} off by hand."
        for one in asleep
    ]
    return "\n".join(sentences)


async def without(client: Client, kind: Kind[T], one: T, finalizer: str) -> None:
    """Take a finalizer off an object, at the version that was read."""
    metadata = one.metadata
    left = [name for name in metadata.finalizers if name != finalizer]
    await client.patch(
        kind,
        metadata.name,
        metadata.namespace,
        {"metadata": {"finalizers": left}},
        resource_version=metadata.resource_version,
    )


def is_asleep(plan: HibernatePlan) -> bool:
    return plan.status.current_operation is not None or standing(plan.status, ()) == "Asleep"
