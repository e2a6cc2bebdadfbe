"""What is recorded of a message, step by step, so that a crash at any point sends it once more and no less.

First the record says that it is about to be sent, with the hash of the link in it; then it is sent; then the
record says so. A replica that finds a record at the first step for too long sends it again,
under the same id. Pure.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.approvaldelivery import DELIVERIES, ApprovalDelivery, ApprovalDeliveryStatus, SentMessage
from hibernator.api.kind import Kind
from hibernator.decisions.conditions import ConditionState, lay_over, whole_second
from hibernator.decisions.person import mailbox
from hibernator.messages.channel import Channel
from hibernator.messages.conversation import Conversation
from hibernator.messages.links import remembered
from hibernator.messages.views import Message

BY_REQUEST: Final = "spec.request.uid"
DELIVERED: Final = "Delivered"
CLAIM_SECONDS: Final = 120.0  # longer than a mail server may take
_HASH: Final = 16
_MOST_ROLES: Final = 20  # as the API takes them
_LONGEST_ERROR: Final = 1024
_NOTHING: Final = f"sha256:{'0' * 64}"  # the hash of what says nothing that it should


@dataclass(frozen=True, slots=True)
class Due:
    """Whether a message is to be sent now, or when; neither where it was, or cannot be."""

    now: bool = False
    at: Instant | None = None


def name_of(uid: str, recipient: str) -> str:
    return f"{uid}-{hashlib.sha256(mailbox(recipient).encode()).hexdigest()[:_HASH]}"


def new_delivery(
    about: Conversation, message: Message, request: Kind[Any], *, owned: bool = True
) -> dict[str, Any]:
    """The object that keeps what this person is sent.

    If `owned`, Kubernetes deletes it with the request. Otherwise the web process does, after it has closed
    what it sent (`closing`).
    """
    metadata = about.metadata
    owner = {
        "apiVersion": request.api_version,
        "kind": request.kind,
        "name": metadata.name,
        "uid": metadata.uid,
    }
    return {
        "apiVersion": DELIVERIES.api_version,
        "kind": DELIVERIES.kind,
        "metadata": {
            "name": name_of(metadata.uid, message.recipient),
            "namespace": metadata.namespace,
            **({"ownerReferences": [owner]} if owned else {}),
        },
        "spec": {
            "request": {"kind": about.kind, "name": metadata.name, "uid": metadata.uid},
            "recipient": message.recipient,
            "specHash": about.spec_hash,
            "roles": list(dict.fromkeys(message.roles))[:_MOST_ROLES],
            "asked": message.asked,
        },
    }


def record_of(delivery: ApprovalDelivery, channel: str, topic: str) -> SentMessage | None:
    found = (one for one in delivery.status.messages if (one.channel, one.topic) == (channel, topic))
    return next(found, None)


def is_under_way(delivery: ApprovalDelivery, channel: str) -> bool:
    """Whether a message may be at the channel already without its record."""
    return any(
        one.channel == channel and one.next_attempt_at and not one.sent_at for one in delivery.status.messages
    )


def due(
    record: SentMessage | None, channel: Channel, content: str, now: Instant, *, is_open: bool = True
) -> Due:
    """Whether a message that should be there has to be sent."""
    if record is None:
        return Due(now=True)
    if record.sent_at:
        look = _next_look(record, channel) if is_open and record.topic == "asked" else None
        is_old = look is not None and now >= look
        return Due(now=is_old or (channel.edits and record.hash != content), at=None if is_old else look)
    if record.next_attempt_at is None:
        return Due()  # it was refused
    at = Instant(record.next_attempt_at)
    return Due(now=True) if now >= at else Due(at=at)


def _next_look(record: SentMessage, channel: Channel) -> Instant | None:
    """When an open question is shown once more although it says the same.

    People delete messages, and no channel says so: writing it again each day finds out, and posts it again.
    """
    renewal = channel.renews_at(record.id)
    if not channel.edits or not record.sent_at:
        return renewal
    daily = Instant(record.sent_at).add(hours=24)
    return min(daily, renewal) if renewal else daily


def claimed(
    status: ApprovalDeliveryStatus, record: SentMessage, token: str, now: Instant
) -> ApprovalDeliveryStatus:
    """About to be sent, with the link that is in it."""
    tried = replace(
        record,
        attempts=1
        if record.sent_at
        else record.attempts + 1,  # an edit is tried again, however many went before
        sent_at=None,
        next_attempt_at=whole_second(now.add(seconds=CLAIM_SECONDS)),
    )
    tokens = remembered(status.tokens, token, now) if token else status.tokens
    return replace(_with(status, tried), tokens=tokens)


def sent(status: ApprovalDeliveryStatus, record: SentMessage, now: Instant) -> ApprovalDeliveryStatus:
    at = whole_second(now)
    first = record.first_sent_at or at
    done = replace(record, sent_at=at, first_sent_at=first, next_attempt_at=None, error="")
    return _judged(_with(status, done), now)


def failed(
    status: ApprovalDeliveryStatus,
    record: SentMessage,
    why: str,
    again: Instant | None,
    now: Instant,
    reason: str = "",
    *,
    is_there: bool = False,
) -> ApprovalDeliveryStatus:
    """Not sent; without `again` it never will be. `reason` is that of the condition, where it has its own.

    What `is_there` as it was before is changed when there is something else to say.
    """
    later = whole_second(again) if again else None
    at = whole_second(now) if is_there else record.sent_at
    tried = replace(record, sent_at=at, next_attempt_at=later, error=why[:_LONGEST_ERROR])
    return _judged(_with(status, tried), now, reason)


def has_link(one: SentMessage) -> bool:
    """Whether a message holds a link that expires: questions by mail do, those of a chat are edited."""
    return (one.channel, one.topic) == ("mail", "asked")


def renewed(status: ApprovalDeliveryStatus, now: Instant) -> ApprovalDeliveryStatus:
    """What a person is asked by mail is to be sent once more, with a new link and under an id of its own."""
    again = tuple(
        replace(
            one, id=_next_id(one.id), sent_at=None, attempts=0, next_attempt_at=whole_second(now), error=""
        )
        if has_link(one)
        else one
        for one in status.messages
    )
    return replace(status, messages=again)


def outdated(status: ApprovalDeliveryStatus, message_id: str) -> ApprovalDeliveryStatus:
    """A message of a channel that edits shows something else than it should: it is to be edited once more."""
    again = tuple(
        replace(one, hash=_NOTHING) if one.id == message_id and one.sent_at else one
        for one in status.messages
    )
    return replace(status, messages=again)


def _next_id(message_id: str) -> str:
    """`<uid.asked.who@host>` becomes `<uid.asked.who.2@host>`, and so on."""
    local, at, host = message_id.partition("@")
    head, _, last = local.rpartition(".")
    number = int(last) if last.isdecimal() and len(last) < _HASH else 1
    return f"{head if number > 1 else local}.{number + 1}{at}{host}"


def _with(status: ApprovalDeliveryStatus, record: SentMessage) -> ApprovalDeliveryStatus:
    key = record.channel, record.topic
    known = [(one.channel, one.topic) for one in status.messages]
    if key not in known:
        return replace(status, messages=(*status.messages, record))
    places = zip(known, status.messages, strict=True)
    return replace(status, messages=tuple(record if place == key else one for place, one in places))


def _judged(status: ApprovalDeliveryStatus, now: Instant, reason: str = "") -> ApprovalDeliveryStatus:
    wrong = [one for one in status.messages if one.error]
    if not wrong:
        verdict = ConditionState(DELIVERED, holds=True, reason="Sent", message="Everything was sent.")
    else:
        last = wrong[-1]
        reason = reason or "Delayed" if last.next_attempt_at else "Refused"
        verdict = ConditionState(DELIVERED, holds=False, reason=reason, message=f"{last.topic}: {last.error}")
    return replace(status, conditions=lay_over(status.conditions, [verdict], now=now, generation=1))
