"""Where the last signed checkpoint of the audit trail is kept: a ConfigMap, out of the database's reach."""

from typing import Final

import msgspec

from hibernator.api.core import CONFIG_MAPS
from hibernator.audit.checkpoints import Checkpoint, read
from hibernator.kube.client import Client
from hibernator.kube.errors import NotFound

NAME: Final = "hibernator-audit-checkpoint"

_KEY: Final = "checkpoint.json"


class CheckpointMemory:
    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def recall(self) -> Checkpoint | None:
        try:
            found = await self._client.get(CONFIG_MAPS, NAME, self._namespace)
        except NotFound:
            return None
        return read(found.data.get(_KEY, "").encode())

    async def remember(self, checkpoint: Checkpoint) -> None:
        body = {
            "metadata": {"name": NAME, "namespace": self._namespace},
            "data": {_KEY: msgspec.json.encode(checkpoint).decode()},
        }
        await self._client.apply(CONFIG_MAPS, body, field_manager="hibernator", force=True)
