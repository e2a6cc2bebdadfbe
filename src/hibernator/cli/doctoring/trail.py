"""The audit trail: whether its database is there, of the right shape, and whole."""

import asyncio
from typing import Final

from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from hibernator.audit.chain import Link
from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.migrate import VERSION_TABLE, config
from hibernator.audit.verification import verify
from hibernator.cli.doctoring.findings import Finding, Findings, InstalledOperator, Level

_PATIENCE: Final = 20.0  # seconds for walking the chain


async def database(installation: InstalledOperator) -> Findings:
    if not installation.database:
        yield Finding(
            "database",
            Level.SKIP,
            "the location of the audit trail is not set",
            "Give --database, or run the doctor in the pod: "
            f"kubectl exec deployment/hibernator -n {installation.home.namespace} -- hibernator doctor",
        )
        return
    try:
        found = Database(installation.database, read_only=True)
    except ValueError as error:
        yield Finding("database", Level.FAIL, str(error), "Correct the setting `database`.")
        return
    async with found:
        try:
            async with found.begin() as connection:
                ours, theirs = await connection.run_sync(_revisions)
            if ours == theirs:
                yield Finding("database", Level.OK, f"{found.name} is there, and has the shape {theirs}")
                yield await _chain(found)
            else:
                yield _shape(found.name, ours, theirs)
        except AuditUnavailable as error:
            yield Finding(
                "database", Level.FAIL, str(error), "Bring it back, or correct the setting `database`."
            )


def _shape(name: str, ours: str, theirs: str) -> Finding:
    return Finding(
        "database",
        Level.FAIL,
        f"{name} has the shape {theirs or 'of an empty database'}, and this version knows {ours}",
        "Start an operator of this version once: it brings an older one up to date.",
    )


def _revisions(connection: Connection) -> tuple[str, str]:
    head = ScriptDirectory.from_config(config(connection)).get_current_head()
    present = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return head or "", present.get_current_revision() or ""


async def _chain(found: Database) -> Finding:
    reached = 0

    def progress(link: Link) -> None:
        nonlocal reached
        reached = link.sequence

    try:
        async with asyncio.timeout(_PATIENCE):
            verdict = await verify(found, progress=progress)
    except TimeoutError:
        return Finding(
            "audit chain",
            Level.WARN,
            f"whole up to event {reached:,}, which is as far as {_PATIENCE:.0f} s go",
            "hibernator audit verify",
        )
    if verdict.problem:
        at = f"event {verdict.misfit.sequence} does not fit: " if verdict.misfit else ""
        return Finding("audit chain", Level.FAIL, f"{at}{verdict.problem}", "hibernator audit verify")
    return Finding(
        "audit chain", Level.OK, f"whole, {verdict.end.sequence - verdict.start.sequence:,} events"
    )
