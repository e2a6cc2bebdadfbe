"""The keys of the webhooks' paths, in a Secret that all replicas read and the leader keeps up to date."""

from typing import Final, NamedTuple

import structlog

from hibernator.admission.keyrings import KeptSecret
from hibernator.admission.paths import (
    Gate,
    PathKey,
    PathKeys,
    first,
    from_data,
    next_step,
    registered,
    step,
    to_data,
)
from hibernator.api.core import Secret
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock

NAME: Final = "hibernator-webhook-paths"

_log: Final = structlog.get_logger(__name__)


class Renewed(NamedTuple):
    key: PathKey  # whose paths are to be registered
    after: float  # seconds until there is something to do again


class OwnPaths:
    def __init__(
        self, client: Client, secrets: Cache[Secret], namespace: str, gate: Gate, clock: Clock
    ) -> None:
        self._secret = KeptSecret(client, secrets, namespace, NAME)
        self._gate = gate
        self._clock = clock

    @staticmethod
    def cache(client: Client, namespace: str) -> Cache[Secret]:
        return KeptSecret.cache(client, namespace, NAME)

    async def renew(self) -> Renewed:
        """Take the next step if one is due. What is to be registered is let in here from now on."""
        now = self._clock.now()
        secret = await self._secret.read() or await self._secret.make(to_data(first(now)))
        keys = keys_of(secret)
        renewed = step(keys, now) if keys else first(now)
        if renewed != keys:
            await self._secret.save(secret, to_data(renewed))
        self._gate.use(renewed)
        return Renewed(registered(renewed, now), (next_step(renewed, now) - now).total("seconds"))


def follow(secrets: Cache[Secret], gate: Gate) -> None:
    """Let in by the keys that the Secret holds, from now on and whenever it changes."""

    def changed(_old: Secret | None, new: Secret | None) -> None:
        if new and (keys := keys_of(new)):
            gate.use(keys)

    secrets.on_change(changed)


def keys_of(secret: Secret) -> PathKeys | None:
    """What the Secret holds; None, with a line in the log, when it cannot be used."""
    try:
        return from_data(secret.data)
    except ValueError as error:
        _log.warning("webhook paths unusable", secret=secret.metadata.name, why=str(error))
        return None
