"""The body of a webhook: a CloudEvent 1.0 in structured JSON, signed as Standard Webhooks says. Pure."""

import base64
import hashlib
import hmac
from typing import Annotated, Any, Final, Literal

import msgspec

from hibernator.notifications.occasions import Occasion, Parcel, says

TYPE: Final = "com.ardikabs.hibernator"
GROUP: Final = f"{TYPE}.group"
CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"


class Group(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Several events in one message."""

    events: Annotated[tuple[Occasion, ...], says("The events, the oldest first.")]
    text: Annotated[str, says("The message in words.")] = ""


class Single(Occasion, frozen=True, kw_only=True, rename="camel"):
    """One event."""

    text: Annotated[str, says("The message in words.")] = ""


class _Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """The attributes of a CloudEvent, as the specification names them."""

    id: Annotated[str, says("The id of the message: the same when it is sent again. As `webhook-id`.")]
    source: Annotated[str, says("Where it happened: `/namespaces/NAMESPACE/KIND/NAME`.")]
    type: Annotated[
        str, says(f"`{TYPE}.` and the event in small letters, such as `{TYPE}.failure`; `{GROUP}` for many.")
    ]
    time: Annotated[str, says("When it happened, in UTC.")]
    subject: Annotated[str, says("The kind, namespace and name of the object.")]
    specversion: Annotated[Literal["1.0"], says("Always `1.0`.")] = "1.0"
    datacontenttype: Annotated[Literal["application/json"], says("Always `application/json`.")] = (
        "application/json"
    )


class CloudEvent(_Envelope, frozen=True, kw_only=True):
    """One event."""

    data: Annotated[Single, says("What happened.")]


class CloudEventGroup(_Envelope, frozen=True, kw_only=True):
    """Several events in one message, where `groupWithin` asks for it, or after quiet hours."""

    data: Annotated[Group, says("What happened.")]


def cloud_event(parcel: Parcel, text: str) -> bytes:
    first = parcel.first
    envelope: dict[str, Any] = {
        "id": parcel.id,
        "source": f"/namespaces/{first.namespace}/{first.kind}/{first.name}",
        "time": first.time,
        "subject": first.about,
    }
    if len(parcel.occasions) > 1:
        many = Group(events=parcel.occasions, text=text)
        return msgspec.json.encode(CloudEventGroup(type=GROUP, data=many, **envelope))
    one = Single(**msgspec.structs.asdict(first), text=text)
    return msgspec.json.encode(CloudEvent(type=f"{TYPE}.{first.event.lower()}", data=one, **envelope))


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"
