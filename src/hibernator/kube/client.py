"""The API server as typed objects: get, list, watch, create, patch, apply, delete, and "may this person?".

    async with Client(credentials.find()) as client:
        plan = await client.get(PLANS, "nightly", "team-a")

Errors are those of `kube.errors`. Names are checked before they become part of a path, because some of them
come from fields that users write: `../secrets/x` must not become a request for something else.
"""

import copy
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote

import msgspec

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.kube.credentials import Credentials
from hibernator.kube.errors import Conflict, Invalid, NotFound, Unavailable, Undecodable, from_status
from hibernator.kube.fairness import Lanes
from hibernator.kube.metrics import Metrics
from hibernator.kube.patch import encode
from hibernator.kube.transport import Call, Fence, Transport
from hibernator.kube.wire import Broken, Failure, Page, WatchEvent, Wire, wire

T = TypeVar("T", bound=Object)
_List = list  # the class below has a method of that name

_MERGE_PATCH: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_SELF_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_TOKENS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_PAGE: Final = 500
_SILENCE: Final = 90.0  # the API server sends a bookmark every minute


class _ReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


class Caller(msgspec.Struct, frozen=True):
    """Who a token belongs to, as the API server knows them."""

    username: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: Caller = Caller()


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str


class Client:
    """Talks to one API server; share one between everything in a process."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        lanes: Lanes | None = None,
        metrics: Metrics | None = None,
        deadline: float = 30.0,
        largest: int | None = None,
    ) -> None:
        self.credentials = credentials
        self._deadline = deadline  # real seconds for a request, not for waiting for its turn
        self._largest = largest  # bytes of an answer, where the server is not to be trusted
        self._lanes = lanes or Lanes()
        self._metrics = metrics
        self._transport: Transport | None = None
        self._fence: Fence | None = None

    async def __aenter__(self) -> Self:
        self._transport = Transport(
            self.credentials, self._lanes, self._metrics, self._deadline, self._largest
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.close()
        self._transport = None

    def fenced(self, fence: Fence) -> "Client":
        """This client over the same connections, but for writes that `fence` must allow each time."""
        fenced = copy.copy(self)
        fenced._fence = fence  # noqa: SLF001 — its own
        return fenced

    @property
    def _open(self) -> Transport:
        if self._transport is None:
            raise RuntimeError("the client is closed; use it inside `async with`")
        return self._transport

    async def get(self, kind: Kind[T], name: str, namespace: str = "", *, subresource: str = "") -> T:
        return await self._send(kind, "get", "GET", _path(kind, namespace, name, subresource))

    async def pages(
        self,
        kind: Kind[T],
        namespace: str = "",
        *,
        limit: int = _PAGE,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[Page[T]]:
        """A list in pages, all of one version. `limit=0` asks for everything at once."""
        query = _query(limit=limit, labelSelector=label_selector, fieldSelector=field_selector)
        path = _path(kind, namespace)
        more = ""
        while True:
            asked = query | _query(**{"continue": more})
            accept = _accept(kind, "PartialObjectMetadataList")
            call = Call("list", kind.resource, "GET", path, asked, accept=accept)
            body = await self._open.send(call)
            try:
                page = wire(kind).page(body)
            except ValueError as error:
                raise Unavailable(
                    f"the API server did not answer with a list: {error}", request=path
                ) from error
            more = page.next
            del body  # of a long list no more than a page is held: not the last one while the next is coming
            yield page
            del page
            if not more:
                return

    async def list(
        self, kind: Kind[T], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> _List[T]:
        """All objects that decode. Take `pages` to learn of the others."""
        pages = self.pages(kind, namespace, label_selector=label_selector, field_selector=field_selector)
        return [item async for page in pages for item in page.items]

    async def watch(
        self,
        kind: Kind[T],
        resource_version: str,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        seconds: float = 300.0,
        silence: float = _SILENCE,
    ) -> AsyncGenerator[Iterator[WatchEvent[T]], None]:
        """What changes after a version, in batches, until the server ends it after about so many `seconds`.

        The first batch is empty: it says that the watch stands.
        """
        query = _query(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=resource_version,
            timeoutSeconds=max(1, round(seconds)),
            labelSelector=label_selector,
            fieldSelector=field_selector,
        )
        accept = _accept(kind, "PartialObjectMetadata")
        call = Call("watch", kind.resource, "GET", _path(kind, namespace), query, accept=accept)
        async with self._open.stream(call, silence=silence) as stream:
            yield iter(())
            async for lines in _lines(stream.iter_any()):
                yield _decode(wire(kind), lines, call)

    async def create(self, kind: Kind[T], body: Mapping[str, Any] | Object, namespace: str = "") -> T:
        """Make an object. With a name that only we give, `AlreadyExists` means that it was made before."""
        document = _document(kind, body)
        namespace = namespace or document["metadata"].get("namespace", "")
        return await self._send(kind, "create", "POST", _path(kind, namespace, new=True), document)

    async def patch(
        self,
        kind: Kind[T],
        name: str,
        namespace: str,
        patch: Mapping[str, Any],
        *,
        resource_version: str | None,
        uid: str | None = None,
        subresource: str = "",
    ) -> T:
        """Merge a patch, if the object is still the one that the precondition names."""
        expected = _query(resourceVersion=resource_version, uid=uid)
        body = {**patch, "metadata": {**patch.get("metadata", {}), **expected}} if expected else patch
        path = _path(kind, namespace, name, subresource)
        try:
            return await self._send(kind, "patch", "PATCH", path, body, content_type=_MERGE_PATCH)
        except Invalid as error:
            # Another object of the same name: the API server takes our UID for an attempt to change it.
            if uid and any(cause.field == "metadata.uid" for cause in error.causes):
                raise Conflict(error.message, request=error.request, status=error.status) from error
            raise

    async def apply(
        self,
        kind: Kind[T],
        body: Mapping[str, Any],
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
    ) -> T:
        """Server-side apply: make it so that the fields named here, and only these, are ours."""
        document = _document(kind, body)
        metadata = document["metadata"]
        path = _path(kind, metadata.get("namespace", ""), metadata.get("name", ""), subresource)
        query = _query(fieldManager=field_manager, force="true" if force else "")
        return await self._send(kind, "apply", "PATCH", path, document, query=query, content_type=_APPLY)

    async def delete(
        self,
        kind: Kind[T],
        name: str,
        namespace: str = "",
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str = "Background",
    ) -> None:
        """Ask for the deletion of the object, or only of the very one that `uid` names."""
        body = {
            "propagationPolicy": propagation,
            "preconditions": _query(uid=uid, resourceVersion=resource_version),
        }
        path = _path(kind, namespace, name)
        encoded = msgspec.json.encode(body)
        await self._open.send(Call("delete", kind.resource, "DELETE", path, {}, encoded, fence=self._fence))

    async def may(
        self,
        *,
        user: str,
        groups: Sequence[str],
        extra: Mapping[str, Sequence[str]],
        verb: str,
        resource: str,
        group: str,
        namespace: str,
        name: str,
        subresource: str = "",
    ) -> bool:
        """Ask the cluster whether its rules allow someone something."""
        attributes = {
            "verb": verb,
            "group": group,
            "resource": resource,
            "subresource": subresource,
            "namespace": namespace,
            "name": name,
        }
        frozen_extra = {key: tuple(values) for key, values in extra.items()}
        return await self._allowed(Caller(user, tuple(groups), frozen_extra), resourceAttributes=attributes)

    async def may_reach(self, who: Caller, verb: str, path: str) -> bool:
        """Ask the cluster whether its rules allow someone a path that is no resource of it."""
        return await self._allowed(who, nonResourceAttributes={"verb": verb, "path": path})

    async def _allowed(self, who: Caller, **attributes: Mapping[str, str]) -> bool:
        spec = {**attributes, "user": who.username, "groups": who.groups, "extra": who.extra}
        resource = "subjectaccessreviews.authorization.k8s.io"
        call = Call("review", resource, "POST", _REVIEWS, {}, msgspec.json.encode({"spec": spec}))
        return msgspec.json.decode(await self._open.send(call), type=_Review).status.allowed

    async def caller(self, token: str) -> Caller | None:
        """Ask the cluster whose token this is; None where it is not valid."""
        body = msgspec.json.encode({"spec": {"token": token}})
        resource = "tokenreviews.authentication.k8s.io"
        answer = await self._open.send(Call("review", resource, "POST", _TOKENS, {}, body))
        status = msgspec.json.decode(answer, type=_TokenReview).status
        return status.user if status.authenticated and status.user.username else None

    async def may_i(self, verb: str, kind: Kind[Any], namespace: str = "") -> bool:
        """Ask the cluster whether its rules allow us something; without a namespace, in all of them."""
        attributes = {"verb": verb, "group": kind.group, "resource": kind.plural, "namespace": namespace}
        body = msgspec.json.encode({"spec": {"resourceAttributes": attributes}})
        resource = "selfsubjectaccessreviews.authorization.k8s.io"
        answer = await self._open.send(Call("review", resource, "POST", _SELF_REVIEWS, {}, body))
        return msgspec.json.decode(answer, type=_Review).status.allowed

    async def version(self) -> str:
        """The version that the API server says it is."""
        answer = await self._open.send(Call("get", "version", "GET", "/version", {}))
        try:
            return msgspec.json.decode(answer, type=_Version).git_version
        except msgspec.DecodeError as error:
            raise Unavailable(f"what answers is no API server: {error}", request="GET /version") from error

    async def serves(self, group: str) -> bool:
        """Whether the API server has this group of kinds, which all who are logged in may ask."""
        try:
            await self._open.send(Call("get", group, "GET", f"/apis/{group}", {}))
        except NotFound:
            return False
        return True

    async def _send(
        self,
        kind: Kind[T],
        verb: str,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> T:
        encoded = None if body is None else msgspec.json.encode(body)
        accept = _accept(kind, "PartialObjectMetadata")
        call = Call(
            verb, kind.resource, method, path, query or {}, encoded, content_type, self._fence, accept
        )
        found = wire(kind).object(await self._open.send(call))
        if isinstance(found, Broken):
            raise Undecodable(found.why, request=str(call))
        return found


def _path(
    kind: Kind[Any], namespace: str, name: str | None = None, subresource: str = "", *, new: bool = False
) -> str:
    """The path of a collection, or of an object in it when there is a name; names are checked."""
    if kind.namespaced and not namespace and (new or name is not None):
        raise Invalid(f"a {kind.kind} lives in a namespace, but none was given")
    for what, text in (("namespace", namespace), ("name", name)):
        if (
            text in {".", ".."}
            or "/" in (text or "")
            or "%" in (text or "")
            or (what == "name" and text == "")
        ):
            raise Invalid(f"{text!r} cannot be the {what} of a {kind.kind}")
    return quote(kind.path(namespace, name or "", subresource))


def _accept(kind: Kind[Any], shape: str) -> str:
    """Which form of the objects is asked for. A server that cannot cut them down sends all of them."""
    return (
        f"application/json;as={shape};g=meta.k8s.io;v=v1,application/json"
        if kind.partial
        else "application/json"
    )


def _query(**parameters: str | int | None) -> dict[str, str]:
    """The parameters that say something."""
    return {key: str(value) for key, value in parameters.items() if value}


def _document(kind: Kind[Any], body: Mapping[str, Any] | Object) -> dict[str, Any]:
    document = encode(body) if isinstance(body, Object) else dict(body)
    document.setdefault("metadata", {})
    return {**document, "apiVersion": kind.api_version, "kind": kind.kind}


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Whole lines, all that came together; a line can be megabytes and come in many chunks."""
    begun: list[bytes] = []
    async for chunk in chunks:
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join((*begun, lines[0]))
            begun = [rest]
            yield lines
        else:
            begun.append(rest)


def _decode(kind: Wire[T], lines: Sequence[bytes], call: Call) -> Iterator[WatchEvent[T]]:
    """The events of these lines, each decoded when it is asked for, in the memory that the last one left."""
    for line in filter(None, lines):
        try:
            event = kind.event(line)
        except ValueError as error:
            raise Unavailable(f"the API server sent no event: {error}", request=str(call)) from error
        if isinstance(event, Failure):
            raise from_status(event.object, event.object.code, reads=True, request=str(call))
        yield event
