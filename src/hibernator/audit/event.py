"""One thing that happened, ready to be kept for ever.

The id of an event follows from its transition, not from the moment at which it was recorded:
anyone who sees the same transition again builds the same id, and the trail keeps it once.
"""

import difflib
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from whenever import Instant

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object
from hibernator.audit.types import EVENT_TYPES, EventType

# What the fields below mean. Raised when one is added, because the hashes of old events must still come out.
VERSION: Final = 1

Channel = Literal["operator", "kubectl", "cli", "slack", "dashboard", "link", "mail", "api", "admission"]

LONGEST_DATA: Final = 16_384  # bytes; parts of it may come from what someone wrote
_LONGEST_PART: Final = 1024
_LONGEST_ERROR: Final = 4096
_LARGEST: Final = 2**63 - 1

_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_SAYABLE: Final = json.JSONDecoder(parse_constant=lambda _constant: None)


class _Value(Model, omit_defaults=False):
    """Every field is written out, also an empty one: a default that changes must not change a hash."""


class Actor(_Value):
    """Who caused it."""

    type: str  # operator, user, serviceaccount or unknown
    id: str
    email: str = ""
    ip: str = ""
    session: str = ""  # names a session without being one: never a cookie or a token


class Resource(_Value):
    """What it happened to."""

    kind: str
    name: str
    group: str = ""
    namespace: str = ""
    uid: str = ""

    @classmethod
    def of(cls, kind: Kind[Any], found: Object) -> "Resource":
        meta = found.metadata
        return cls(group=kind.group, kind=kind.kind, namespace=meta.namespace, name=meta.name, uid=meta.uid)


class AuditEvent(_Value):
    """Made by `event`. Words are plain text here: a newer version, or a vandal, may have written others."""

    id: str
    version: int
    time: Instant
    type: str
    category: str
    action: str
    outcome: str
    severity: str
    actor: Actor
    channel: str
    resource: Resource
    correlation_id: str
    parent_id: str
    cluster: str  # stamped by the store, which knows where it runs
    data: msgspec.Raw  # JSON in canonical form, so that the same bytes are hashed, stored and read back
    duration_ms: int | None
    error: str


OPERATOR: Final = Actor(type="operator", id="hibernator")
UNKNOWN_ACTOR: Final = Actor(type="unknown", id="")


def person(user: str) -> Actor:
    """Who is known to the API server by this name; without one it may have been anyone."""
    if not user:
        return UNKNOWN_ACTOR
    kind = "serviceaccount" if user.startswith("system:serviceaccount:") else "user"
    return Actor(type=kind, id=user, email=user if "@" in user else "")


def event(
    name: str,
    resource: Resource,
    *,
    at: Instant,
    identity: tuple[str | int, ...] = (),
    actor: Actor = OPERATOR,
    channel: Channel = "operator",
    correlation_id: str = "",
    parent_id: str = "",
    data: Mapping[str, Any] | msgspec.Struct | None = None,
    duration_ms: int | None = None,
    error: str = "",
) -> AuditEvent:
    """The event of a transition.

    `identity` is what sets this transition apart from others of the same type of the same object: the time
    that is in the object's status, with a number where times are not enough. A number alone is given twice
    when etcd is restored from a backup. Take it and `at` from what is stored in the object, never from the
    clock of this pass, or a repeat becomes another event. What happens to an object only once in its life
    needs no identity.
    """
    found = _type(name)
    return AuditEvent(
        id=transition_id(resource.uid, name, *identity),
        version=VERSION,
        time=at.round("microsecond", mode="floor"),
        type=name,
        category=found.category,
        action=found.action,
        outcome=found.outcome,
        severity=found.severity,
        actor=_clean_actor(actor),
        channel=channel,
        resource=_clean_resource(resource),
        correlation_id=clean(correlation_id),
        parent_id=clean(parent_id),
        cluster="",
        data=_bounded(data or {}),
        duration_ms=duration_ms,
        error=clean(error, _LONGEST_ERROR),
    )


