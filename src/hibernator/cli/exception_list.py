"""Which exceptions somebody wants to see."""

from collections.abc import Callable
from dataclasses import dataclass

from whenever import Instant

from hibernator.api.scheduleexception import ScheduleException
from hibernator.cli.output import Column, aged, moment
from hibernator.cli.spoken import relative
from hibernator.decisions.approval import Person, mailbox
from hibernator.decisions.scheduleexception_request import requester


def columns(now: Callable[[], Instant]) -> tuple[Column[ScheduleException], ...]:
    """What is shown of an exception, by a clock."""
    return (
        Column("Plan", lambda one: one.spec.plan_ref.name),
        Column("Type", lambda one: one.spec.type),
        Column("State", lambda one: one.status.state or ""),
        Column("Approvals", lambda one: one.status.approval_progress),
        Column(
            "Ends",
            lambda one: relative(one.spec.valid_until, now()),
            basis=lambda one: one.spec.valid_until,
        ),
        Column("Requested by", requester),
        aged(now),
        Column("From", lambda one: moment(one.spec.valid_from), wide=True),
        Column("Until", lambda one: moment(one.spec.valid_until), wide=True),
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
    mine = {mailbox(address) for address in (me.user, *me.claimed)}
    begins = "@" not in me.user and any(email.startswith(f"{mailbox(me.user)}@") for email in named)
    in_role = not {*me.groups}.isdisjoint(spec.approval_required_roles)
    return one.status.requested_by == me.user or begins or in_role or not mine.isdisjoint(named)
