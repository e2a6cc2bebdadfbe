"""A ScheduleException in the words of the approval machine, and back."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
from whenever import Instant

from hibernator.api.kind import DOMAIN
from hibernator.api.scheduleexception import (
    Action,
    Approval,
    Rejection,
    RequiredApproval,
    ScheduleException,
    ScheduleExceptionSpec,
)
from hibernator.decisions.approval import Outcome, Request, Seat, Vote, fingerprint
from hibernator.decisions.exceptionpolicy import Demands
from hibernator.decisions.person import Person

# Stamped by admission from the authenticated user, and refused by it where someone wrote anything else.
REQUESTED_BY: Final = f"{DOMAIN}/requested-by"
REQUESTER_CLAIMS: Final = f"{DOMAIN}/requester-claims"  # the addresses that came with the log-in
REQUESTER_GROUPS: Final = f"{DOMAIN}/requester-groups"  # which a role in `unless` may go by
VERIFIED_EMAIL: Final = f"{DOMAIN}/email"  # the claim of who asked through the web process


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the operator is set up for approvals."""

    patience_hours: float = 30 * 24.0
    own_allowed: bool = False


def spec_hash(spec: ScheduleExceptionSpec) -> str:
    """What an approval is bound to. Calling it off does not change what was approved."""
    return fingerprint(msgspec.structs.replace(spec, cancelled=False))


def requester(exception: ScheduleException) -> str:
    """Who asked for it; the first stamp stays."""
    return exception.status.requested_by or exception.metadata.annotations.get(REQUESTED_BY, "")


def requester_claims(exception: ScheduleException) -> dict[str, str]:
    """What else the API server knew of who asked, by its key."""
    lines = exception.metadata.annotations.get(REQUESTER_CLAIMS, "").split("\n")  # as the policy does
    return {key: value for key, _, value in (line.partition("=") for line in lines if line)}


def requester_groups(exception: ScheduleException) -> tuple[str, ...]:
    """The groups of who asked, one on each line."""
    return tuple(filter(None, exception.metadata.annotations.get(REQUESTER_GROUPS, "").split("\n")))


def requester_notes(user: str, claims: Mapping[str, str], groups: Iterable[str] = ()) -> dict[str, str]:
    """The annotations of what someone asks for."""
    notes = {
        REQUESTED_BY: user,
        REQUESTER_CLAIMS: "\n".join(f"{key}={value}" for key, value in claims.items()),
        REQUESTER_GROUPS: "\n".join(group for group in groups if "\n" not in group),
    }
    return {key: said for key, said in notes.items() if said or key == REQUESTED_BY}


def needs_approval(exception: ScheduleException) -> bool:
    """Whether people must agree, because the exception says so or because a policy does."""
    return exception.spec.approval_required or bool(exception.status.required_approvals)


def seats_of(exception: ScheduleException) -> tuple[Seat, ...]:
    """Those who are asked, as the operator has noted them; before that, as the exception names them."""
    if noted := exception.status.required_approvals:
        return tuple(map(seat_of, noted))
    return _own_seats(exception.spec)


def request_of(
    exception: ScheduleException,
    who: Person,
    asked_at: Instant,
    rules: Rules,
    demands: Demands | None = None,
) -> Request:
    """What is asked of whom, by the exception and by policies: `demands`, or else what the status says."""
    spec, status = exception.spec, exception.status
    own, needed = _own_seats(spec), 0
    if spec.approval_required:
        needed = max(len(own), 1) if spec.approval_threshold == "all" else spec.approval_threshold
    if demands is None:
        noted = [one for one in status.required_approvals if one.policy]
        more, channels = tuple(map(seat_of, noted)), frozenset(status.channels) or None
        needs = tuple({one.policy: one.needed or 1 for one in noted if one.policy}.items())
    else:
        more, channels, needs = demands.places, demands.channels, demands.needs
    return Request(
        requester=who,
        places=(*(own if needed else ()), *more),
        needed=needed,
        needs=needs,
        channels=channels,
        asked_at=asked_at,
        deadline=asked_at.add(seconds=rules.patience_hours * 3600),
        uid=exception.metadata.uid,
        spec_hash=spec_hash(spec),
        own_allowed=rules.own_allowed,
    )


def votes_of(
    exception: ScheduleException, people: Callable[[str], Person], asked_at: Instant, now: Instant
) -> Iterator[Vote]:
    """The entries in the status as votes, at the times at which they were seen.

    What people write about time comes from their own clocks, or from the wish to have been in time or first.
    So it counts for nothing. What is in the history was heard then, for only the operator writes that; all
    else is heard now. Where the operator was away over the deadline, what was said meanwhile comes too late.
    """
    known = {(entry.action, entry.actor): Instant(entry.timestamp) for entry in exception.status.history}

    def heard(action: Action, user: str) -> Instant:
        refused = known.get(("refused", user), now)  # it may count later, as of when it was said
        return max(asked_at, known.get((action, user), refused))

    for yes in exception.status.approvals:
        yield Vote(
            by=people(yes.approved_by),
            verdict="approve",
            at=heard("approved", yes.approved_by),
            uid=yes.uid,
            spec_hash=yes.spec_hash,
            place=_place(yes.email, yes.role),
            channel=yes.channel,
            reason=yes.reason,
        )
    for no in exception.status.rejections:
        yield Vote(
            by=people(no.rejected_by),
            verdict="reject",
            at=heard("rejected", no.rejected_by),
            place=_place(no.email, no.role),
            channel=no.channel,
            reason=no.reason,
        )


def settled(exception: ScheduleException) -> Outcome | None:
    """How the approval ended, as the status records it; nothing that is said later changes it."""
    state = exception.status.approval_state
    if state is None or state == "Pending":
        return None
    last = next(
        (entry for entry in reversed(exception.status.history) if entry.action == state.lower()), None
    )
    if last is None:
        return Outcome(state, "", Instant.MIN)
    return Outcome(state, last.actor, Instant(last.timestamp), last.reason)


def voters(exception: ScheduleException) -> dict[str, Approval | Rejection]:
    """All users who said something, each with the last entry that says what the API server knew of them."""
    found: dict[str, Approval | Rejection] = {}
    found |= {yes.approved_by: yes for yes in exception.status.approvals}
    return found | {no.rejected_by: no for no in exception.status.rejections}


def _own_seats(spec: ScheduleExceptionSpec) -> tuple[Seat, ...]:
    return (
        *(Seat("email", email) for email in spec.approver_emails),
        *(Seat("role", role) for role in spec.approval_required_roles),
    )


def seat_of(noted: RequiredApproval) -> Seat:
    kind: Literal["email", "role"] = "role" if noted.role else "email"
    return Seat(kind, noted.role or noted.email or "", noted.policy or "")


def _place(email: str | None, role: str | None) -> Seat | None:
    if role:
        return Seat("role", role)
    return Seat("email", email) if email else None
