"""Whether a replica leads, and whether its clock is right: both stand in the Lease that it renews."""

from typing import Any, Final

from whenever import Instant

from hibernator.api.core import LEASES
from hibernator.cli import strays as looking
from hibernator.cli.doctoring.findings import Finding, Findings, InstalledOperator, Level, apply
from hibernator.kube.client import Client
from hibernator.kube.errors import ApiError
from hibernator.operator.app import LEASE

_SILENT: Final = 15.0  # seconds; it is renewed every two
_NOTABLE_SKEW: Final = 5.0
_BAD_SKEW: Final = 60.0


async def leader(installation: InstalledOperator) -> Findings:
    namespace = installation.home.namespace
    found = await installation.asker.get(LEASES.path(namespace, LEASE))
    look = f"See why no replica leads: kubectl get pods -n {namespace}, then kubectl logs -n {namespace} POD"
    if found.missing:
        yield Finding(
            "leader", Level.FAIL, f"there is no Lease {LEASE} in {namespace}", apply(installation.home)
        )
        return
    if not found.ok:
        yield Finding("leader", Level.SKIP, f"the Lease {LEASE} cannot be read: {found.message}")
        return
    spec = found.body.get("spec", {})
    holder = spec.get("holderIdentity", "")
    if not holder:
        yield Finding("leader", Level.FAIL, "no replica leads", look)
        return
    # Both times are the API server's, so that the clocks of other machines do not matter.
    noted = _noted(found.body)
    silence = (found.date - noted).total("seconds") if found.date and noted else 0.0
    if silence > _SILENT:
        yield Finding(
            "leader", Level.FAIL, f"{holder} led, but last renewed its lease {silence:.0f} s ago", look
        )
        return
    yield Finding("leader", Level.OK, f"{holder} leads, lease renewed {max(0, silence):.0f} s ago")
    if noted and (said := spec.get("renewTime")):
        yield _clock(holder, (Instant.parse_iso(said) - noted).total("seconds"))


def _noted(lease: dict[str, Any]) -> Instant | None:
    """When the API server saw the last renewal."""
    times = [
        entry["time"]
        for entry in lease["metadata"].get("managedFields", ())
        if "f:renewTime" in entry.get("fieldsV1", {}).get("f:spec", {}) and "time" in entry
    ]
    return Instant.parse_iso(max(times)) if times else None


def _clock(holder: str, skew: float) -> Finding:
    # The leader writes the time before it sends, and the note is cut to the second.
    if -_NOTABLE_SKEW - 5 < skew < _NOTABLE_SKEW:
        return Finding("leader clock", Level.OK, "the leader and the API server agree on the time")
    level = Level.FAIL if abs(skew) >= _BAD_SKEW else Level.WARN
    way = "ahead of" if skew > 0 else "behind"
    saw = f"the clock of {holder} is {abs(skew):.0f} s {way} the API server's: schedules are off by as much"
    return Finding("leader clock", level, saw, "Let chrony or systemd-timesyncd set the clock of its node.")


_NAMED: Final = 3


async def strays(installation: InstalledOperator) -> Findings:
    try:
        async with Client(installation.asker.credentials) as client:
            found = await looking.strays(client)
    except ApiError as error:
        yield Finding("strays", Level.SKIP, f"sleepers cannot be listed: {error.message}")
        return
    if not found:
        yield Finding("strays", Level.OK, "everything that sleeps is known to its plan")
        return
    named = ", ".join(f"{one.key} ({one.why})" for one in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    saw = f"{len(found)} {'item sleeps' if len(found) == 1 else 'items sleep'} without need: {named}{more}"
    yield Finding("strays", Level.WARN, saw, "hibernator plan strays -A, then with --wake")
