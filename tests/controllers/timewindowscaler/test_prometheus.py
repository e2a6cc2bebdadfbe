"""Answers of a Prometheus that somebody else runs: what becomes of them, and what does not."""

import asyncio
import gzip
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest
from aiohttp import web

from hibernator.api.timewindowscaler_v1beta1 import ExternalReplicas, PrometheusQuery
from hibernator.controllers.measurements import (
    Measurements,
    ReadingError,
    measurement_controller,
    read_number,
)
from hibernator.decisions.scaler_timeline import clamped
from hibernator.kube.clock import SystemClock
from hibernator.kube.controller import Key, Result
from hibernator.kube.metrics import Metrics
from support.costs import at_most

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
VECTOR = {"status": "success", "data": {"resultType": "vector", "result": [{"value": [1.0, "4.2"]}]}}


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def read(handler: Handler) -> float:
    async with serving(handler) as address, aiohttp.ClientSession() as session:
        return await read_number(session, address, "up")


def saying(text: str | bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Handler:
    body = text if isinstance(text, bytes) else text.encode()

    async def handler(_request: web.Request) -> web.Response:
        return web.Response(body=body, status=status, headers=headers)

    return handler


async def test_a_number_is_read_also_when_it_comes_in_pieces() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for byte in json.dumps(VECTOR).encode():
            await response.write(bytes([byte]))
            await asyncio.sleep(0)
        return response

    assert await read(handler) == 4.2
    scalar = {"status": "success", "data": {"resultType": "scalar", "result": [1.0, "3"]}}
    assert await read(saying(json.dumps(scalar))) == 3.0


SECRET = "token=hunter2"
HOSTILE = {
    "an error text": saying(json.dumps({"status": "error", "error": SECRET}), 400),
    "another service": saying(f"<html>{SECRET}</html>"),
    "a redirect": saying(SECRET, 302, {"Location": f"http://127.0.0.1:1/{SECRET}"}),
    "an odd type of result": saying(
        json.dumps({"status": "success", "data": {"resultType": SECRET, "result": {}}})
    ),
    "no number": saying(
        json.dumps(
            {"status": "success", "data": {"resultType": "vector", "result": [{"value": [1, SECRET]}]}}
        )
    ),
    "no end": saying('{"status": "' + SECRET + "x" * 10_000_000),
    "a packed bomb": saying(gzip.compress(b"0" * 200_000_000, 1), headers={"Content-Encoding": "gzip"}),
    "deep nesting": saying('{"status": "success", "x": ' + "[" * 60_000),
    "a deep result": saying(
        '{"status": "success", "data": {"resultType": "vector", "result": '
        + "[" * 30_000
        + "]" * 30_000
        + "}}"
    ),
}


@pytest.mark.parametrize("handler", HOSTILE.values(), ids=HOSTILE.keys())
async def test_nothing_of_an_answer_but_its_status_code_is_passed_on(handler: Handler) -> None:
    with pytest.raises(ReadingError) as told:
        await read(handler)
    assert "hunter2" not in str(told.value)
    assert len(str(told.value)) < 200


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1", "http://nowhere.invalid", "http://[::", "http://127.0.0.1:99999"]
)
async def test_an_address_where_no_one_answers_is_told_without_the_reason(address: str) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(ReadingError, match="does not answer within 5 seconds") as told:
            await read_number(session, address, "up")
    assert "refused" not in str(told.value).lower()


@pytest.mark.parametrize(
    ("reading", "replicas"), [(float("inf"), 9), (float("-inf"), 2), (1e300, 9), (-5.0, 2), (2.1, 3)]
)
def test_any_number_is_kept_within_its_bounds(reading: float, replicas: int) -> None:
    query = PrometheusQuery(server_address="http://prometheus", query="up")
    assert clamped(reading, ExternalReplicas(prometheus=query, min=2, max=9)) == replicas


async def test_a_namespace_whose_prometheus_never_answers_leaves_room_for_the_others() -> None:
    silent, open_door, read = asyncio.Event(), asyncio.Event(), asyncio.Event()
    waiting = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal waiting
        if request.path.startswith("/silent"):
            waiting += 1
            if waiting == 4:
                silent.set()
            await open_door.wait()
        return web.json_response(VECTOR)

    async with serving(handler) as address, aiohttp.ClientSession() as session:
        measurements = Measurements(session)
        controller = measurement_controller(measurements, SystemClock(), Metrics())
        measurements.connect(ask=controller.queue.add, notify=lambda _key: read.set())
        slow = PrometheusQuery(server_address=f"{address}/silent", query="up")
        good = PrometheusQuery(server_address=address, query="up")
        for number in range(20):
            assert measurements.latest(Key("hostile", f"scaler-{number}"), slow) is None
        neighbour = Key("neighbour", "scaler")
        assert measurements.latest(neighbour, good) is None
        async with asyncio.TaskGroup() as tasks, asyncio.timeout(10):
            tasks.create_task(controller.run())
            await silent.wait()
            await read.wait()
            assert waiting == 4
            controller.stop()
            open_door.set()
        found = measurements.latest(neighbour, good)
        assert found is not None
        assert found.value == 4.2


async def test_a_query_that_fails_is_asked_less_and_less_often_until_it_is_another() -> None:
    async with serving(saying("", 500)) as address, aiohttp.ClientSession() as session:
        measurements = Measurements(session)
        key, query = Key("team", "scaler"), PrometheusQuery(server_address=address, query="up")
        measurements.latest(key, query)
        pauses = [(await measurements.reconcile(key)).after for _ in range(5)]
        assert pauses == [30.0, 60.0, 120.0, 300.0, 300.0]
        measurements.latest(key, PrometheusQuery(server_address=address, query="down"))
        assert (await measurements.reconcile(key)).after == 30.0
        measurements.forget(key)
        assert await measurements.reconcile(key) == Result()


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "success", "data": {"resultType": "vector", "result": ' + "[" * 60_000,
        '{"status": "success", "data": {"resultType": "vector", "result": [' + '{"value": [1, "1"]},' * 3_000,
        '{"status": "success", "data": {"resultType": "scalar", "result": [1, "' + "9" * 60_000 + '"]}}',
        "9" * 100_000,
    ],
    ids=["deep", "many values", "a long number", "one long number"],
)
async def test_an_answer_of_any_shape_costs_next_to_nothing(text: str) -> None:
    with at_most(50_000), suppress(ReadingError):
        assert not math.isfinite(await read(saying(text)))
