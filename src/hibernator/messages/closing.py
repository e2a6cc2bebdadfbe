"""Closes what people were asked about a request that was deleted: no button may stay that decides nothing.

What channels that edit have sent must be found again after its request is gone, also by a process that was
away meanwhile. So the records of such channels do not belong to the request, as Kubernetes would delete them
with it: they are looked through here, closed, and then deleted. Nothing waits for that: no finalizer keeps a
request or a namespace.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import structlog

from hibernator.api.approvaldelivery import DELIVERIES, ApprovalDelivery
from hibernator.api.meta import Object
from hibernator.kube.cache import Cache
from hibernator.kube.controller import Controller, For, Key, Result, Watches
from hibernator.kube.errors import NotFound
from hibernator.messages.channel import AwayError, RefusedError
from hibernator.messages.records import BY_REQUEST
from hibernator.messages.sending import LONGEST_WAIT, SendingMeans

log = structlog.get_logger(__name__)

_OVER: Final = frozenset({"outcome", "cancelled"})


class Closer:
    def __init__(
        self, means: SendingMeans, requests: Mapping[str, Cache[Any]], deliveries: Cache[ApprovalDelivery]
    ) -> None:
        self._means = means
        self._requests = requests  # by kind
        self._deliveries = deliveries

    async def reconcile(self, key: Key) -> Result:
        delivery = self._deliveries.get(*key)
        if delivery is None or delivery.metadata.deletion_timestamp or not await self._is_gone(delivery):
            return Result()
        if not any(one.topic in _OVER and one.sent_at for one in delivery.status.messages):
            wait = await self._close(delivery)
            if wait is not None:
                return Result(wait)
        metadata = delivery.metadata
        try:
            await self._means.client.delete(DELIVERIES, metadata.name, metadata.namespace, uid=metadata.uid)
        except NotFound:
            return Result()  # the namespace went, or Kubernetes was quicker
        log.info("messages closed", request=delivery.spec.request.uid)
        return Result()

    async def _is_gone(self, delivery: ApprovalDelivery) -> bool:
        """Whether the request is no more; a cache alone is not believed."""
        request, namespace = delivery.spec.request, delivery.metadata.namespace
        cache = self._requests[request.kind]
        seen = cache.get(namespace, request.name)
        if seen is not None and seen.metadata.uid == request.uid:
            return False
        try:
            found = await self._means.client.get(cache.kind, request.name, namespace)
        except NotFound:
            return True
        return bool(found.metadata.uid != request.uid)

    async def _close(self, delivery: ApprovalDelivery) -> float | None:
        """Show that it was deleted; the seconds to wait where that cannot be done now."""
        recipient = delivery.spec.recipient
        room = recipient if recipient.startswith("#") else ""
        for channel in self._means.channels:
            for record in delivery.status.messages:
                is_of = (record.channel, record.topic, room) == (channel.name, "asked", channel.room)
                if not (channel.edits and is_of):
                    continue
                if wait := channel.turn(recipient, delivery.spec.request.uid, is_edit=True):
                    return wait
                try:
                    await channel.close(delivery, record.id)
                except RefusedError as error:
                    log.info("message not closed", channel=channel.name, error=str(error))
                except AwayError as error:
                    return error.after or LONGEST_WAIT
                finally:
                    channel.over(recipient)
        return None


def closing_controller(
    means: SendingMeans, requests: Mapping[str, Cache[Any]], deliveries: Cache[ApprovalDelivery]
) -> Controller:
    def about(request: Object) -> Iterator[Key]:
        for one in deliveries.find(BY_REQUEST, request.metadata.uid):
            yield Key(one.metadata.namespace, one.metadata.name)

    return Controller(
        "messages of deleted requests",
        Closer(means, requests, deliveries).reconcile,
        sources=[For(deliveries), *(Watches(cache, about) for cache in requests.values())],
        clock=means.clock,
        metrics=means.metrics,
    )
