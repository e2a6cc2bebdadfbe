"""Certificates of our own, in a Secret that all replicas serve from and that the leader keeps up to date."""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from hibernator.admission.certificates import Keyring, first, from_data, next_step, step, to_data
from hibernator.admission.server import WebhookServer
from hibernator.api.core import SECRETS, Secret
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.errors import AlreadyExists, NotFound

NAME: Final = "hibernator-webhook-certificates"

Announce = Callable[[bytes | None], Awaitable[None]]

_log: Final = structlog.get_logger(__name__)


class OwnCertificates:
    def __init__(
        self, client: Client, secrets: Cache[Secret], namespace: str, names: frozenset[str], clock: Clock
    ) -> None:
        self._client = client
        self._secrets = secrets
        self._namespace = namespace
        self._names = names
        self._clock = clock

    @staticmethod
    def cache(client: Client, namespace: str) -> Cache[Secret]:
        """A cache of the one Secret that matters here; no other is ever read."""
        return Cache(client, SECRETS, namespace, field_selector=f"metadata.name={NAME}")

    async def renew(self, announce: Announce) -> float:
        """Take the next step if one is due, and say in how many seconds another will be.

        What is in force is announced first: a certificate may be served only after its authority was told.
        """
        secret = self._secrets.get(self._namespace, NAME) or await self._ensure()
        now = self._clock.now()
        ring = keyring_of(secret)
        if ring:
            await announce(ring.bundle)
        renewed = step(ring, self._names, now) if ring else first(self._names, now)
        if renewed != ring:
            self._secrets.wrote(await self._save(secret, renewed))
            await announce(renewed.bundle)
        return (next_step(renewed) - now).total("seconds")

    async def _ensure(self) -> Secret:
        """Whoever comes first makes the Secret, and whoever else comes reads that one."""
        try:
            return await self._client.get(SECRETS, NAME, self._namespace)
        except NotFound:
            data = to_data(first(self._names, self._clock.now()))
        try:
            return await self._client.create(
                SECRETS, {"metadata": {"name": NAME}, "data": data}, self._namespace
            )
        except AlreadyExists:
            return await self._client.get(SECRETS, NAME, self._namespace)

    async def _save(self, secret: Secret, ring: Keyring) -> Secret:
        return await self._client.patch(
            SECRETS,
            NAME,
            self._namespace,
            {"data": dict.fromkeys(secret.data) | to_data(ring)},
            resource_version=secret.metadata.resource_version,
        )


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
