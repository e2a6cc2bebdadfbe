"""A Secret of ours: the first replica that needs it makes it, all read it, the leader changes it."""

from collections.abc import Mapping

from hibernator.api.core import SECRETS, Secret
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
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
        """Whoever comes first makes the Secret, and whoever else comes reads that one."""
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
