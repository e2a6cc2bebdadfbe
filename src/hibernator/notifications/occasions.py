"""What there is to notify about, in one shape for every sink, template and receiver. Pure."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from hibernator.api.hibernatenotification import NotificationEvent

MOST_DATA: Final = 4096  # bytes of what an audit event says besides


def says(description: str) -> msgspec.Meta:
    return msgspec.Meta(description=description)


class Occasion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that happened, or is about to. The `data` of a webhook's body, and the input of templates."""

    id: Annotated[str, says("Names what happened: the same each time that it is sent.")]
    event: Annotated[NotificationEvent, says("The event, as in `onEvents`.")]
    type: Annotated[str, says("What happened, as the audit trail calls it.")]
    kind: Annotated[str, says("The kind of the object.")]
    namespace: Annotated[str, says("Its namespace.")]
    name: Annotated[str, says("Its name.")]
    uid: Annotated[str, says("Its uid.")]
    time: Annotated[str, says("When it happened, in UTC.")]
    severity: Annotated[str, says("`info`, `notice`, `warning` or `error`.")] = "info"
    title: Annotated[str, says("What happened, in a few words.")] = ""
    message: Annotated[str, says("Why, in words.")] = ""
    plan: Annotated[str, says("The plan that it is about; empty if none.")] = ""
    cycle: Annotated[int | None, says("The cycle of the plan.")] = None
    seconds: Annotated[int | None, says("How long it took.")] = None
    user: Annotated[str, says("Who did it; empty if it was the operator.")] = ""
    command: Annotated[str, says("The command to run next.")] = ""
    link: Annotated[str, says("Where it can be looked at.")] = ""
    data: Annotated[Mapping[str, Any], says("What the audit trail says besides.")] = msgspec.field(
        default_factory=dict
    )

    @property
    def about(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Placed(msgspec.Struct, frozen=True):
    """An occasion with its place: in the audit trail (`sequence`), or on the clock (0)."""

    sequence: int
    recorded: float  # seconds since the epoch
    occasion: Occasion


class Parcel(msgspec.Struct, frozen=True):
    """What goes to a sink at once: one occasion, or a group of them."""

    id: str
    occasions: tuple[Occasion, ...]

    @property
    def first(self) -> Occasion:
        return self.occasions[0]


def parcel_id(notification_uid: str, sink: str, first: Occasion) -> str:
    """The same after every crash: named by the first of what is in it."""
    identity = f"{notification_uid}\n{sink}\n{first.event}\n{first.id}".encode()
    return f"msg_{hashlib.sha256(identity).hexdigest()[:32]}"
