"""`hibernator doctor`: what is wrong with an installation, and how to put it right."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hibernator.cli.exits import CliError, Exit
from hibernator.cli.options import Context, Kubeconfig

if TYPE_CHECKING:
    from hibernator.cli.doctoring.findings import Finding, Findings, InstalledOperator

_COLOURS: Final = {"ok": "green", "skip": "bright_black", "warn": "yellow", "fail": "red"}


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


def doctor(
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="The operator's own namespace.")
    ] = None,
    service_account: Annotated[
        str, typer.Option("--service-account", help="The account under which it runs there.")
    ] = "hibernator",
    database: Annotated[
        str | None, typer.Option("--database", help="The database of the audit trail, as a URL.")
    ] = None,
    database_file: Annotated[
        str | None, typer.Option("--database-file", help="A file that holds that URL, with its password.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", envvar="HIBERNATOR_CONFIG", help="The operator's file of settings."),
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to print.")] = Output.TEXT,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Check an installation: cluster, CRDs, permissions, webhooks, certificates, database, clocks.

    Nothing is changed. Each finding comes with the command that fixes it. Ends with 0 when nothing
    failed, with 1 when something did, and with 3 when the cluster cannot be reached at all.
    """
    import asyncio

    flags = {"namespace": namespace, "database": database, "database_file": database_file}
    findings = asyncio.run(_examine(flags, config, service_account, kubeconfig, context))
    if output is Output.JSON:
        _print_json(findings)
    else:
        _print_text(findings)
    failed = [finding for finding in findings if finding.level == "fail"]
    if failed:
        raise typer.Exit(Exit.UNAVAILABLE if failed[0].about == "cluster" else Exit.FOUND)


async def _examine(
    flags: dict[str, str | None],
    config: Path | None,
    service_account: str,
    kubeconfig: str | None,
    context: str | None,
) -> list["Finding"]:
    import os

    from hibernator.cli.doctoring.asking import Asker, UnreachableError
    from hibernator.cli.doctoring.findings import Finding, InstalledOperator, Level
    from hibernator.kube import credentials
    from hibernator.kube.errors import BadCredentials
    from hibernator.operator.roles import Home
    from hibernator.operator.settings import Settings, settings
    from hibernator.settings import SettingsError

    try:
        chosen = settings(flags, os.environ, config)
    except SettingsError as error:
        raise CliError(str(error), code=Exit.USAGE) from error
    # Outside of the operator's pod the default leads nowhere, which says nothing about the trail.
    is_given = chosen.database != Settings().database or bool(os.environ.get("KUBERNETES_SERVICE_HOST"))
    try:
        async with Asker(
            credentials.find(kubeconfig or chosen.kubeconfig or None, context or chosen.context or None)
        ) as asker:
            home = Home(chosen.namespace, service_account)
            return [
                each
                async for each in _all(InstalledOperator(asker, home, chosen.database if is_given else ""))
            ]
    except (BadCredentials, UnreachableError) as error:
        fix = "Check the address in the kubeconfig, the network between, and --context."
        return [Finding("cluster", Level.FAIL, str(error), fix)]


async def _all(installation: "InstalledOperator") -> "Findings":
    """Every check, in an order in which each explains the next. Without a cluster the others mean nothing."""
    from hibernator.cli.doctoring import installed, leading, permissions, reach, trail, webhooks

    async for finding in reach.cluster(installation):
        yield finding
        if finding.level == "fail":
            return
    for check in (
        reach.version,
        reach.clock,
        installed.crds,
        installed.policies,
        installed.plugins,
        permissions.permissions,
        leading.leader,
        leading.strays,
        webhooks.webhooks,
        webhooks.certificates,
        trail.database,
    ):
        async for finding in check(installation):
            yield finding


def _print_json(findings: list["Finding"]) -> None:
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode({"findings": findings})).decode())


def _print_text(findings: list["Finding"]) -> None:
    from rich.console import Console
    from rich.text import Text

    from hibernator.cli.doctoring.findings import one_cause

    console = Console(highlight=False, soft_wrap=True)
    wide = max(len(finding.about) for finding in findings)
    for group in one_cause(findings):
        for finding in group.shown:
            level = Text(f"{finding.level:5}", style=_COLOURS[finding.level])
            console.print(Text.assemble(level, f" {finding.about:{wide}}  {finding.saw}"))
        if group.more:
            console.print(
                Text(f"      {'':{wide}}  and {group.more} more like these; -o json has all of them")
            )
        if group.fix:
            console.print(Text(f"      {'':{wide}}  → {group.fix}"))
    counts = {level: sum(finding.level == level for finding in findings) for level in _COLOURS}
    console.print(", ".join(f"{count} {level}" for level, count in counts.items() if count))
