"""A request as those see it who talk with people about it: who is asked, since when, and how it ended.

Exceptions and remediations are the same here. Pure.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.approvaldelivery import RequestKind, Topic
from hibernator.api.meta import ObjectMeta
from hibernator.api.people import EMAIL, ApproverLevel
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.approvals.people import Directory, approvers, asker, decider, everybody
from hibernator.decisions.approval import Seat, fingerprint
from hibernator.decisions.conditions import find
from hibernator.decisions.journal import author
from hibernator.decisions.person import Person, in_place_of, mailbox, same_human
from hibernator.decisions.remediationrequest import asks_about
from hibernator.decisions.scheduleexception_request import (
    needs_approval,
    seat_of,
    seats_of,
    settled,
    spec_hash,
)
from hibernator.decisions.scheduleexception_status import READY

End = Literal["active", "approved", "rejected", "expired", "cancelled"]

_ADDRESS: Final = re.compile(EMAIL)
_LONGEST_ADDRESS: Final = 254
_AWAITING: Final = "AwaitingApproval"
_MOST_STEPS: Final = 30  # decisions that are lines one by one; a delivery keeps fifty messages
_DECISIONS: Final = frozenset({"approved", "rejected"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A person who is asked, by their address or for roles of theirs."""

    address: str
    since: Instant
    roles: tuple[str, ...] = ()
    done: bool = False  # whether all that they are asked for was decided, by themselves or by others
    until: Instant | None = None  # of a deputy who is asked for no one else
    deputy_for: tuple[str, ...] = ()

    def is_asked(self, now: Instant) -> bool:
        return self.until is None or self.since <= now < self.until


@dataclass(frozen=True, slots=True)
class Step:
    """What happened to a request on its way, for those who follow it without being asked."""

    topic: Topic
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    kind: RequestKind
    metadata: ObjectMeta
    spec_hash: str
    is_open: bool
    deadline: Instant | None
    asked: tuple[Asked, ...]
    requester: str = ""  # the address; empty where none is known
    deciders: tuple[str, ...] = ()  # the addresses of those whose decisions count
    story: tuple[Step, ...] = ()  # the oldest first
    end: End | None = None
    ended_at: Instant | None = None


def of_exception(exception: ScheduleException, directory: Directory) -> Conversation:
    status = exception.status
    ready = find(status.conditions, READY)
    people, who = everybody(exception, directory), asker(exception, directory)
    since = Instant(status.requested_at) if status.requested_at else Instant.MIN
    seats = (
        (
            seat,
            one.status != "pending",
        )
        for seat, one in zip(seats_of(exception), status.required_approvals, strict=False)
    )
    end, ended_at = _end_of(exception)
    heard = [entry for entry in status.history if entry.action in _DECISIONS]
    users = [entry.actor for entry in heard]
    lines = (
        _words(in_place_of(entry.actor, entry.on_behalf_of), entry.action, entry.reason)
        for entry in heard[:_MOST_STEPS]
    )
    return Conversation(
        kind="ScheduleException",
        metadata=exception.metadata,
        spec_hash=spec_hash(exception.spec),
        is_open=status.approval_state == "Pending" and ready is not None and ready.reason == _AWAITING,
        deadline=Instant(status.approval_deadline) if status.approval_deadline else None,
        asked=_asked(((seat, since, done) for seat, done in seats), directory, who),
        requester=_address(who.email),
        deciders=tuple(found for user in users if user in people and (found := _address(people[user].email))),
        story=tuple(Step(f"decision-{number}", line) for number, line in enumerate(lines, 1)),
        end=end,
        ended_at=ended_at,
    )


def _end_of(exception: ScheduleException) -> tuple[End | None, Instant | None]:
    """How it ended for those who were asked. What became active and is over by now ended well long ago."""
    status, outcome = exception.status, settled(exception)
    if not needs_approval(exception):
        return None, None
    match status.state:
        case "Active":
            return "active", Instant(status.applied_at) if status.applied_at else None
        case "Rejected":
            is_late = outcome is not None and outcome.is_timeout
            return ("expired" if is_late else "rejected"), outcome.at if outcome else None
        case "Expired" if not status.applied_at:
            return "expired", Instant(exception.spec.valid_until)
        case "Cancelled" if status.requested_at:
            last = [entry.timestamp for entry in status.history if entry.action == "cancelled"]
            return "cancelled", Instant(last[-1]) if last else None
        case _:
            return None, None


