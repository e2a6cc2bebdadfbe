"""Each assertion logs in once, at whichever replica: of several that create one object, one succeeds.

A Lease named after the assertion is all that is kept, until the assertion would be refused for its age.
"""

import asyncio
import hashlib
from typing import Final

import structlog
from whenever import Instant

from hibernator.api.core import LEASES, micro_time
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.errors import AlreadyExists, ApiError, NotFound
from hibernator.web import ended
from hibernator.web.saml.response import Assertion, NotBelievedError

PREFIX: Final = "hibernator-saml-"  # a policy lets the web process delete no other Lease
LABEL: Final = "hibernator.ardikabs.com/saml-assertion"
_LETTERS: Final = 40
_FORGET_EVERY: Final = 600.0  # seconds

_log: Final = structlog.get_logger(__name__)


async def use_once(client: Client, namespace: str, assertion: Assertion, now: Instant) -> None:
    """Remember that an assertion was used; raises `NotBelievedError` where it was used before."""
    seconds = max(1, int((assertion.ends_at - now).total("seconds")) + 1)
    lease = {
        "metadata": {"name": _name(assertion), "labels": {LABEL: "used"}},
        "spec": {"renewTime": micro_time(now.to_stdlib()), "leaseDurationSeconds": seconds},
    }
    try:
        await client.create(LEASES, lease, namespace)
    except AlreadyExists:
        raise NotBelievedError("replay", "the SAML response is refused: it was used before") from None


async def forget_old(client: Client, namespace: str, now: Instant, label: str = LABEL) -> None:
    """Delete what is remembered of assertions that are too old to be used at all, or of sessions."""
    for lease in await client.list(LEASES, namespace, label_selector=label):
        spec = lease.spec
        if (
            not spec.renew_time
            or Instant(spec.renew_time).add(seconds=spec.lease_duration_seconds or 0) > now
        ):
            continue
        try:
            await client.delete(LEASES, lease.metadata.name, namespace, uid=lease.metadata.uid)
        except NotFound:
            continue


async def keep_forgetting(client: Client, namespace: str, clock: Clock, leading: asyncio.Event) -> None:
    """Do that every few minutes on the replica that leads, until cancelled."""
    while True:
        await leading.wait()
        try:
            for label in (LABEL, ended.LABEL):
                await forget_old(client, namespace, clock.now(), label)
        except ApiError as error:
            _log.warning("used assertions or ended sessions not forgotten; trying later", error=str(error))
        await clock.sleep(_FORGET_EVERY)


def _name(assertion: Assertion) -> str:
    digest = hashlib.sha256(f"{assertion.issuer}\n{assertion.id}".encode()).hexdigest()
    return f"{PREFIX}{digest[:_LETTERS]}"
