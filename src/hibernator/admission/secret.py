"""Where all replicas find the same keyring: a Secret in the operator's namespace."""

from typing import Final

import structlog
from whenever import Instant

from hibernator.admission.certificates import Keyring, first, from_data, to_data
from hibernator.api.core import SECRETS, Secret
from hibernator.kube.client import Client
from hibernator.kube.errors import AlreadyExists, NotFound

NAME: Final = "hibernator-webhook-certificates"

_log: Final = structlog.get_logger(__name__)


async def ensure(client: Client, namespace: str, names: frozenset[str], now: Instant) -> Secret:
    """The Secret; whoever comes first makes it, and whoever else comes reads that one."""
    try:
        return await client.get(SECRETS, NAME, namespace)
    except NotFound:
        body = {"metadata": {"name": NAME}, "data": to_data(first(names, now))}
    try:
        return await client.create(SECRETS, body, namespace)
    except AlreadyExists:
        return await client.get(SECRETS, NAME, namespace)


async def save(client: Client, secret: Secret, ring: Keyring) -> Secret:
    """Write the keyring, if nobody has written to the Secret since it was read."""
    return await client.patch(
        SECRETS,
        secret.metadata.name,
        secret.metadata.namespace,
        {"data": dict.fromkeys(secret.data) | to_data(ring)},
        resource_version=secret.metadata.resource_version,
    )


def keyring_of(secret: Secret) -> Keyring | None:
    """What the Secret holds; None, with a word in the log, when somebody has broken it."""
    try:
        return from_data(secret.data)
    except ValueError as error:
        _log.warning("the webhook certificates cannot be used", secret=secret.metadata.name, why=str(error))
        return None
