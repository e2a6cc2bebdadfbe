"""The demo in a pipe or a log: a line for each thing that happens, and nothing that moves."""

from pathlib import Path

import typer

from hibernator.cli.demo_words import clock, tries, words
from hibernator.demo.view import Happening, View

_ABOUT = 14  # columns for what a line is about


class Lines:
    """An audience that reads."""

    def __init__(self, env: Path) -> None:
        self._offered: set[str] = set()
        typer.echo(f"The shop is open. To take part, in another terminal:  . {env}")

    def tell(self, happening: Happening) -> None:
        typer.echo(f"{clock(happening.at)}  {happening.about:<{_ABOUT}}  {words(happening.text)}")

    def show(self, view: View) -> None:
        """Offer each command once, as soon as there is a reason to try it."""
        for one in tries(view):
            if view.plan.status.phase and one.command not in self._offered:
                self._offered.add(one.command)
                typer.echo(f"{clock(view.now)}  {'try':<{_ABOUT}}  {one.command}   # {one.why}")
