"""The one way in for every decision about an exception, whatever channel it comes through.

    await decide(client, Matter("on-site-event", "team-a"), who, "approve", "slack", now=clock.now())

A channel finds out who someone is and calls this. What is written is one more entry in the status, on top
of exactly what was read: of people who decide together, one is first, and the others look again and read
what happened. The controller derives everything else from the entries.
"""

import asyncio
import hashlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from whenever import Instant

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.people import KnownBy
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.decisions.approval import DONE, Refusal, Seat, Verdict, Vote, over, wrong_channel
from hibernator.decisions.conditions import whole_second
from hibernator.decisions.person import Person
from hibernator.decisions.scheduleexception_line import is_held
from hibernator.decisions.scheduleexception_request import needs_approval, settled, spec_hash
from hibernator.kube.client import Client
from hibernator.kube.errors import Conflict
from hibernator.kube.patch import encode

T = TypeVar("T", bound=Object)
Check = Callable[[ScheduleException, Vote], Refusal | None]

_TRIES: Final = 60
_LONGEST_PAUSE: Final = 0.5
_SEEN_LENGTH: Final = 20


@dataclass(frozen=True, slots=True)
class Matter:
    """What is decided about. A channel that showed it some time ago names what it showed."""

    name: str
    namespace: str
    uid: str = ""
    spec_hash: str = ""

    @property
    def seen(self) -> str:
        """A short name for exactly this, which people pass on; long enough that none is made to fit."""
        return hashlib.sha256(f"{self.uid} {self.spec_hash}".encode()).hexdigest()[:_SEEN_LENGTH]


class NotAcceptedError(Exception):
    """A decision that does not count; the message says why, and who decided what and when."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def matter_of(exception: ScheduleException) -> Matter:
    """Bind a decision to an exception as it is here."""
    metadata = exception.metadata
    return Matter(metadata.name, metadata.namespace, metadata.uid, spec_hash(exception.spec))


async def decide(
    client: Client,
    matter: Matter,
    who: Person,
    verdict: Verdict,
    channel: str,
    *,
    now: Instant,
    reason: str = "",
    known_by: KnownBy | None = None,
    check: Check | None = None,
    seen: ScheduleException | None = None,
) -> ScheduleException:
    """Write down what a person decided, once; raises `NotAcceptedError` where it is not theirs to decide.

    The web process says how it knew them (`known_by`), and checks more (`counting.Counting`): the operator
    would set such a decision aside, and people at a door want to know at once. `seen` saves a look where a
    cache has the exception: the write fails on top of anything else, and the next try looks for itself.
    """

    def entry(exception: ScheduleException) -> Mapping[str, Any]:
        nonlocal matter
        if not matter.uid:
            matter = matter_of(exception)
        vote = Vote(
            by=who,
            verdict=verdict,
            at=now,
            uid=matter.uid,
            spec_hash=matter.spec_hash,
            channel=channel,
            reason=reason,
        )
        if refusal := why_not(exception, vote) or (check and check(exception, vote)):
            raise NotAcceptedError(refusal)
        return _entry(exception, vote, known_by)

    return await write(client, EXCEPTIONS, matter, entry, seen=seen)


async def write(
    client: Client,
    kind: Kind[T],
    matter: Matter,
    status: Callable[[T], Mapping[str, Any]],
    *,
    seen: T | None = None,
) -> T:
    """Patch the status of what is decided about, on top of exactly what was read, or else of another look.

    What was `seen` may be old. It is good enough to write on top of, which fails if it is old, and not good
    enough to refuse a person for. Nothing is sent where nothing changes.
    """
    for attempt in range(_TRIES):
        found = seen or await client.get(kind, matter.name, matter.namespace)
        was_seen, seen = seen is not None, None
        try:
            change = status(found)
        except NotAcceptedError:
            if was_seen:
                continue
            raise
        if not change:
            return found
        try:
            return await client.patch(
                kind,
                matter.name,
                matter.namespace,
                {"status": change},
                resource_version=found.metadata.resource_version,
                uid=found.metadata.uid,
                subresource="status",
            )
        except Conflict:
            await asyncio.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.01 * 2**attempt)))  # others first
    raise Conflict(f"others write {matter.name} all the time; try again")


def why_not(exception: ScheduleException, vote: Vote) -> Refusal | None:
    """Why a decision would not count, as far as that can be seen from here."""
    spec, status = exception.spec, exception.status
    name = exception.metadata.name
    if exception.metadata.deletion_timestamp:
        return Refusal("TooLate", f"{name} is being deleted: there is nothing left to decide.")
    if is_held(exception) and not spec.cancelled:
        return Refusal("TooEarly", f"{name} is held by a policy and asks no one now. {status.message}")
    if not needs_approval(exception):
        return Refusal("NotAsked", f"{name} needs no approval.")
    if spec.draft:
        return Refusal("TooEarly", f"{name} is a draft and was not submitted yet.")
    if outcome := settled(exception):
        return over(outcome)
    if spec.cancelled or status.state in {"Cancelled", "Expired"}:
        ended = "expired" if status.state == "Expired" else "was cancelled"
        return Refusal("TooLate", f"{name} {ended}: there is nothing left to decide.")
    if (vote.uid, vote.spec_hash) != (exception.metadata.uid, spec_hash(spec)):
        return Refusal("Stale", f"{name} is no longer what was shown: look at it again, then decide.")
    if vote.verdict == "approve" and status.channels and vote.channel not in status.channels:
        return wrong_channel(vote.channel, status.channels)
    return _said_before(exception, vote.by)


def _said_before(exception: ScheduleException, who: Person) -> Refusal | None:
    status = exception.status
    said: list[tuple[str, Verdict, Instant]] = [
        *((yes.approved_by, "approve", Instant(yes.approved_at)) for yes in status.approvals),
        *((no.rejected_by, "reject", Instant(no.rejected_at)) for no in status.rejections),
    ]
    for user, verdict, at in said:
        if user == who.user:
            message = f"{user} has {DONE[verdict]} it already, at {at.format_iso()}; that is final."
            return Refusal("AlreadyDecided", message)
    return None


def _entry(exception: ScheduleException, vote: Vote, known_by: KnownBy | None) -> Mapping[str, Any]:
    """The list with the new entry at its end, as the patch of a status."""
    by = vote.by
    words = {
        "channel": vote.channel,
        "reason": vote.reason,
        "groups": list(by.groups),
        "extra": dict(by.extra),
        "knownBy": encode(known_by) if known_by else None,
    }
    named = [email for email in exception.spec.approver_emails if Seat("email", email).fits(vote.by)]
    entry: dict[str, Any] = {key: word for key, word in words.items() if word}
    if named:
        entry["email"] = named[0]
    at, status = whole_second(vote.at), encode(exception.status)
    if vote.verdict == "approve":
        entry |= {"approvedBy": vote.by.user, "approvedAt": at, "uid": vote.uid, "specHash": vote.spec_hash}
        return {"approvals": [*status.get("approvals", ()), entry]}
    return {
        "rejections": [*status.get("rejections", ()), entry | {"rejectedBy": vote.by.user, "rejectedAt": at}]
    }
