"""`hibernator demo`: see it work, on a control plane that is gone afterwards."""

import asyncio
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hibernator.cli.exits import CliError, Exit

if TYPE_CHECKING:
    from rich.console import Console

    from hibernator.demo.run import Audience, Ending
    from hibernator.demo.scene import Scene
    from hibernator.demo.stage import Stage

_LAST_LINES = 5


def demo(
    speed: Annotated[
        float, typer.Option(help="How many times as fast as real time the days pass.", min=1, max=3600)
    ] = 600.0,
    for_: Annotated[
        str | None, typer.Option("--for", help="End by itself after so long, as `90s` or `3m`.")
    ] = None,
) -> None:
    """Run a demo: a shop sleeps and wakes on a real control plane, with the real operator.

    On a terminal it shows a live picture, elsewhere a line for each event. It prints the
    address of the dashboard, where you log in as any person of the scene and decide. When it ends,
    it removes everything that it started. The first start builds the control plane,
    which takes some minutes; `hibernator controlplane build` does that beforehand.
    For example: `hibernator demo --for 3m`
    """
    from whenever import Instant

    from hibernator.cli.demo_timeline import two_weeks
    from hibernator.cli.demo_words import summary
    from hibernator.cli.offline import out
    from hibernator.demo.scene import Scene
    from hibernator.schedule import times

    seconds = times.seconds("--for", for_) if for_ else None
    console = out.console(None)
    scene = Scene.after(Instant.now())
    with _interrupted_by_signals(), tempfile.TemporaryDirectory(prefix="hibernator-demo-") as made:
        folder = Path(made)
        height = console.height if console.is_interactive else None
        out.lines(console, two_weeks(scene, folder, console.width, out.ink(console), height=height))
        typer.echo()
        ending = _run(console, scene, folder, speed, seconds)
    for line in summary(ending):
        typer.echo(line)


def _run(console: "Console", scene: "Scene", folder: Path, speed: float, seconds: float | None) -> "Ending":
    """Start everything, look on until the end, and take everything down."""
    from hibernator.controlplane.binaries import find_or_build
    from hibernator.controlplane.cluster import running
    from hibernator.controlplane.progress import reporting
    from hibernator.controlplane.versions import needed
    from hibernator.demo.scene import NODES
    from hibernator.kube.logging import configure

    log = folder / "operator.log"
    with ExitStack() as lifetime, _readable_errors(log):
        configure("warning", file=lifetime.enter_context(log.open("w", encoding="utf-8")))
        with reporting() as reporter:
            binaries = find_or_build(needed(nodes=True), reporter)
            # The operator takes a second to import, which the control plane needs for itself anyway.
            Thread(target=import_module, args=("hibernator.demo.run",), daemon=True).start()
            with reporter.step("Starting the control plane") as step:
                cluster = lifetime.enter_context(
                    running(folder / "cluster", binaries, nodes=NODES, on_step=step.detail)
                )
            from hibernator.demo.run import play
            from hibernator.demo.stage import set_up

            with reporter.step("Setting the scene"):
                stage = asyncio.run(set_up(cluster, scene, folder))
        audience = lifetime.enter_context(_audience(console, stage, speed, seconds))
        return asyncio.run(play(stage, audience, speed=speed, seconds=seconds))


@contextmanager
def _audience(
    console: "Console", stage: "Stage", speed: float, seconds: float | None
) -> "Iterator[Audience]":
    """The view of the demo: a screen on a terminal, lines elsewhere."""
    from hibernator.cli.demo_screen import Lines, Screen, Setting
    from hibernator.cli.offline import out

    if not console.is_interactive:
        yield Lines(stage.env, stage.url)
        return
    setting = Setting(stage.scene.opens, stage.env, stage.url, speed, seconds, out.ink(console))
    with Screen(console, setting) as screen:
        yield screen


@contextmanager
def _readable_errors(log: Path) -> Iterator[None]:
    """What goes wrong as a sentence, with what the operator said last."""
    from hibernator.controlplane.errors import ControlPlaneError

    try:
        yield
    except ControlPlaneError as error:
        raise CliError(str(error), hint=error.hint, code=Exit.UNAVAILABLE) from error
    except BrokenPipeError:
        raise  # the reader has closed the pipe
    except Exception as error:
        last = log.read_text("utf-8", errors="replace").splitlines()[-_LAST_LINES:] if log.exists() else []
        hint = "\n".join(["The operator said last:", *last]) if last else ""
        raise CliError(f"the demo broke off: {error!r}", hint=hint, code=Exit.UNAVAILABLE) from error


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """A SIGTERM and a closed terminal end it in the same order as Ctrl-C does.

    Ctrl-C is among them because a shell that starts it in the background has it ignored.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
