"""In which cluster a target lives: the operator's own, unless its connector says otherwise."""

from typing import Protocol

from hibernator.executors.protocol import Job, Permanent
from hibernator.kube.client import Client


class Clusters(Protocol):
    async def client(self, job: Job) -> Client:
        """The client for the target's cluster; the errors of `protocol` when it cannot be reached."""


class OwnCluster:
    """Knows one cluster only."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def client(self, job: Job) -> Client:
        if reference := job.target.connector_ref:
            raise Permanent(f"The {reference.kind} {reference.name} cannot be reached from here.")
        return self._client
