"""Which replica of the operator leads, for a person who waits for its answer."""

from typing import Final

from whenever import Instant

from hibernator.api.core import LEASES, Lease
from hibernator.cli.spoken import relative
from hibernator.kube.client import Client
from hibernator.kube.errors import ApiError

LEASE: Final = "hibernator"
_SILENT_SECONDS: Final = 15.0  # the leader renews it every two


async def about_the_leader(client: Client) -> str:
    """A sentence or two about why the operator may not answer, as far as the user may know."""
    try:
        found = await client.list(LEASES, field_selector=f"metadata.name={LEASE}")
    except ApiError:
        return "You may not see which replica leads: an administrator can see it with `hibernator doctor`."
    led = [(Instant(lease.spec.renew_time), lease) for lease in found if lease.spec.renew_time]
    if not led:
        return "No operator has led in this cluster yet. Install and start it, then run `hibernator doctor`."
    return _about(*max(led, key=lambda each: each[0]), Instant.now())


def _about(at: Instant, lease: Lease, now: Instant) -> str:
    namespace = lease.metadata.namespace
    if not lease.spec.holder_identity:
        return (
            f"No replica leads in namespace {namespace}: the last one stopped {relative(at, now)}. "
            f"See `kubectl get pods -n {namespace}`."
        )
    holder = f"{lease.spec.holder_identity} in namespace {namespace}"
    if (now - at).total("seconds") > _SILENT_SECONDS:
        return f"{holder} led, and was last heard {relative(at, now)}. See `kubectl get pods -n {namespace}`."
    return f"{holder} leads, but has not answered: see its log, and `hibernator doctor`."
