"""Certificates of our own, in a Secret that all replicas serve from and that the leader keeps up to date."""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from hibernator.admission.certificates import Keyring, first, from_data, next_step, step, to_data
from hibernator.admission.kept import KeptSecret
from hibernator.admission.server import WebhookServer
from hibernator.api.core import Secret
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock

NAME: Final = "hibernator-webhook-certificates"

Announce = Callable[[bytes | None], Awaitable[None]]

_log: Final = structlog.get_logger(__name__)


class OwnCertificates:
    def __init__(
        self, client: Client, secrets: Cache[Secret], namespace: str, names: frozenset[str], clock: Clock
    ) -> None:
        self._secret = KeptSecret(client, secrets, namespace, NAME)
        self._names = names
        self._clock = clock

    @staticmethod
    def cache(client: Client, namespace: str) -> Cache[Secret]:
        return KeptSecret.cache(client, namespace, NAME)

    async def renew(self, announce: Announce) -> float:
        """Take the next step if one is due, and say in how many seconds another will be.

        What is in force is announced first: a certificate may be served only after its authority was told.
        """
        now = self._clock.now()
        secret = await self._secret.read() or await self._secret.make(to_data(first(self._names, now)))
        ring = keyring_of(secret)
        if ring:
            await announce(ring.bundle)
        renewed = step(ring, self._names, now) if ring else first(self._names, now)
        if renewed != ring:
            await self._secret.save(secret, to_data(renewed))
            await announce(renewed.bundle)
        return (next_step(renewed) - now).total("seconds")


def follow(secrets: Cache[Secret], server: WebhookServer) -> None:
    """Serve what the Secret holds, from now on and whenever it changes."""

    def changed(_old: Secret | None, new: Secret | None) -> None:
        if new and (ring := keyring_of(new)):
            server.use(ring.current)

    secrets.on_change(changed)


def keyring_of(secret: Secret) -> Keyring | None:
    """What the Secret holds; None, with a word in the log, when it cannot be used."""
    try:
        return from_data(secret.data)
    except ValueError as error:
        _log.warning("the webhook certificates cannot be used", secret=secret.metadata.name, why=str(error))
        return None
