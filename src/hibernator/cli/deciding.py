"""Binds a decision to what the approver has seen: shown and confirmed, or named by its hash from `view`.

After an approver reads a request, another request may get the same name. So a decision is always bound to
the uid and the spec hash of what was shown, and the command rejects it when either has changed.
"""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.options import ClusterOptions

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
            raise _changed(matter.name, view)
        if on_terminal():
            show()
        if not self.yes and not self.seen and not typer.confirm(f"{verdict.capitalize()} {matter.name}?"):
            raise CliError(f"Nothing was decided about {matter.name}.")


def decide_about(
    group: str,
    name: str,
    verdict: "Verdict",
    reason: str,
    place: ClusterOptions,
    deciding: Deciding,
    *,
    look: Callable[[], "tuple[Matter, Callable[[], None]]"],
    write: Callable[..., Awaitable[object]],
    outcome: Callable[[Session, str, str], Awaitable[str]],
) -> None:
    """Show what is decided about, write the decision once it is confirmed, and say what came of it.

    `look` gives what is decided about and the way to show it; `write` is `decide` of its kind.
    """
    from hibernator.approvals.decision import NotAcceptedError
    from hibernator.approvals.people import Directory, who_am_i
    from hibernator.decisions.approval import DONE
    from hibernator.kube.clustertime import now

    view = f"hibernator {group} view {name}{place.options}"
    deciding.check_usage(view)
    matter, show = look()
    deciding.settle(matter, verdict, show, view)

    async def ask(session: Session) -> str:
        who = await who_am_i(session.client, Directory())
        await write(session.client, matter, who, verdict, "cli", reason=reason, now=now(place.kubeconfig))
        answer = await outcome(session, name, who.user)
        return f"{who.user} {DONE[verdict]} {name}\n{answer}"

    try:
        typer.echo(talk(ask, place, role="hibernator-approver"))
    except NotAcceptedError as error:
        raise _refused(error, name, view) from error


def on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _changed(name: str, view: str) -> CliError:
    return CliError(
        f"{name} is no longer what was shown. Nothing was decided.",
        hint=f"Look at it again: `{view}`.",
        code=Exit.CONFLICT,
    )


def _refused(error: "NotAcceptedError", name: str, view: str) -> CliError:
    """The error message and exit code when the decision was not written."""
    if error.refusal.reason == "Stale":
        return _changed(name, view)
    return CliError(str(error), hint=f"See `{view}`.")
