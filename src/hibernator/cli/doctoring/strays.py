"""Whether anything sleeps although it should not."""

from typing import Final

from hibernator.cli import strays as looking
from hibernator.cli.doctoring.findings import Finding, Findings, Level, Patient
from hibernator.kube.client import Client
from hibernator.kube.errors import ApiError

_NAMED: Final = 3


async def strays(patient: Patient) -> Findings:
    try:
        async with Client(patient.asker.credentials) as client:
            found = await looking.strays(client)
    except ApiError as error:
        yield Finding("strays", Level.SKIP, f"sleepers cannot be listed: {error.message}")
        return
    if not found:
        yield Finding("strays", Level.OK, "everything that sleeps is known to its plan")
        return
    named = ", ".join(f"{one.sleeper.key} ({one.why})" for one in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    saw = f"{len(found)} {'item sleeps' if len(found) == 1 else 'items sleep'} without need: {named}{more}"
    yield Finding("strays", Level.WARN, saw, "hibernator plan strays -A, then with --wake")
