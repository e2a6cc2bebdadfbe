"""Which exceptions somebody wants to see, once or for as long as they look."""

import sys
from dataclasses import dataclass
from typing import Final

import typer

from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.cli.cluster import Session
from hibernator.cli.output import Column, Output, moment, show_one
from hibernator.decisions.approval import Person, mailbox
from hibernator.kube.cache import Cache

COLUMNS: Final[tuple[Column[ScheduleException], ...]] = (
    Column("Plan", lambda one: one.spec.plan_ref.name),
    Column("Type", lambda one: one.spec.type),
    Column("State", lambda one: one.status.state or ""),
    Column("Approvals", lambda one: one.status.approval_progress),
    Column("Until", lambda one: moment(one.spec.valid_until)),
    Column("From", lambda one: moment(one.spec.valid_from), wide=True),
    Column("Requested by", lambda one: one.status.requested_by, wide=True),
    Column("Message", lambda one: one.status.message, wide=True),
)


@dataclass(frozen=True, slots=True)
class Filter:
    pending: bool
    role: str | None
    state: str | None
    mine: Person | None = None  # to whom they matter

    def lets(self, one: ScheduleException) -> bool:
        spec, status = one.spec, one.status
        return (
            (not self.pending or (status.approval_state, status.state) == ("Pending", "Pending"))
            and (self.role is None or self.role in spec.approval_required_roles)
            and (self.state is None or status.state == self.state)
            and (self.mine is None or _matters_to(self.mine, one))
        )


def _matters_to(me: Person, one: ScheduleException) -> bool:
    """Whether somebody asked for it or is asked, as far as that can be told without the operator's settings.

    A user name without a domain is taken for the beginning of an address, and a group for a role.
    """
    spec = one.spec
    named = {mailbox(email) for email in spec.approver_emails}
    mine = {mailbox(address) for address in (me.user, *(value for _, value in me.extra))}
    begins = "@" not in me.user and any(email.startswith(f"{mailbox(me.user)}@") for email in named)
    in_role = not {*me.groups}.isdisjoint(spec.approval_required_roles)
    return one.status.requested_by == me.user or begins or in_role or not mine.isdisjoint(named)


async def follow(session: Session, where: str, chosen: Filter, output: Output) -> None:
    """Print each exception, and again at each change of its state or message, for ever."""

    def tell(old: ScheduleException | None, new: ScheduleException | None) -> None:
        if new is None or not chosen.lets(new):
            return
        status = new.status
        if old and (old.status.state, old.status.message) == (status.state, status.message):
            return
        if output in {Output.TABLE, Output.WIDE}:
            name = f"{new.metadata.namespace}/{new.metadata.name}"
            typer.echo(f"{name}   {status.state or '-'}   {status.message}")
        else:
            show_one(EXCEPTIONS, new, output)
        sys.stdout.flush()

    exceptions = Cache(session.client, EXCEPTIONS, where)
    exceptions.on_change(tell)
    await exceptions.run()
