"""The ExceptionPolicies that may be about a namespace, as far as the user may see them."""

from collections.abc import Mapping
from dataclasses import dataclass

from hibernator.api.core import NAMESPACES
from hibernator.api.exceptionpolicy import EXCEPTION_POLICIES, ExceptionPolicy
from hibernator.kube.client import Client
from hibernator.kube.errors import Forbidden


@dataclass(frozen=True, slots=True)
class PoliciesSeen:
    policies: tuple[ExceptionPolicy, ...]
    labels: Mapping[str, str]  # of the namespace, which policies of the operator's namespace select by
    hidden: bool  # whether those of the operator's namespace may not be seen


async def policies_seen(client: Client, namespace: str, home: str) -> PoliciesSeen:
    """Raises Forbidden where not even those of the namespace may be seen."""
    near, far, hidden = await client.list(EXCEPTION_POLICIES, namespace), [], False
    if namespace != home:
        try:
            far = await client.list(EXCEPTION_POLICIES, home)
        except Forbidden:
            hidden = True
    return PoliciesSeen((*near, *far), await _labels(client, namespace) if far else {}, hidden)


async def _labels(client: Client, namespace: str) -> Mapping[str, str]:
    try:
        return (await client.get(NAMESPACES, namespace)).metadata.labels
    except Forbidden:
        return {}  # then only its name is known
