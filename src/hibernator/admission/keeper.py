"""What the leader does so that API servers find the webhooks of all replicas and trust them."""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from hibernator.admission.keyrings import Announce
from hibernator.admission.pathsecret import Renewed
from hibernator.admission.registration import DEFINITIONS, CustomResourceDefinition, Endpoint, correction
from hibernator.admission.server import WebhookServer
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.controller import Key, Result

_STARTING: Final = 10.0  # seconds that the server may take to listen once it has a certificate


class Certificates(Protocol):
    async def renew(self, announce: Announce) -> float:
        """Do what is due and say in how many seconds to come again; `announce` tells whom to trust."""


class Paths(Protocol):
    async def renew(self) -> Renewed:
        """Do what is due and say whose paths to register, and in how many seconds to come again."""


class Registration(Protocol):
    async def register(self, endpoint: Endpoint, bundle: bytes | None) -> None:
        """Make the API server come to us, if it does not already."""


class ConversionRegistration:
    """The conversion webhook of one kind."""

    def __init__(self, client: Client, definitions: Cache[CustomResourceDefinition], name: str) -> None:
        self._client = client
        self._definitions = definitions
        self._name = name

    @staticmethod
    def cache(client: Client, name: str) -> Cache[CustomResourceDefinition]:
        return Cache(client, DEFINITIONS, field_selector=f"metadata.name={name}")

    async def register(self, endpoint: Endpoint, bundle: bytes | None) -> None:
        definition = self._definitions.get("", self._name)
        if definition is None:
            return  # not installed yet; the cache will tell
        if patch := correction(definition, endpoint, bundle):
            version = definition.metadata.resource_version
            written = await self._client.patch(DEFINITIONS, self._name, "", patch, resource_version=version)
            self._definitions.wrote(written)


class Keeper:
    def __init__(
        self,
        certificates: Certificates,
        paths: Paths,
        registrations: Sequence[Registration],
        endpoint: Endpoint,
        server: WebhookServer,
    ) -> None:
        self._certificates = certificates
        self._paths = paths
        self._registrations = registrations
        self._endpoint = endpoint
        self._server = server

    async def reconcile(self, _key: Key) -> Result:
        """Renew and register what has to be."""
        paths = await self._paths.renew()
        endpoint = self._endpoint.at(paths.key.path)

        async def announce(bundle: bytes | None) -> None:
            await self._announce(endpoint, bundle)

        return Result(min(paths.after, await self._certificates.renew(announce)))

    async def _announce(self, endpoint: Endpoint, bundle: bytes | None) -> None:
        # Anyone who is sent here shall find the door open.
        async with asyncio.timeout(_STARTING):
            await self._server.listening.wait()
        for registration in self._registrations:
            await registration.register(endpoint, bundle)
