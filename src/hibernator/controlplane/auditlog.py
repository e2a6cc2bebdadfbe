"""Reads the API server's audit log: every write to the cluster, by whom and with what outcome."""

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

_DEADLINE = 15  # seconds; a write that an admission webhook holds up is answered within ten
_LOOK_EVERY = 0.01  # seconds


@dataclass(frozen=True, slots=True)
class Write:
    """One write that the API server answered."""

    verb: str
    user: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    at: datetime


class _User(msgspec.Struct, frozen=True):
    username: str = ""


class _Object(msgspec.Struct, frozen=True, rename="camel"):
    api_group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _Status(msgspec.Struct, frozen=True):
    code: int = 0


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
    audit_id: str = msgspec.field(name="auditID")
    stage: str
    verb: str
    request_received_timestamp: datetime
    request_uri: str = msgspec.field(default="", name="requestURI")
    user: _User = _User()
    impersonated_user: _User | None = None
    object_ref: _Object = _Object()
    response_status: _Status = _Status()


def writes(log: Path, namespace: str | None = None) -> list[Write]:
    """Every write so far, oldest first; in one namespace if that is given, and without dry runs.

    A client may see its answer a moment before the log does. The line that marks the beginning of a write is
    there before the write is done, so each one that has begun is waited for: whatever a caller knows to have
    happened is in the list.
    """
    deadline = time.monotonic() + _DEADLINE
    while True:
        entries = _entries(log, namespace)
        answered = {entry.audit_id: entry for entry in entries if entry.stage != "RequestReceived"}
        under_way = [entry for entry in entries if entry.audit_id not in answered]
        if not under_way:
            return sorted(map(_write, answered.values()), key=lambda write: write.at)
        if time.monotonic() > deadline:
            first = under_way[0]
            raise TimeoutError(f"{first.verb} {first.request_uri} has no outcome after {_DEADLINE} s.")
        time.sleep(_LOOK_EVERY)


def _entries(log: Path, namespace: str | None) -> list[_Entry]:
    """Whole lines only: the last one may be half written."""
    whole = log.read_bytes().rpartition(b"\n")[0]
    hint = b"" if namespace is None else namespace.encode()  # spares decoding most lines of a long log
    decoder = msgspec.json.Decoder(_Entry)
    entries = (decoder.decode(line) for line in whole.splitlines() if hint in line)
    return [
        entry
        for entry in entries
        if namespace in {None, entry.object_ref.namespace} and "dryRun=" not in entry.request_uri
    ]


def _write(entry: _Entry) -> Write:
    user = entry.impersonated_user or entry.user
    return Write(
        verb=entry.verb,
        user=user.username,
        group=entry.object_ref.api_group,
        resource=entry.object_ref.resource,
        subresource=entry.object_ref.subresource,
        namespace=entry.object_ref.namespace,
        name=entry.object_ref.name,
        code=entry.response_status.code,
        at=entry.request_received_timestamp,
    )
