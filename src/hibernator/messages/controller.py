"""Keeps what people should see about requests: gather, decide, perform, by the one replica that leads.

A request is looked at when it changes, when what is recorded about it changes, when people change, and when
its time comes. What each person should have got follows from the request (`views`), what they have got is
recorded (`records`), and the difference is sent.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar

import structlog
from msgspec import structs
from whenever import Instant

from hibernator.api.approvaldelivery import DELIVERIES, ApprovalDelivery, SentMessage
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import Object
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.decisions.conditions import seconds_until
from hibernator.decisions.person import mailbox
from hibernator.decisions.scheduleexception_line import plan_key
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.controller import Controller, For, Key, Result, Source, Watches, WatchesSpec
from hibernator.kube.errors import AlreadyExists
from hibernator.kube.reconciler import Objects
from hibernator.messages.channel import Channel, Letter
from hibernator.messages.closing import closing_controller
from hibernator.messages.conversation import Conversation, of_exception, of_remediation
from hibernator.messages.facts import Facts
from hibernator.messages.figuring import BY_PLAN, Figuring
from hibernator.messages.links import url_of
from hibernator.messages.records import BY_REQUEST, due, name_of, new_delivery, record_of
from hibernator.messages.sending import Done, Sender, SendingMeans
from hibernator.messages.views import Message, post, view

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=Object)

_BUDGET: Final = 5.0  # seconds of one look in one channel: the next one waits for no thousand people
_MISSES: Final = 2


@dataclass(frozen=True, slots=True)
class Subject(Generic[T]):
    """A kind of request: where it is, who talks about it, and what it says."""

    requests: Cache[T]
    about: Callable[[T], Conversation]
    facts: Callable[[T], Awaitable[Facts]]


@dataclass(slots=True)
class Look(Generic[T]):
    """One look at all that a request says in one channel."""

    channel: Channel
    request: T
    about: Conversation
    until: float  # what is not begun by then waits for the next look
    facts: Facts
    hashes: dict[Message, str] = field(default_factory=dict)  # most people are shown the same
    again: list[Instant] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    misses: int = 0  # without an answer of the channel, in a row
    is_over: bool = False

    def note(self, done: Done) -> None:
        """One answer may get lost; the others wait where two do, or where the channel says so."""
        if done.again:
            self.again.append(done.again)
        self.misses = self.misses + 1 if done.everyone else 0
        self.is_over = self.is_over or done.names_pause or self.misses >= _MISSES


class Messenger(Generic[T]):
    def __init__(self, means: SendingMeans, subject: Subject[T], deliveries: Cache[ApprovalDelivery]) -> None:
        self._means = means
        self._subject = subject
        self._deliveries = deliveries
        self._sender = Sender(means, subject.requests.kind, deliveries)
        self._objects = Objects(means.client, subject.requests, means.recorder)

    async def reconcile(self, key: Key) -> Result:
        request = self._subject.requests.get(*key)
        if request is None:
            return Result()
        about = self._subject.about(request)
        now = self._means.clock.now()
        held = self._held(about)
        wanted = view(about, held, now)
        if about.is_open:
            request = await self._show_link(request, about)
        looks = [wanted.next_look] if wanted.next_look else []
        for channel in self._means.channels:
            messages = post(about, channel.room, held, now) if channel.room else wanted.messages
            looks += await self._keep(channel, request, about, messages)
        if not looks:
            return Result()
        return Result(seconds_until(min(looks), self._means.clock.now()))

    def _held(self, about: Conversation) -> dict[str, ApprovalDelivery]:
        found = self._deliveries.find(BY_REQUEST, about.metadata.uid)
        return {mailbox(one.spec.recipient): one for one in found}

    def _held_of(self, about: Conversation, recipient: str) -> ApprovalDelivery | None:
        """The same for one person: of a thousand who are asked, each has their own look."""
        name = name_of(about.metadata.uid, recipient)
        found = self._deliveries.get(about.metadata.namespace, name)
        is_theirs = found and mailbox(found.spec.recipient) == mailbox(recipient)
        return found if is_theirs and found and found.spec.request.uid == about.metadata.uid else None

    async def _show_link(self, request: T, about: Conversation) -> T:
        """The link that everybody who is asked can use, in the status."""
        url = url_of(self._means.base_url, about.metadata.uid)
        status = getattr(request, "status")  # noqa: B009  both kinds of requests have it
        return await self._objects.write_status(request, structs.replace(status, approval_url=url))

    async def _keep(
        self, channel: Channel, request: T, about: Conversation, messages: Iterable[Message]
    ) -> list[Instant]:
        """Send what is missing; when to look again at what is not sent yet."""
        wanted = [one for one in messages if not self._is_settled(about, channel, one)]
        if not wanted:
            return []  # the most of all looks end here: nothing is worded for them
        facts = await self._subject.facts(request)
        look = Look(channel, request, about, self._means.clock.monotonic() + _BUDGET, facts)
        waiting = iter(self._waiting(look, wanted))
        for one in waiting:
            await self._send(look, one)
            if look.is_over or not look.misses:
                break  # it was taken: the others need not go one by one
        if not look.is_over:
            async with asyncio.TaskGroup() as group:
                for _ in range(channel.at_once):
                    group.create_task(self._send_all(look, waiting))
        if look.errors:
            raise look.errors[0]
        return look.again

    def _waiting(self, look: Look[T], messages: Iterable[Message]) -> Iterable[list[Message]]:
        """What is to be sent now, by person: the messages of one go one after the other."""
        found: dict[str, list[Message]] = {}
        for message in messages:
            if self._is_due(look, message):
                found.setdefault(mailbox(message.recipient), []).append(message)
        return found.values()

    def _is_due(self, look: Look[T], message: Message) -> bool:
        channel = look.channel
        delivery = self._held_of(look.about, message.recipient)
        record = record_of(delivery, channel.name, message.topic) if delivery else None
        content = self._content(look, message)
        when = due(record, channel, content, self._means.clock.now(), is_open=message.is_open)
        if when.at:
            look.again.append(when.at)
        return when.now

    def _is_settled(self, about: Conversation, channel: Channel, message: Message) -> bool:
        """Whether there is nothing to send, whatever it says."""
        delivery = self._held_of(about, message.recipient)
        record = record_of(delivery, channel.name, message.topic) if delivery else None
        if not channel.edits:
            return not message.is_open or bool(record and record.sent_at)
        is_kept = message.topic == "asked" and not message.is_open
        return is_kept and record is None

    def _content(self, look: Look[T], message: Message) -> str:
        """The hash of all that it says."""
        shown = replace(message, recipient="")
        if shown not in look.hashes:
            look.hashes[shown] = look.channel.hash_of(self._letter(look, message, None))
        return look.hashes[shown]

    async def _send_all(self, look: Look[T], waiting: Iterator[list[Message]]) -> None:
        """Take from what waits until there is no more. What is under way elsewhere is not broken off."""
        for one in waiting:
            if look.is_over:
                return
            try:
                await self._send(look, one)
            except Exception as error:  # noqa: BLE001 — it is raised when all have ended
                look.errors.append(error)
                look.is_over = True

    async def _send(self, look: Look[T], messages: Iterable[Message]) -> None:
        """All that is due to one person."""
        clock, channel = self._means.clock, look.channel
        if clock.monotonic() >= look.until:  # what is said may have changed meanwhile, and others wait
            look.again.append(clock.now())
            look.is_over = True
            return
        for message in messages:
            delivery = self._held_of(look.about, message.recipient)
            record = record_of(delivery, channel.name, message.topic) if delivery else None
            if wait := self._turn(channel, message, look.about, record):
                look.again.append(clock.now().add(seconds=wait))
                continue
            try:
                delivery = delivery or await self._begin(look.about, message)
                letter = self._letter(look, message, delivery)
                content = self._content(look, message)
                look.note(await self._sender.send(channel, look.request, delivery, letter, content))
            finally:
                channel.over(message.recipient)
            if look.is_over:
                return

    def _turn(
        self, channel: Channel, message: Message, about: Conversation, record: SentMessage | None
    ) -> float:
        is_edit = bool(record and record.sent_at)
        return channel.turn(message.recipient, about.metadata.uid, is_edit=is_edit)

    def _letter(self, look: Look[T], message: Message, delivery: ApprovalDelivery | None) -> Letter:
        about, facts = look.about, look.facts
        return Letter(
            recipient=message.recipient,
            topic=message.topic,
            facts=facts,
            link=url_of(self._means.base_url, facts.uid),
            roles=message.roles,
            deputy_for=message.deputy_for,
            asked=message.asked,
            end=about.end,
            is_open=message.is_open,
            line=message.line,
            is_post=message.is_post,
            first=_first(delivery, look.channel),
        )

    async def _begin(self, about: Conversation, message: Message) -> ApprovalDelivery:
        owned = not any(channel.edits for channel in self._means.channels)
        body = new_delivery(about, message, self._subject.requests.kind, owned=owned)
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        try:
            made = await self._means.client.create(DELIVERIES, body, namespace)
        except AlreadyExists:
            made = await self._means.client.get(DELIVERIES, name, namespace)
        self._deliveries.wrote(made)
        return made


def _first(delivery: ApprovalDelivery | None, channel: Channel) -> str:
    """The id of what this person was asked."""
    record = record_of(delivery, channel.name, "asked") if delivery else None
    return record.id if record and (record.first_sent_at or record.sent_at) else ""


def message_controllers(
    means: SendingMeans,
    exceptions: Cache[ScheduleException],
    plans: Cache[HibernatePlan],
    requests: Cache[RemediationApprovalRequest],
    figuring: Figuring,
    people: Sequence[Cache[Any]],
) -> Iterator[Controller]:
    """One controller for each kind of request; `people` are the caches that the directory is read from."""
    deliveries = deliveries_of(means.caches)
    of_exceptions = Subject(
        exceptions, lambda one: of_exception(one, means.people.directory()), figuring.facts
    )
    of_remediations = Subject(
        requests,
        lambda one: of_remediation(one, figuring.analysis_of(one), means.people.directory()),
        figuring.facts,
    )

    def open_of(plan: str) -> Iterator[Key]:
        for one in exceptions.find(BY_PLAN, plan):
            if one.status.approval_state == "Pending":
                yield Key(one.metadata.namespace, one.metadata.name)

    def of_this(plan: HibernatePlan) -> Iterator[Key]:
        return open_of(f"{plan.metadata.namespace}/{plan.metadata.name}")

    def beside(other: ScheduleException) -> Iterable[Key]:
        return open_of(plan_key(other)) if other.status.state == "Active" else ()

    drawn: tuple[Source, ...] = (WatchesSpec(plans, of_this), Watches(exceptions, beside))
    yield _controller("exception messages", means, of_exceptions, deliveries, people, drawn)
    yield _controller("remediation messages", means, of_remediations, deliveries, people)
    kinds: dict[str, Cache[Any]] = {cache.kind.kind: cache for cache in (exceptions, requests)}
    yield closing_controller(means, kinds, deliveries)


def exceptions_of(caches: Caches) -> Cache[ScheduleException]:
    """The cache of exceptions, by the plan that they are about; for pages, too."""
    exceptions = caches.of(EXCEPTIONS)
    exceptions.index(BY_PLAN, lambda one: (plan_key(one),))
    return exceptions


def deliveries_of(caches: Caches) -> Cache[ApprovalDelivery]:
    """The cache of deliveries, by the request that they are about; for pages, too."""
    deliveries = caches.of(DELIVERIES)
    deliveries.index(BY_REQUEST, lambda one: (one.spec.request.uid,))
    return deliveries


def _controller(
    name: str,
    means: SendingMeans,
    subject: Subject[T],
    deliveries: Cache[ApprovalDelivery],
    people: Sequence[Cache[Any]],
    others: Sequence[Source] = (),
) -> Controller:
    kind = subject.requests.kind.kind

    def request_of(delivery: ApprovalDelivery) -> Iterator[Key]:
        if delivery.spec.request.kind == kind:
            yield Key(delivery.metadata.namespace, delivery.spec.request.name)

    def open_ones(_people: Object) -> Iterator[Key]:
        for one in subject.requests.values():
            if subject.about(one).is_open:
                yield Key(one.metadata.namespace, one.metadata.name)

    return Controller(
        name,
        Messenger(means, subject, deliveries).reconcile,
        sources=[
            For(subject.requests),
            Watches(deliveries, request_of),
            *(Watches(cache, open_ones) for cache in people),
            *others,
        ],
        clock=means.clock,
        metrics=means.metrics,
    )
