"""In which cluster a target lives: the operator's own, unless its connector says otherwise."""

from typing import Protocol

from hibernator.executors.protocol import Job
from hibernator.kube.client import Client


class Clusters(Protocol):
    async def client(self, job: Job) -> Client:
        """The client for the target's cluster; the errors of `protocol` when it cannot be reached."""
