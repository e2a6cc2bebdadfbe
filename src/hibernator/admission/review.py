"""What the API server asks a webhook and how it wants to be answered, so that a webhook is a small function.

A handler takes the body of a request and gives the body of the answer. A body that is no review raises
`msgspec.DecodeError`, which the server answers with a 400. What a webhook refuses is recorded in the audit
trail, with who asked and why it was refused.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeVar

import msgspec
import structlog
from whenever import Instant

from hibernator.api.conversion import ConversionError, Document
from hibernator.audit.event import AuditEvent, Resource, clean, event, person
from hibernator.kube.wire import TOO_DEEP, shallow

Handler = Callable[[bytes], Awaitable[bytes]]
Convert = Callable[[Document, str], Document]
T = TypeVar("T")

_NOTHING: Final = msgspec.Raw(b"null")
_AT_ONCE: Final = 50  # objects to convert before others get their turn: a list can have thousands


class UserInfo(msgspec.Struct, frozen=True):
    """Who asks, as the API server has authenticated them."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


class GroupVersionResource(msgspec.Struct, frozen=True):
    group: str
    version: str
    resource: str


class AdmissionRequest(msgspec.Struct, frozen=True, rename="camel"):
    """What someone wants to do. The objects are decoded only where they are needed."""

    uid: str
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
    resource: GroupVersionResource
    user_info: UserInfo
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    object: msgspec.Raw = _NOTHING
    old_object: msgspec.Raw = _NOTHING
    dry_run: bool = False

    @property
    def too_deep(self) -> bool:
        """Whether the object as it shall become could not be read as a whole."""
        return TOO_DEEP in bytes(self.object)

    def new(self, kind: type[T]) -> T:
        """The object as it shall become; there is one unless something is to be deleted."""
        return msgspec.json.decode(self.object, type=kind)

    def old(self, kind: type[T]) -> T:
        """The object as it is; there is one unless it is to be created."""
        return msgspec.json.decode(self.old_object, type=kind)


@dataclass(frozen=True, slots=True)
class Allowed:
    """Yes, perhaps with changes (a JSON patch, RFC 6902) and with words that kubectl prints as warnings."""

    patch: Sequence[Mapping[str, Any]] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Denied:
    """No; the message is what the user reads."""

    message: str
    code: int = 403
    reason: str = "Forbidden"


Verdict = Allowed | Denied


class _ConversionRequest(msgspec.Struct, frozen=True):
    uid: str
    desired_version: str = msgspec.field(name="desiredAPIVersion")
    objects: list[dict[str, Any]]


class _ConversionReview(msgspec.Struct, frozen=True, rename="camel"):
    api_version: Literal["apiextensions.k8s.io/v1"]
    kind: Literal["ConversionReview"]
    request: _ConversionRequest


class _AdmissionReview(msgspec.Struct, frozen=True, rename="camel"):
    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: AdmissionRequest


def conversion(converters: Mapping[str, Convert]) -> Handler:
    """Make the handler of a CRD's conversion webhook from one function for each kind."""
    decoder = msgspec.json.Decoder(_ConversionReview)

    async def handle(body: bytes) -> bytes:
        try:
            review = decoder.decode(body)
        except RecursionError as error:
            raise msgspec.DecodeError("it is nested too deeply") from error
        try:
            objects = await _converted(review.request, converters)
            answer = {"convertedObjects": objects, "result": {"status": "Success"}}
        except ConversionError as error:
            answer = {"result": {"status": "Failure", "message": str(error)}}
        return _answer(review.api_version, review.kind, {"uid": review.request.uid, **answer})

    return handle


def admission(judge: Callable[[AdmissionRequest], Awaitable[Verdict]]) -> Handler:
    """Make the handler of a mutating or validating webhook.

    When `judge` fails, so does the request, and the webhook's `failurePolicy` says what that means.
    """
    decoder = msgspec.json.Decoder(_AdmissionReview)

    async def handle(body: bytes) -> bytes:
        try:
            review = decoder.decode(body)
        except RecursionError:
            review = decoder.decode(shallow(body))  # who judges sees that something was cut away
        answer = _verdict(await judge(review.request))
        return _answer(review.api_version, review.kind, {"uid": review.request.uid, **answer})

    return handle


async def _converted(request: _ConversionRequest, converters: Mapping[str, Convert]) -> list[Document]:
    objects = []
    for count, document in enumerate(request.objects, 1):
        kind = document.get("kind")
        if not isinstance(kind, str) or kind not in converters:
            raise ConversionError(f"{kind} is not a kind that this webhook converts")
        objects.append(converters[kind](document, request.desired_version))
        if count % _AT_ONCE == 0:
            await asyncio.sleep(0)
    return objects


def _verdict(verdict: Verdict) -> dict[str, Any]:
    match verdict:
        case Denied(message, code, reason):
            return {"allowed": False, "status": {"message": message, "code": code, "reason": reason}}
        case Allowed(patch, warnings):
            answer: dict[str, Any] = {"allowed": True}
            if patch:
                answer |= {"patchType": "JSONPatch", "patch": msgspec.json.encode(patch)}
            return answer | ({"warnings": warnings} if warnings else {})


def _answer(api_version: str, kind: str, response: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"apiVersion": api_version, "kind": kind, "response": response})


WITHIN: Final = 3.0  # seconds for judging and recording together; the application allows a request four
PATIENCE: Final = 1.0  # of them for the database

_LONGEST_ERROR: Final = 1024  # characters; it quotes what someone has written

_log: Final = structlog.get_logger(__name__)

Judge = Callable[[AdmissionRequest], Awaitable[Verdict]]


class Keep(Protocol):
    """Returns when the event cannot be lost any more."""

    def __call__(self, event: AuditEvent, /, *, patience: float) -> Awaitable[None]: ...


def on_record(judge: Judge, keep: Keep, now: Callable[[], Instant], within: float = WITHIN) -> Judge:
    """The same judge, whose refusals are in the trail. A dry run changes nothing, the trail included."""

    async def judged(request: AdmissionRequest) -> Verdict:
        until = asyncio.get_running_loop().time() + within
        verdict = await judge(request)
        if isinstance(verdict, Denied) and not request.dry_run:
            await recorded(keep, request, lambda: denial(request, verdict, now()), until)
        return verdict

    return judged


async def recorded(
    keep: Keep, request: AdmissionRequest, tell: Callable[[], AuditEvent], until: float
) -> None:
    """Return when the event cannot be lost any more, or when the time is up; it never fails."""
    try:
        async with asyncio.timeout_at(until):
            await keep(tell(), patience=PATIENCE)
    except Exception as error:  # noqa: BLE001 — the answer to the API server must not depend on its record
        _log.warning(
            "admission record is in memory only",
            operation=request.operation,
            name=request.name,
            user=request.user_info.username,
            why=str(error) or type(error).__name__,
        )


def denial(request: AdmissionRequest, verdict: Denied, at: Instant) -> AuditEvent:
    """Named by the request, of which there is one, however often someone asks again."""
    document = request.new(dict[str, Any])
    metadata, user = document.get("metadata", {}), request.user_info.username
    return event(
        "admission.denied",
        Resource(
            group=request.resource.group,
            kind=str(document.get("kind", request.resource.resource)),
            namespace=request.namespace,
            name=request.name or str(metadata.get("name", metadata.get("generateName", ""))),
            uid=str(metadata.get("uid", "")),
        ),
        at=at,
        identity=(request.uid,),
        actor=person(user),
        channel="admission",
        data={"operation": request.operation, "part": request.sub_resource},
        error=clean(verdict.message, _LONGEST_ERROR),
    )
