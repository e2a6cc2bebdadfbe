"""The demo in a pipe or a log: a line for each thing that happens, and nothing that moves."""

from pathlib import Path

import typer

from hibernator.cli.demo_words import clock, tries, words
from hibernator.demo.view import Happening, View

_ABOUT = 14  # columns for what a line is about


class Lines:
    """An audience that reads."""

    def __init__(self, env: Path) -> None:
        self._told: Happening | None = None  # the last that was
        self._offered: set[str] = set()
        typer.echo(f"The shop is open. To take part, in another terminal:  . {env}")

    def show(self, view: View) -> None:
        """Tell what is new, and offer each command once, as soon as there is a reason to try it."""
        known = view.happenings.index(self._told) + 1 if self._told else 0
        for one in view.happenings[known:]:
            self._told = one
            typer.echo(f"{clock(one.at)}  {one.about:<{_ABOUT}}  {words(one.text)}")
        if not view.plan.status.phase:
            return  # nothing of it would work yet
        for offer in tries(view):
            if offer.command not in self._offered:
                self._offered.add(offer.command)
                typer.echo(f"{clock(view.now)}  {'try':<{_ABOUT}}  {offer.command}   # {offer.why}")
