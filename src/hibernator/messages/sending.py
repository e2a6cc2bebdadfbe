"""Store, send, record: in this order, so that a crash in between sends one message twice at most.

A replica that finds a message that was stored and never recorded as sent sends it again, under the same id.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import structlog
from msgspec import structs
from whenever import Instant

from hibernator.api.approvaldelivery import DELIVERIES, ApprovalDelivery, ApprovalDeliveryStatus, SentMessage
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.approvals.decision import Matter, write
from hibernator.approvals.people import People
from hibernator.kube.backoff import backoff
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.events import Recorder
from hibernator.kube.metrics import Metric, Metrics
from hibernator.kube.patch import encode, merge_patch
from hibernator.kube.reconciler import Objects
from hibernator.messages.channel import AwayError, Channel, Letter, RefusedError
from hibernator.messages.links import link, new_token
from hibernator.messages.records import claimed, failed, record_of, sent

log = structlog.get_logger(__name__)

FIRST_WAIT: Final = 30.0
LONGEST_WAIT: Final = 600.0
_QUIET: Final = 3600.0  # the same trouble is no new event for an hour
_WITH_LINK: Final = frozenset({"asked", "reminder-half", "reminder-hour"})

MESSAGES: Final = Metric(
    "hibernator_messages_total",
    "counter",
    ("channel", "topic", "result"),
    "Messages to people by channel (`mail`, `slack`) and how they ended: `sent`, `delayed` (tried again "
    "later) or `refused`.",
)


@dataclass(frozen=True, slots=True)
class SendingMeans:
    """What the controllers of messages need of the process that they run in."""

    client: Client
    caches: Caches
    recorder: Recorder
    clock: Clock
    metrics: Metrics
    people: People
    base_url: str
    channels: Sequence[Channel]


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a message; without `again` it is over, well or not."""

    result: Literal["sent", "delayed", "refused"]
    why: str = ""
    again: Instant | None = None
    everyone: bool = False  # whether the channel takes nothing at all now
    names_pause: bool = False  # whether the channel says how long that lasts
    is_there: bool = False  # whether only a change was refused of what was sent before
    id: str = ""  # under which it is there
    reason: str = ""  # of the condition, where it is for an administrator to mend

    def noted(
        self, status: ApprovalDeliveryStatus, record: SentMessage, now: Instant
    ) -> ApprovalDeliveryStatus:
        if self.result == "sent":
            return sent(status, record, now)
        return failed(status, record, self.why, self.again, now, self.reason, is_there=self.is_there)


class Sender:
    def __init__(self, means: SendingMeans, kind: Kind[Any], deliveries: Cache[ApprovalDelivery]) -> None:
        self._means = means
        self._kind = kind
        self._deliveries = deliveries
        self._objects = Objects(means.client, deliveries, means.recorder)

    async def send(
        self, channel: Channel, request: Object, delivery: ApprovalDelivery, letter: Letter, content: str
    ) -> Done:
        topic = letter.topic
        record = record_of(delivery, channel.name, topic) or SentMessage(
            channel=channel.name, topic=topic, id=channel.id_of(delivery, topic), hash=content
        )
        # What is edited time and again shows the link for everybody: it would use up those of one person.
        has_token = letter.asked and topic in _WITH_LINK and not channel.edits
        token = new_token() if has_token else ""
        status = claimed(
            delivery.status, structs.replace(record, hash=content), token, self._means.clock.now()
        )
        delivery = await self._objects.write_status(delivery, status)
        record = record_of(delivery, channel.name, topic) or record
        done = await self._hand_over(channel, self._linked(letter, token), record)
        await self._record(delivery, structs.replace(record, id=done.id or record.id), done)
        # What stops everybody is one alert and no flood of events; one request says what is to be mended.
        if done.why and (done.reason or not done.everyone):
            self._notify(request, letter, done)
        self._means.metrics.count(MESSAGES, channel.name, topic, done.result)
        facts = {"channel": channel.name, "topic": topic, "result": done.result, "request": letter.facts.uid}
        if done.why:
            log.warning("message", **facts, why=done.why)
        else:
            log.info("message", **facts)
        return done

    def _linked(self, letter: Letter, token: str) -> Letter:
        if not token:
            return letter
        role = letter.roles[0] if letter.roles else ""
        return replace(letter, link=link(self._means.base_url, letter.facts.uid, token, role))

    async def _hand_over(self, channel: Channel, letter: Letter, record: SentMessage) -> Done:
        try:
            message_id = await channel.send(letter, record.id, again=record.attempts > 1)
        except RefusedError as error:
            return Done("refused", str(error), is_there=channel.edits and record.first_sent_at is not None)
        except AwayError as error:
            wait = error.after or backoff(record.attempts - 1, first=FIRST_WAIT, longest=LONGEST_WAIT)
            again = self._means.clock.now().add(seconds=wait)
            return Done(
                "delayed",
                str(error),
                again,
                everyone=error.everyone,
                names_pause=error.everyone and error.after is not None,
                reason=error.reason,
            )
        return Done("sent", id=message_id)

    async def _record(self, delivery: ApprovalDelivery, record: SentMessage, done: Done) -> None:
        """On top of what others wrote meanwhile: a person may have asked for a new link."""
        now, metadata = self._means.clock.now(), delivery.metadata

        def change(found: ApprovalDelivery) -> dict[str, Any]:
            return merge_patch(encode(found.status), encode(done.noted(found.status, record, now)))

        matter = Matter(metadata.name, metadata.namespace, metadata.uid)
        self._deliveries.wrote(await write(self._means.client, DELIVERIES, matter, change, seen=delivery))

    def _notify(self, request: Object, letter: Letter, done: Done) -> None:
        """By an Event of the request, which its requester and administrators can see."""
        reason = done.reason or ("MessageRefused" if done.result == "refused" else "MessageDelayed")
        later = "; it is tried again" if done.again else ""
        message = f"The message to {letter.recipient} ({letter.topic}) was not sent: {done.why}{later}."
        self._means.recorder.note(self._kind, request, "Warning", reason, message, quiet=_QUIET)
