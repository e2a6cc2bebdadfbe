"""A list of 10,000 objects and a watch of 50,000 events as bytes, served by a process of its own.

What is measured is what a client does with bytes, so both clients must get the same ones, as fast as they can
take them. Nothing here decides anything: this stands for the wire, not for the API server.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

OBJECTS = 10_000
EVENTS = 50_000
PAGE = 500
_BLOCK = 27  # events that come in one piece, about 64 KB


def plan(number: int, version: int) -> dict[str, Any]:
    """A HibernatePlan as the API server writes it, with the bookkeeping that nobody keeps in memory."""
    targets = [
        {
            "name": f"target-{index}",
            "type": "workloadscaler",
            "connectorRef": {"kind": "K8SCluster", "name": "in-cluster"},
            "parameters": {
                "includedGroups": ["Deployment", "StatefulSet"],
                "namespace": {"literals": ["default"]},
            },
        }
        for index in range(3)
    ]
    fields: dict[str, Any] = {
        f"f:{name}": {} for name in ("behavior", "execution", "schedule", "targets", "suspend")
    }
    managed = [
        {
            "apiVersion": "hibernator.ardikabs.com/v1alpha1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:team": {}}},
                "f:spec": fields,
                "f:status": fields,
            },
            "manager": manager,
            "operation": "Update",
            "time": "2026-11-15T10:00:00Z",
        }
        for manager in ("kubectl", "hibernator")
    ]
    return {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "HibernatePlan",
        "metadata": {
            "name": f"plan-{number}",
            "namespace": f"team-{number % 50}",
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "resourceVersion": str(version),
            "generation": version,
            "creationTimestamp": "2026-11-01T08:00:00Z",
            "labels": {"team": f"team-{number % 50}", "app.kubernetes.io/managed-by": "hibernator"},
            "annotations": {"example.org/note": "x" * 300},
            "managedFields": managed,
        },
        "spec": {
            "schedule": {
                "timezone": "Europe/Berlin",
                "offHours": [
                    {"start": "20:00", "end": "06:00", "daysOfWeek": ["MON", "TUE", "WED", "THU", "FRI"]},
                    {"start": "00:00", "end": "23:59", "daysOfWeek": ["SAT", "SUN"]},
                ],
            },
            "execution": {"strategy": {"type": "Parallel", "maxConcurrency": 2}},
            "behavior": {"mode": "Strict", "failFast": True, "retries": 3},
            "targets": targets,
        },
    }


def pages() -> list[bytes]:
    """The list, cut into pages that name their successors."""
    made = []
    for start in range(0, OBJECTS, PAGE):
        more = {"continue": str(start // PAGE + 1)} if start + PAGE < OBJECTS else {}
        items = [plan(number, number + 1) for number in range(start, start + PAGE)]
        made.append(_json({"metadata": {"resourceVersion": str(OBJECTS)} | more, "items": items}))
    return made


def blocks() -> Iterator[bytes]:
    """The watch, several lines at a time."""
    lines = [
        _json({"type": "MODIFIED", "object": plan(event * 7919 % OBJECTS, OBJECTS + 1 + event)}) + b"\n"
        for event in range(EVENTS)
    ]
    for start in range(0, EVENTS, _BLOCK):
        yield b"".join(lines[start : start + _BLOCK])


def _json(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


async def serve() -> None:
    listed, stream = pages(), [b"%x\r\n%s\r\n" % (len(block), block) for block in blocks()]

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            if "watch=true" in head:
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                )
                for block in stream:
                    writer.write(block)
                    await writer.drain()
            else:
                number = int(head.partition("continue=")[2].split("&")[0].split(" ")[0] or 0)
                body = listed[number]
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                await writer.drain()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    size = sum(map(len, listed)) // OBJECTS
    print(json.dumps({"port": server.sockets[0].getsockname()[1], "bytes": size}), flush=True)
    async with server:
        await server.serve_forever()


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return ""


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[1])})
    asyncio.run(serve())
