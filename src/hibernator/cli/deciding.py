"""Binds a decision to what the approver has seen: shown and confirmed, or named by its hash from `view`.

After an approver reads a request, another request may get the same name. So a decision is always bound to
the uid and the spec hash of what was shown, and the command rejects it when either has changed.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hibernator.cli.exits import CliError, Exit

if TYPE_CHECKING:
    from hibernator.approvals.decision import Matter, NotAcceptedError
    from hibernator.decisions.approval import Verdict


@dataclass(frozen=True, slots=True)
class Deciding:
    """How the approver confirms that they decide about what they have seen."""

    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask. Without --seen: decide about it as it is now.")
    ] = False
    seen: Annotated[
        str,
        typer.Option("--seen", help="Decide only about what `view` printed this hash for.", metavar="HASH"),
    ] = ""

    def check_usage(self, view: str) -> None:
        """Fail early when there is no terminal to ask on; `view` is the command that prints the hash."""
        if not (self.yes or self.seen or on_terminal()):
            raise CliError(
                "This is not a terminal, so nothing can be shown and asked.",
                hint=f"Pass --seen HASH with the hash that `{view}` prints, or --yes to decide about it as it"
                " is now.",
                code=Exit.USAGE,
            )

    def settle(self, matter: "Matter", verdict: "Verdict", show: Callable[[], None], view: str) -> None:
        """Return if this person decides about this matter; raise otherwise."""
        if self.seen and self.seen != matter.seen:
            raise changed(matter.name, view)
        if on_terminal():
            show()
        if not self.yes and not self.seen and not typer.confirm(f"{verdict.capitalize()} {matter.name}?"):
            raise CliError(f"Nothing was decided about {matter.name}.")


def on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def changed(name: str, view: str) -> CliError:
    return CliError(
        f"{name} is no longer what was shown. Nothing was decided.",
        hint=f"Look at it again: `{view}`.",
        code=Exit.CONFLICT,
    )


def refused(error: "NotAcceptedError", name: str, view: str) -> CliError:
    """The error message and exit code when the decision was not written."""
    if error.refusal.reason == "Stale":
        return changed(name, view)
    return CliError(str(error), hint=f"See `{view}`.")
