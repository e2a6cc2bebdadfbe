"""ApprovalDelivery: what one person was sent about one request, and which links of theirs hold.

It belongs to the web process, which alone writes it, and goes with the request. It holds no secret: of a link
only a hash is kept.
"""

from datetime import datetime
from typing import Annotated, Literal

from hibernator.api.kind import DOMAIN, Kind
from hibernator.api.meta import OBJECT_NAME, Conditions, Model, Object, rule, says
from hibernator.api.people import EMAIL, Channel, Role

# `decision-1` and so on and `escalated` are steps of the story below a post in a channel.
_TOPICS = "asked|reminder-half|reminder-hour|confirmation|decision-[0-9]{1,2}|escalated|outcome|cancelled"
Topic = Annotated[str, says("What it is about.", pattern=f"^({_TOPICS})$")]
Recipient = Annotated[
    str,
    says(
        "The address of the person, or `#` and the id of a channel in Slack.",
        pattern=rf"^(#[A-Z0-9]{{2,}}|{EMAIL[1:-1]})$",
        minLength=3,
        maxLength=254,
    ),
]
RequestKind = Literal["ScheduleException", "RemediationApprovalRequest"]

_HASH = r"^sha256:[0-9a-f]{64}$"


class DeliveryRequest(Model):
    kind: Annotated[RequestKind, says("The kind of the request.")]
    name: Annotated[str, says("Its name, in the same namespace.", pattern=OBJECT_NAME, maxLength=253)]
    uid: Annotated[str, says("Its uid.", minLength=1, maxLength=64)]


class LinkToken(Model):
    """A link that was made for this person."""

    hash: Annotated[str, says("The SHA-256 of the token in the link.", pattern=_HASH)]
    created_at: Annotated[datetime, says("When it was made.")]
    expires_at: Annotated[datetime, says("Until when it is valid.")]


class SentMessage(Model):
    """One message, and how far it is on its way."""

    channel: Channel
    topic: Topic
    id: Annotated[str, says("Its id in the channel, such as the Message-ID of a mail.", maxLength=512)]
    hash: Annotated[str, says("The SHA-256 of what it says.", pattern=_HASH)]
    sent_at: Annotated[
        datetime | None, says("When the channel took it last, as it is now; absent while it did not.")
    ] = None
    first_sent_at: Annotated[
        datetime | None, says("When the channel took it first; what is edited keeps this.")
    ] = None
    attempts: Annotated[int, says("How often it was tried since it was last sent.", format="int32")] = 0
    next_attempt_at: Annotated[
        datetime | None, says("When it is tried again; absent when it was sent, or cannot be.")
    ] = None
    error: Annotated[str, says("What went wrong the last time.", maxLength=1024)] = ""


class ApprovalDeliverySpec(Model):
    RULES = (rule("self == oldSelf", "spec is immutable: it says for whom this is"),)

    request: Annotated[DeliveryRequest, says("What the person is asked about.")]
    recipient: Recipient
    spec_hash: Annotated[
        str, says("The hash of the request's spec, to which links are bound.", maxLength=128)
    ] = ""
    roles: Annotated[
        tuple[Role, ...],
        says("The roles for which they are asked.", maxItems=20, x_kubernetes_list_type="set"),
    ] = ()
    asked: Annotated[bool, says("Whether they are asked; the requester is only informed.", default=False)] = (
        False
    )


class ApprovalDeliveryStatus(Model):
    tokens: Annotated[
        tuple[LinkToken, ...],
        says("The valid links, the newest last.", maxItems=20, x_kubernetes_list_type="atomic"),
    ] = ()
    messages: Annotated[
        tuple[SentMessage, ...],
        says(
            "The messages, the oldest first.",
            maxItems=50,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["channel", "topic"],
        ),
    ] = ()
    conditions: Conditions = ()


class ApprovalDelivery(Object, kw_only=True):
    """Keeps what one person or channel was sent about one request. Written by the web process only."""

    spec: Annotated[ApprovalDeliverySpec, says("Which request, and which person.")]
    status: Annotated[ApprovalDeliveryStatus, says("What was sent, and which links are valid.")] = (
        ApprovalDeliveryStatus()
    )


DELIVERIES = Kind(ApprovalDelivery, DOMAIN, "v1alpha1", "ApprovalDelivery", "approvaldeliveries")
