"""A new link for a person whose old one has expired: the replica that leads sends them the question again."""

from typing import Any, Final

from whenever import Instant

from hibernator.api.approvaldelivery import DELIVERIES, ApprovalDelivery, SentMessage
from hibernator.approvals.decision import Matter, write
from hibernator.kube.client import Client
from hibernator.kube.patch import encode, merge_patch
from hibernator.messages.records import has_link, renewed

_PAUSE: Final = 300.0  # seconds between two links of one person: an old link must not fill a mailbox


def is_too_early(delivery: ApprovalDelivery, now: Instant) -> bool:
    """Whether they were sent a link just now, or will be."""
    return any(
        one.sent_at is None or (now - Instant(one.sent_at)).total("seconds") < _PAUSE
        for one in _questions(delivery)
    )


async def ask_again(client: Client, delivery: ApprovalDelivery, now: Instant) -> bool:
    """Have the question sent once more; False where that was done a moment ago, or no mail is sent at all."""
    if not _questions(delivery) or is_too_early(delivery, now):
        return False
    metadata = delivery.metadata

    def change(found: ApprovalDelivery) -> dict[str, Any]:
        if is_too_early(found, now):  # another replica was quicker
            return {}
        return merge_patch(encode(found.status), encode(renewed(found.status, now)))

    await write(client, DELIVERIES, Matter(metadata.name, metadata.namespace, metadata.uid), change)
    return True


def _questions(delivery: ApprovalDelivery) -> list[SentMessage]:
    return [one for one in delivery.status.messages if has_link(one)]
