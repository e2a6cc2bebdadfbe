"""Sessions that a log-out has ended: a copy of their cookie is worth nothing, at any replica.

The cookie is the session, and no replica remembers one. Those that ended are the exception: a Lease named
after the session is all that is kept, until the session would be over anyway. Every replica reads these again
and again; while the API server is away, it goes by what it read before.
"""

import hashlib
from typing import Final

import structlog

from hibernator.api.core import LEASES, micro_time
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.errors import AlreadyExists, ApiError
from hibernator.web.sessions import LONGEST, Session

PREFIX: Final = "hibernator-ended-"  # a policy lets the web process write no other Lease
LABEL: Final = "hibernator.ardikabs.com/session"
_LETTERS: Final = 40
_LOOK_EVERY: Final = 5.0  # seconds

_log: Final = structlog.get_logger(__name__)


class Ended:
    def __init__(self, client: Client, namespace: str, clock: Clock) -> None:
        self._client = client
        self._namespace = namespace
        self._clock = clock
        self._here: set[str] = set()  # ended at this replica, and not read yet
        self._read: frozenset[str] = frozenset()

    def has(self, session: Session) -> bool:
        name = _name(session)
        return name in self._here or name in self._read

    async def end(self, session: Session) -> None:
        """Remember it at every replica; while the API server is away, only at this one."""
        name, now = _name(session), self._clock.now()
        self._here.add(name)
        seconds = max(1, int((session.created_at + LONGEST - now).total("seconds")) + 1)
        lease = {
            "metadata": {"name": name, "labels": {LABEL: "ended"}},
            "spec": {"renewTime": micro_time(now.to_stdlib()), "leaseDurationSeconds": seconds},
        }
        try:
            await self._client.create(LEASES, lease, self._namespace)
        except AlreadyExists:
            return  # in another tab
        except ApiError as error:
            _log.warning("log-out not stored for other replicas", error=str(error))

    async def look(self) -> None:
        """Read which sessions were ended at other replicas."""
        found = await self._client.list(LEASES, self._namespace, label_selector=LABEL)
        self._read = frozenset(lease.metadata.name for lease in found)
        self._here -= self._read

    async def follow(self) -> None:
        """Do that every few seconds, until cancelled."""
        while True:
            try:
                await self.look()
            except ApiError as error:
                _log.warning("ended sessions not read; trying again soon", error=str(error))
            await self._clock.sleep(_LOOK_EVERY)


def _name(session: Session) -> str:
    return PREFIX + hashlib.sha256(f"session\n{session.id}".encode()).hexdigest()[:_LETTERS]
