"""Keeps what people should see about requests: gather, decide, perform, by the one replica that leads.

A request is looked at when it changes, when what is recorded about it changes, when people change, and when
its time comes. What each person should have got follows from the request (`views`), what they have got is
recorded (`records`), and the difference is sent.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

import structlog
from msgspec import structs
from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.approvaldelivery import DELIVERIES, ApprovalDelivery, SentMessage
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import Object
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.decisions.conditions import seconds_until
from hibernator.decisions.person import mailbox
from hibernator.decisions.scheduleexception_line import plan_key
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.controller import Controller, For, Key, Result, Watches
from hibernator.kube.errors import AlreadyExists
from hibernator.kube.reconciler import Objects
from hibernator.messages.channel import Channel, Letter
from hibernator.messages.closing import closing_controller
from hibernator.messages.conversation import Conversation, of_exception, of_remediation
from hibernator.messages.facts import Facts, facts_of_exception, facts_of_remediation
from hibernator.messages.links import url_of
from hibernator.messages.records import BY_REQUEST, Due, due, name_of, new_delivery, record_of
from hibernator.messages.sending import Means, Sender
from hibernator.messages.views import Message, post, view

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=Object)

BY_PLAN: Final = "plan"


@dataclass(frozen=True, slots=True)
class Subject(Generic[T]):
    """A kind of request: where it is, who talks about it, and what it says."""

    requests: Cache[T]
    about: Callable[[T], Conversation]
    facts: Callable[[T], Facts]


class Messenger(Generic[T]):
    def __init__(self, means: Means, subject: Subject[T], deliveries: Cache[ApprovalDelivery]) -> None:
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
        facts: Facts | None = None
        hashes: dict[Message, str] = {}  # most people are shown the same
        looks: list[Instant] = []
        for message in messages:
            delivery = self._held_of(about, message.recipient)
            record = record_of(delivery, channel.name, message.topic) if delivery else None
            if _is_settled(message, record, channel):
                continue  # the most of all looks end here: nothing is worded for them
            facts = facts or self._subject.facts(request)
            letter = self._letter(message, facts, about, _first(delivery, channel))
            shown = replace(message, recipient="")
            if shown not in hashes:
                hashes[shown] = channel.hash_of(letter)
            content = hashes[shown]
            when = due(record, channel, content, self._means.clock.now(), is_open=message.is_open)
            if when.now and (wait := self._turn(channel, message, about, record)):
                when = Due(at=self._means.clock.now().add(seconds=wait))
            if when.at:
                looks.append(when.at)
            if not when.now:
                continue
            try:
                delivery = delivery or await self._begin(about, message)
                done = await self._sender.send(channel, request, delivery, letter, content)
            finally:
                channel.over(message.recipient)
            if done.again:
                looks.append(done.again)
            if done.everyone:
                break  # the others would wait for the same server
        return looks

    def _turn(
        self, channel: Channel, message: Message, about: Conversation, record: SentMessage | None
    ) -> float:
        is_edit = bool(record and record.sent_at)
        return channel.turn(message.recipient, about.metadata.uid, is_edit=is_edit)

    def _letter(self, message: Message, facts: Facts, about: Conversation, first: str) -> Letter:
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
            first=first,
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


def _is_settled(message: Message, record: SentMessage | None, channel: Channel) -> bool:
    """Whether there is nothing to send, whatever it says."""
    if not channel.edits:
        return not message.is_open or bool(record and record.sent_at)
    is_kept = message.topic == "asked" and not message.is_open
    return is_kept and record is None


def _first(delivery: ApprovalDelivery | None, channel: Channel) -> str:
    """The id of what this person was asked."""
    record = record_of(delivery, channel.name, "asked") if delivery else None
    return record.id if record and (record.first_sent_at or record.sent_at) else ""


def message_controllers(
    means: Means,
    exceptions: Cache[ScheduleException],
    plans: Cache[HibernatePlan],
    requests: Cache[RemediationApprovalRequest],
    analyses: Cache[AIAnalysis],
    people: Sequence[Cache[Any]],
) -> Iterator[Controller]:
    """One controller for each kind of request; `people` are the caches that the directory is read from."""
    deliveries = deliveries_of(means.caches)

    def of_plan(exception: ScheduleException) -> Facts:
        metadata = exception.metadata
        plan = plans.get(metadata.namespace, exception.spec.plan_ref.name)
        return facts_of_exception(exception, plan, exceptions.find(BY_PLAN, plan_key(exception)))

    def analysis_of(request: RemediationApprovalRequest) -> AIAnalysis | None:
        return analyses.get(request.metadata.namespace, request.spec.ai_analysis_ref.name)

    of_exceptions = Subject(exceptions, lambda one: of_exception(one, means.people.directory()), of_plan)
    of_remediations = Subject(
        requests,
        lambda one: of_remediation(one, analysis_of(one), means.people.directory()),
        lambda one: facts_of_remediation(one, analysis_of(one)),
    )
    yield _controller("exception messages", means, of_exceptions, deliveries, people)
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
    means: Means,
    subject: Subject[T],
    deliveries: Cache[ApprovalDelivery],
    people: Sequence[Cache[Any]],
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
        ],
        clock=means.clock,
        metrics=means.metrics,
    )
