"""The options that many commands share, and a way to take them together.

    @app.command()
    @spread
    def describe(name: Name, place: ClusterOptions) -> None: ...

Typer sees every option of a bundle by itself, as if the command had it; the command gets one value.
"""

import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any, cast

import typer


class Output(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


Kubeconfig = Annotated[str | None, typer.Option("--kubeconfig", help="The kubeconfig to use.")]
Context = Annotated[str | None, typer.Option("--context", help="The context of the kubeconfig to use.")]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="The namespace; the context's own when not given.")
]
Everywhere = Annotated[bool, typer.Option("--all-namespaces", "-A", help="In all namespaces.")]
Chosen = Annotated[Output, typer.Option("--output", "-o", help="How to print.", show_choices=True)]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Watch for changes and print them, until Ctrl-C.")]
Comment = Annotated[str, typer.Option("--comment", help="A comment for the record.")]


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which cluster, and where in it."""

    namespace: Namespace = None
    kubeconfig: Kubeconfig = None
    context: Context = None
    as_user: Annotated[
        str | None, typer.Option("--as", metavar="USER", help="Act as this user, if you may impersonate.")
    ] = None
    as_group: Annotated[
        list[str] | None,
        typer.Option("--as-group", metavar="GROUP", help="Act as a member of it, with --as. Repeatable."),
    ] = None

    @property
    def options(self) -> str:
        """The same place for another command, to be written behind it."""
        return _written(("-n", self.namespace)) + self.cluster

    @property
    def cluster(self) -> str:
        """The same cluster for another command that says itself which namespace, or needs none."""
        return _written(
            ("--kubeconfig", self.kubeconfig),
            ("--context", self.context),
            ("--as", self.as_user),
            *(("--as-group", group) for group in self.as_group or ()),
        )


def _written(*given: tuple[str, str | None]) -> str:
    return "".join(f" {option} {shlex.quote(value)}" for option, value in given if value)


@dataclass(frozen=True, slots=True)
class Patience:
    """Whether the command stays until what it asked for is so, and how long."""

    wait: Annotated[
        bool,
        typer.Option("--wait/--no-wait", help="Wait until it is seen to be so, or only request it."),
    ] = True
    timeout: Annotated[str, typer.Option("--timeout", help="How long to wait at most, such as 2m.")] = "30s"

    @property
    def seconds(self) -> float:
        from hibernator.schedule.times import seconds

        return seconds("--timeout", self.timeout) if self.wait else 0.0


@dataclass(frozen=True, slots=True)
class Listing:
    """How a list is wanted."""

    selector: Annotated[
        str,
        typer.Option("--selector", "-l", help="Only those with these labels, such as env!=prod."),
    ] = ""
    watch: Watch = False
    everywhere: Everywhere = False
    output: Chosen = Output.TABLE


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Let Typer see the options of the bundles among a command's parameters."""
    parameters = inspect.signature(command).parameters.values()
    bundles: dict[str, Any] = {one.name: one.annotation for one in parameters if is_dataclass(one.annotation)}

    @wraps(command)
    def spread_out(**given: Any) -> None:
        made = {
            name: bundle(**{one.name: given.pop(one.name) for one in fields(bundle)})
            for name, bundle in bundles.items()
        }
        command(**given, **made)

    options = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
        for bundle in bundles.values()
        for one in fields(bundle)
    ]
    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters if one.name not in bundles]
    seen = cast("Any", spread_out)
    seen.__signature__ = inspect.Signature([*own, *options])
    seen.__annotations__ = {one.name: one.annotation for one in (*own, *options)}
    return spread_out