def transition_id(uid: str, name: str, *identity: str | int) -> str:
    """A UUID (version 8) from SHA-256 of the transition: the same each time someone computes it."""
    one = json.dumps([uid, name, *map(str, identity)]).encode()
    digest = hashlib.sha256(one).hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def canonical(data: Mapping[str, Any] | msgspec.Struct) -> msgspec.Raw:
    """JSON with sorted keys, without spaces, numbers as Python writes them; what JSON cannot say is null.

    Written by the standard library, so that someone who checks an exported trail needs nothing else.
    """
    plain = msgspec.to_builtins(data, enc_hook=as_text, str_keys=True)
    return msgspec.Raw(_CANONICAL.encode(_SAYABLE.decode(json.dumps(plain))).encode(errors="replace"))


def _bounded(data: Mapping[str, Any] | msgspec.Struct) -> msgspec.Raw:
    """The data, or what is short of it with the names of what was cut."""
    whole = canonical(data)
    if len(bytes(whole)) <= LONGEST_DATA:
        return whole
    parts = {clean(key): value for key, value in json.loads(bytes(whole)).items()}
    short: dict[str, Any] = {}
    room = LONGEST_DATA // 2  # the other half is for the names
    for key, value in parts.items():
        size = len(bytes(canonical({key: value})))
        if size <= _LONGEST_PART and size <= room:
            short[key], room = value, room - size
    cut = clean(", ".join(key for key in parts if key not in short), _LONGEST_PART)
    return canonical(short | {"cut": cut})


def as_text(value: object) -> str:
    """How the types that msgspec does not know go into JSON."""
    if isinstance(value, Instant):
        return value.format_iso(unit="microsecond")
    raise NotImplementedError(f"{type(value).__name__} has no place in an audit event")


def to_json(one: AuditEvent) -> str:
    """For where an event waits on its way into the chain."""
    return _ENCODER.encode(one).decode()


def from_json(text: str) -> AuditEvent:
    """What `to_json` made; anything else raises `msgspec.DecodeError`.

    Others may have written there, too. What no database can hold would keep all that lies behind it waiting.
    """
    try:
        one = _DECODER.decode(text)
        is_sound = _is_sound(one)
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error
    if not is_sound:
        raise msgspec.DecodeError("it holds what no event can")
    return one


def _is_sound(one: AuditEvent) -> bool:
    texts = {name: value for name in one.__struct_fields__ if isinstance(value := getattr(one, name), str)}
    error = texts.pop("error")
    return (
        all(text == clean(text) for text in texts.values())
        and error == clean(error, _LONGEST_ERROR)
        and one.actor == _clean_actor(one.actor)
        and one.resource == _clean_resource(one.resource)
        and max(abs(one.version), abs(one.duration_ms or 0)) <= _LARGEST
        and len(bytes(one.data)) <= LONGEST_DATA
        and bytes(one.data).startswith(b"{")
    )


def clean(text: str, limit: int = 256) -> str:
    """What every database can hold and index: valid Unicode, no NUL, of bounded length.

    Names and messages come from outside; one that a database refuses would hold up everything behind it.
    """
    if text.isascii() and len(text) <= limit and "\0" not in text:
        return text
    text = text.encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text if len(text) <= limit else text[: limit - 1] + "…"


_ENCODER: Final = msgspec.json.Encoder(enc_hook=as_text)
_DECODER: Final = msgspec.json.Decoder(AuditEvent, dec_hook=lambda _type, text: Instant.parse_iso(text))


def _type(name: str) -> EventType:
    if found := EVENT_TYPES.get(name):
        return found
    close = difflib.get_close_matches(name, EVENT_TYPES, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "; add it to hibernator.audit.types"
    raise ValueError(f"{name!r} is not a type of event{hint}")


def _clean_actor(actor: Actor) -> Actor:
    return Actor(
        type=actor.type,
        id=clean(actor.id),
        email=clean(actor.email),
        ip=clean(actor.ip, 64),
        session=clean(actor.session),
    )


def _clean_resource(resource: Resource) -> Resource:
    # The longest that Kubernetes allows. Admission also sees names that it is about to reject.
    return Resource(
        group=clean(resource.group, 253),
        kind=clean(resource.kind, 63),
        namespace=clean(resource.namespace, 63),
        name=clean(resource.name, 253),
        uid=clean(resource.uid, 64),
    )
