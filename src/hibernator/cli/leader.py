"""Which replica of the operator leads, for a person who waits for its answer."""

from collections.abc import Awaitable, Callable
from typing import Final

from whenever import Instant

from hibernator.api.core import LEASES, Lease
from hibernator.cli.cluster import Session
from hibernator.kube.client import Client
from hibernator.kube.clock import steady
from hibernator.kube.errors import ApiError
from hibernator.schedule.spoken import relative

_LOOK_EVERY: Final = 0.2


async def until(fact: Callable[[], Awaitable[bool]], longest_seconds: float) -> bool:
    """Whether it became so in time.

    No look is broken off: its connection would still be closing when the command ends. It has a deadline.
    """
    import asyncio

    give_up = steady() + longest_seconds
    while True:
        if await fact():
            return True
        if steady() >= give_up:
            return False
        await asyncio.sleep(_LOOK_EVERY)


LEASE: Final = "hibernator"
_SILENT_SECONDS: Final = 15.0  # the leader renews it every two
_RENEWED_SECONDS: Final = 8.0


async def about_the_leader(session: Session) -> str:
    """A sentence or two about why the operator may not answer, as far as the user may know."""
    doctor = f"`hibernator doctor{session.cluster}`"
    try:
        latest = await _latest(session.client)
    except ApiError:
        return f"You may not see which replica leads: an administrator can see it with {doctor}."
    if latest is None:
        return f"No operator has led in this cluster yet. Install and start it, then run {doctor}."
    return _about(*latest, Instant.now(), session.cluster)


async def leader_namespace(client: Client) -> str:
    """Where a replica leads now; empty where none does."""
    latest = await _latest(client)
    if latest is None or not latest[1].spec.holder_identity:
        return ""

    async def renewed() -> bool:  # which no clock has a part in
        return await _latest(client) != latest

    return latest[1].metadata.namespace if await until(renewed, _RENEWED_SECONDS) else ""


async def _latest(client: Client) -> tuple[Instant, Lease] | None:
    """The Lease that was renewed last, and when."""
    found = await client.list(LEASES, field_selector=f"metadata.name={LEASE}")
    led = [(Instant(lease.spec.renew_time), lease) for lease in found if lease.spec.renew_time]
    return max(led, key=lambda each: each[0], default=None)


def _about(at: Instant, lease: Lease, now: Instant, cluster: str) -> str:
    namespace = lease.metadata.namespace
    see = f"See `kubectl get pods -n {namespace}{cluster}`."
    if not lease.spec.holder_identity:
        return f"No replica leads in namespace {namespace}: the last one stopped {relative(at, now)}. {see}"
    holder = f"{lease.spec.holder_identity} in namespace {namespace}"
    if (now - at).total("seconds") > _SILENT_SECONDS:
        return f"{holder} led, and last renewed its lease {relative(at, now)}. {see}"
    return f"{holder} leads, but has not answered: see its log, and `hibernator doctor{cluster}`."