def of_remediation(
    request: RemediationApprovalRequest, analysis: AIAnalysis | None, directory: Directory
) -> Conversation:
    status, spec = request.status, request.spec
    by = ""
    if analysis and asks_about(request, analysis):
        by = author(analysis.metadata, analysis.metadata.generation)
    is_decided = status.decision in {"Approved", "Rejected"}
    who = decider(status, directory) if is_decided else None
    ends: dict[str, End] = {"Approved": "approved", "Rejected": "rejected", "Expired": "expired"}
    created = request.metadata.creation_timestamp
    since = Instant(created) if created else Instant.MIN
    later = Instant(status.escalated_at) if status.escalated_at else None
    return Conversation(
        kind="RemediationApprovalRequest",
        metadata=request.metadata,
        spec_hash=fingerprint(spec),
        is_open=not status.decision and not request.metadata.deletion_timestamp and bool(status.message),
        deadline=Instant(spec.required_by),
        asked=_asked(
            (*_levels(spec.approvers, since, later), *_by_policies(request, since)),
            directory,
            directory.person(by),
        ),
        requester=_address(directory.person(by).email),
        deciders=_deciders(request, who, directory),
        story=tuple(_course(request)),
        end=ends.get(status.decision),
        ended_at=Instant(status.decided_at) if status.decided_at else None,
    )


def _deciders(
    request: RemediationApprovalRequest, last: Person | None, directory: Directory
) -> tuple[str, ...]:
    people = (*approvers(request.status, directory).values(), *((last,) if last else ()))
    return tuple(one.email for one in people if _address(one.email))


def _by_policies(request: RemediationApprovalRequest, since: Instant) -> Iterator[tuple[Seat, Instant, bool]]:
    for one in request.status.required_approvals:
        yield seat_of(one), since, one.status != "pending"


def _course(request: RemediationApprovalRequest) -> Iterator[Step]:
    status = request.status
    if status.escalated_at:
        yield Step("escalated", "Escalated: the second level is asked, too.")
    if status.decision in {"Approved", "Rejected"}:
        by = status.decided_by or "An unknown user"
        by = in_place_of(by, status.decided_for)
        yield Step("decision-1", _words(by, status.decision.lower(), status.decision_message))


def _words(who: str, action: str, reason: str) -> str:
    mark = "✓" if action == "approved" else "✗"
    return f"{mark} {who} {action} it{f': {reason}' if reason else '.'}"


def _levels(
    levels: tuple[ApproverLevel, ...], since: Instant, escalated_at: Instant | None
) -> Iterator[tuple[Seat, Instant, bool]]:
    """The second level is asked once it was escalated, or at once where there is no first."""
    only_second = all(level.level == "L2" for level in levels)
    for level in levels:
        at = since if level.level == "L1" or only_second else escalated_at
        if at is not None:
            yield from ((Seat("email", email), at, False) for email in level.emails)
            yield from ((Seat("role", role), at, False) for role in level.roles)


def _asked(
    seats: Iterable[tuple[Seat, Instant, bool]], directory: Directory, requester: Person
) -> tuple[Asked, ...]:
    """Everybody who is asked and has an address, each once, whatever they are asked for."""
    found: dict[str, Asked] = {}
    for seat, since, done in seats:
        role = (seat.name,) if seat.kind == "role" else ()
        addresses = members(seat.name, directory) if role else (seat.name,)
        for one in (
            *(Asked(address, since, role, done) for address in addresses),
            *_deputies(seat, Asked("", since, done=done), directory, requester),
        ):
            before = found.get(mailbox(one.address))
            found[mailbox(one.address)] = _joined(before, one) if before else one
    return tuple(found.values())


def _deputies(seat: Seat, asked: Asked, directory: Directory, requester: Person) -> Iterator[Asked]:
    """The deputies of those who may fill a place. The requester neither is nor has one."""
    for absence in directory.absences:
        deputy = directory.named(absence.deputy)
        if not seat.fits(absence.away) or not _address(deputy.email):
            continue
        if not same_human(deputy, requester) and not same_human(absence.away, requester):
            since = max(asked.since, absence.since)
            yield Asked(deputy.email, since, (), asked.done, absence.until, (absence.away.user,))


def _joined(one: Asked, other: Asked) -> Asked:
    """One person who is asked twice."""
    until = None if one.until is None or other.until is None else max(one.until, other.until)
    return Asked(
        one.address,
        min(one.since, other.since),
        (*one.roles, *other.roles),
        one.done and other.done,
        until,
        tuple(dict.fromkeys((*one.deputy_for, *other.deputy_for))),
    )


def members(role: str, directory: Directory) -> tuple[str, ...]:
    """The addresses of a role: those in its list, and those that the list of people has for its names.

    What a group is called says nothing about the addresses of its members.
    """
    listed = sorted(directory.roles.get(role, frozenset()))
    known = directory.emails if directory.naming.way == "configmap" else {}
    found = (one if "@" in one else known.get(one, "") for one in listed)
    return tuple({mailbox(one): mailbox(one) for one in found if _address(one)}.values())


def _address(email: str) -> str:
    """The address, where it is one: a list of a role may hold anything, such as the name of a team."""
    return email if len(email) <= _LONGEST_ADDRESS and _ADDRESS.fullmatch(email) else ""
