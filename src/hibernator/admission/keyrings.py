"""Where the certificates of the webhooks come from: a Secret of our own, or a folder that others fill.

The first replica that needs the Secret makes it, all serve from it, and the leader keeps it up to date. A
folder is mounted into the pod, and filled by cert-manager for example.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import structlog

from hibernator.admission.certificates import (
    BUNDLE,
    CERTIFICATE,
    KEY,
    Keyring,
    Pair,
    first,
    from_data,
    next_step,
    step,
    to_data,
)
from hibernator.admission.server import WebhookServer
from hibernator.api.core import SECRETS, Secret
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.errors import AlreadyExists, NotFound


class KeptSecret:
    def __init__(self, client: Client, secrets: Cache[Secret], namespace: str, name: str) -> None:
        self._client = client
        self._secrets = secrets
        self._namespace = namespace
        self._name = name

    @staticmethod
    def cache(client: Client, namespace: str, name: str) -> Cache[Secret]:
        """A cache of the one Secret that matters here; no other is ever read."""
        return Cache(client, SECRETS, namespace, field_selector=f"metadata.name={name}")

    async def read(self) -> Secret | None:
        if found := self._secrets.get(self._namespace, self._name):
            return found
        try:
            return await self._client.get(SECRETS, self._name, self._namespace)
        except NotFound:
            return None

    async def make(self, data: Mapping[str, bytes]) -> Secret:
        """The first replica makes the Secret, and all others read that one."""
        body = {"metadata": {"name": self._name}, "data": data}
        try:
            return await self._client.create(SECRETS, body, self._namespace)
        except AlreadyExists:
            return await self._client.get(SECRETS, self._name, self._namespace)

    async def save(self, secret: Secret, data: Mapping[str, bytes]) -> None:
        written = await self._client.patch(
            SECRETS,
            self._name,
            self._namespace,
            {"data": dict.fromkeys(secret.data) | dict(data)},
            resource_version=secret.metadata.resource_version,
        )
        self._secrets.wrote(written)


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

        What is in force is announced first: a certificate may be served only after its authority.
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


_LOOK_EVERY: Final = 30.0  # seconds; a kubelet takes a minute to bring a new version anyway


class MountedCertificates:
    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock

    async def serve(self, server: WebhookServer) -> None:
        """Serve what is in the folder, until cancelled; what cannot be used is logged and tried again."""
        while True:
            try:
                server.use(self._pair())
            except (OSError, ValueError) as error:
                # Two files are never replaced at the same time; the next look finds them together.
                _log.warning(
                    "the webhook certificates cannot be used", folder=str(self._folder), why=str(error)
                )
            await self._clock.sleep(_LOOK_EVERY)

    async def renew(self, announce: Announce) -> float:
        """Announce the authority, if the folder has one; others may take care of it as well."""
        await announce(self._bundle())
        return _LOOK_EVERY

    def _pair(self) -> Pair:
        return Pair((self._folder / CERTIFICATE).read_bytes(), (self._folder / KEY).read_bytes())

    def _bundle(self) -> bytes | None:
        file = self._folder / BUNDLE
        return file.read_bytes() if file.is_file() else None
