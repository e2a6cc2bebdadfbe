"""Notes down on an object who deletes it, just before it goes: nobody can tell afterwards.

A controller sees that something is gone, without a name; a webhook hears the name, and not whether it came to
that. So the name is written on the object, which takes it along: it is in the last state that a watch tells.
The API server finds that the object has changed under its hands, asks again, and the note is there already.

No deletion fails or waits long for this. Who asks to delete a certain version of an object would be told of a
conflict now, and so goes without a name, except for Kubernetes' own controllers, which look and try again.
"""

import asyncio
from typing import Any, Final

import msgspec
import structlog

from hibernator.admission.denials import Judge
from hibernator.admission.review import AdmissionRequest, Allowed, Verdict
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.decisions.author import DELETED_BY, deleter, note
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.errors import ApiError

PATH: Final = "/delete"

_PATIENCE: Final = 2.0  # seconds; of the five that a request has
_PERSISTENT: Final = ("system:serviceaccount:kube-system:", "system:kube-controller-manager")
_log: Final = structlog.get_logger(__name__)


class _Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str | None = None


class _Options(msgspec.Struct, frozen=True):
    preconditions: _Preconditions | None = None


def deletion(client: Client, real: Clock) -> Judge:
    async def noted(request: AdmissionRequest) -> Verdict:
        if not request.dry_run and not _is_bound_to_a_version(request):
            await _note(client, request, real)
        return Allowed()

    return noted


def _is_bound_to_a_version(request: AdmissionRequest) -> bool:
    options = msgspec.json.decode(request.options, type=_Options | None)
    bound = options and options.preconditions and options.preconditions.resource_version
    return bool(bound) and not request.user_info.username.startswith(_PERSISTENT)


async def _note(client: Client, request: AdmissionRequest, real: Clock) -> None:
    old, user, now = request.old(Object).metadata, request.user_info.username, real.now()
    if old.deletion_timestamp or deleter(old, now) == user:
        return  # it is on its way already, or noted down
    try:
        async with asyncio.timeout(_PATIENCE):
            body = {"metadata": {"annotations": {DELETED_BY: note(now, user)}}}
            kind, uid = _kind(request), old.uid
            await client.patch(kind, old.name, old.namespace, body, resource_version=None, uid=uid)
    except (ApiError, OSError, TimeoutError) as error:
        _log.warning("nobody will know who deleted this", name=old.name, user=user, why=str(error))


def _kind(request: AdmissionRequest) -> Kind[Any]:
    """The kind as the API server names it, of which nothing but the metadata is read."""
    about = request.resource
    return Kind(Object, about.group, about.version, about.resource, about.resource, namespaced=True)
