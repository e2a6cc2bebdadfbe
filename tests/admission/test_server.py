"""The webhook server over real TLS: what it answers to what, and to whom it can prove who it is."""

import asyncio
import json
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs
from whenever import Instant

from admission.scalers import alpha, beta, window
from admission.serving import KEY, LOCAL, conversion_review, serving, trusting
from hibernator.admission.certificates import Keyring, first
from hibernator.admission.paths import Gate
from hibernator.admission.review import AdmissionRequest, Allowed, Denied, Verdict, admission, conversion
from hibernator.admission.server import METRICS, REQUESTS, WebhookServer, application
from hibernator.api.conversion import converted
from hibernator.api.core import ConfigMap
from hibernator.kube.metrics import Metrics

CONVERT = conversion({"TimeWindowScaler": converted})
SHARE = window(replicas="50%")


@pytest.fixture(scope="module")
def ring() -> Keyring:
    return first(LOCAL, Instant.now())


@pytest.fixture(scope="module")
async def server(ring: Keyring) -> AsyncIterator[WebhookServer]:
    async with serving({"/convert": CONVERT}, ring) as up:
        yield up


@pytest.fixture
async def client(ring: Keyring) -> AsyncIterator[aiohttp.ClientSession]:
    async with trusting(ring.bundle) as session:
        yield session


def url(server: WebhookServer, webhook: str = "/convert") -> str:
    return f"https://127.0.0.1:{server.port}{KEY.path(webhook)}"


async def ask(session: aiohttp.ClientSession, server: WebhookServer, review: Any) -> Any:
    async with session.post(url(server), json=review) as answer:
        assert answer.status == 200, await answer.text()
        return (await answer.json())["response"]


async def test_all_objects_of_a_review_come_back_in_order_under_its_uid(
    server: WebhookServer, client: aiohttp.ClientSession
) -> None:
    scalers = [beta(SHARE) | {"metadata": {"name": f"s{i}", "uid": f"{i}"}} for i in range(250)]
    answer = await ask(client, server, conversion_review(*scalers, to="kyklos.io/v1alpha1"))
    assert answer["uid"] == "705ab4f5"
    assert answer["result"] == {"status": "Success"}
    assert [item["metadata"]["uid"] for item in answer["convertedObjects"]] == [f"{i}" for i in range(250)]
    back = await ask(client, server, conversion_review(*answer["convertedObjects"]))
    assert back["convertedObjects"] == scalers


async def test_a_review_without_objects_is_answered_without_objects(
    server: WebhookServer, client: aiohttp.ClientSession
) -> None:
    assert (await ask(client, server, conversion_review()))["convertedObjects"] == []


@pytest.mark.parametrize(
    ("review", "message"),
    [
        (conversion_review({"kind": "Pod"}), "Pod is not a kind that this webhook converts"),
        (conversion_review({}), "None is not a kind"),
        (conversion_review({"kind": ["TimeWindowScaler"]}), "is not a kind"),
        (conversion_review(alpha(SHARE), to="kyklos.io/v9"), "the known versions are v1alpha1 and v1beta1"),
        (conversion_review({"kind": "TimeWindowScaler"}), "cannot be converted from None"),
    ],
)
async def test_what_cannot_be_converted_is_answered_with_a_sentence(
    server: WebhookServer, client: aiohttp.ClientSession, review: Any, message: str
) -> None:
    answer = await ask(client, server, review)
    assert answer["result"]["status"] == "Failure"
    assert message in answer["result"]["message"]
    assert answer["uid"] == "705ab4f5"
    assert "convertedObjects" not in answer


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"null",
        b"[]",
        b'"ConversionReview"',
        b"{}",
        b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}',
        b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{}}',
        json.dumps(conversion_review(1)).encode(),
        json.dumps(conversion_review() | {"apiVersion": "apiextensions.k8s.io/v1beta1"}).encode(),
        json.dumps(conversion_review() | {"kind": "AdmissionReview"}).encode(),
        b"[" * 20_000,
        b'{"request":' * 20_000,
        b'{"a":' + b"[" * 20_000,
    ],
)
async def test_garbage_is_the_senders_mistake_and_the_server_lives_on(
    server: WebhookServer, client: aiohttp.ClientSession, body: bytes
) -> None:
    headers = {"Content-Type": "application/json"}
    async with client.post(url(server), data=body, headers=headers) as answer:
        assert answer.status == 400
        assert (await answer.text()).startswith("The body is not a review: ")
    assert (await ask(client, server, conversion_review()))["result"]["status"] == "Success"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
async def test_other_content_types_are_refused(
    server: WebhookServer, client: aiohttp.ClientSession, kind: str
) -> None:
    async with client.post(url(server), data=b"{}", headers={"Content-Type": kind}) as answer:
        assert answer.status == 415


async def test_json_with_a_charset_is_json(server: WebhookServer, client: aiohttp.ClientSession) -> None:
    body = json.dumps(conversion_review()).encode()
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    async with client.post(url(server), data=body, headers=headers) as answer:
        assert answer.status == 200


async def test_other_methods_are_refused(server: WebhookServer, client: aiohttp.ClientSession) -> None:
    async with client.get(url(server)) as answer:
        assert answer.status == 405


async def _in_chunks() -> AsyncIterator[bytes]:
    for _ in range(100):
        yield b" " * 100


async def test_a_body_that_is_too_large_is_refused_with_or_without_its_length(ring: Keyring) -> None:
    async with (
        serving({"/convert": CONVERT}, ring, largest_body=5_000) as server,
        trusting(ring.bundle) as client,
    ):
        headers = {"Content-Type": "application/json"}
        async with client.post(url(server), data=b" " * 5_001, headers=headers) as answer:
            assert answer.status == 413
            assert await answer.text() == "The body has more than 5000 bytes\n"
        async with client.post(url(server), data=_in_chunks(), headers=headers) as answer:
            assert answer.status == 413
        assert (await ask(client, server, conversion_review()))["result"]["status"] == "Success"


async def test_a_handler_that_takes_too_long_is_cut_off_and_the_caller_told(ring: Keyring) -> None:
    async def endless(body: bytes) -> bytes:
        await asyncio.Event().wait()
        return body

    async with (
        serving({"/slow": endless}, ring, deadline=0.01) as server,
        trusting(ring.bundle) as client,
        client.post(url(server, "/slow"), json={}) as answer,
    ):
        assert answer.status == 504
        assert await answer.text() == "No answer within 0.01 s\n"


async def test_a_body_that_never_ends_is_cut_off_too(ring: Keyring) -> None:
    never = asyncio.Event()

    async def stalled() -> AsyncIterator[bytes]:
        yield b"{"
        await never.wait()

    async with serving({"/convert": CONVERT}, ring, deadline=0.01) as server, trusting(ring.bundle) as client:
        headers = {"Content-Type": "application/json"}
        async with client.post(url(server), data=stalled(), headers=headers) as answer:
            assert answer.status == 504
        never.set()


async def test_a_handler_that_fails_gives_a_500_and_no_secrets(ring: Keyring) -> None:
    async def broken(_body: bytes) -> bytes:
        raise RuntimeError("password=hunter2")

    async with (
        serving({"/broken": broken}, ring) as server,
        trusting(ring.bundle) as client,
        client.post(url(server, "/broken"), json={}) as answer,
    ):
        assert answer.status == 500
        assert "hunter2" not in await answer.text()


async def test_who_does_not_know_our_authority_does_not_get_through(server: WebhookServer) -> None:
    async with trusting(first(LOCAL, Instant.now()).bundle) as stranger:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await ask(stranger, server, conversion_review())


async def test_plain_http_and_noise_do_not_disturb_the_server(
    server: WebhookServer, client: aiohttp.ClientSession
) -> None:
    for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\x00" * 64, b""):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(noise)
        writer.write_eof()
        await reader.read()
        writer.close()
        await writer.wait_closed()
    assert (await ask(client, server, conversion_review()))["result"]["status"] == "Success"


async def test_a_new_certificate_is_served_at_once_and_open_connections_go_on(ring: Keyring) -> None:
    after = first(LOCAL, Instant.now())
    async with (
        serving({"/convert": CONVERT}, ring) as server,
        trusting(ring.bundle) as early,
        trusting(after.bundle) as late,
    ):
        await ask(early, server, conversion_review())
        server.use(after.current)
        await ask(late, server, conversion_review())
        await ask(early, server, conversion_review())  # over the connection that it has kept open
        async with trusting(ring.bundle) as unaware:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await ask(unaware, server, conversion_review())


async def test_a_certificate_that_does_not_fit_its_key_is_refused_and_the_old_one_stays(
    ring: Keyring, server: WebhookServer, client: aiohttp.ClientSession
) -> None:
    other = first(LOCAL, Instant.now()).current
    with pytest.raises(ssl.SSLError):
        server.use(type(other)(other.certificate, ring.current.key))
    await ask(client, server, conversion_review())


async def test_no_one_is_let_in_before_there_is_a_certificate() -> None:
    server = WebhookServer(application({}, Gate(())), host="127.0.0.1", port=0)
    running = asyncio.create_task(server.run())
    await asyncio.sleep(0)
    assert not server.listening.is_set()
    running.cancel()
    await asyncio.wait([running])


async def test_the_last_requests_are_answered_when_the_server_stops(ring: Keyring) -> None:
    begun, finish = asyncio.Event(), asyncio.Event()

    async def patient(body: bytes) -> bytes:
        begun.set()
        await finish.wait()
        return body

    async with trusting(ring.bundle) as client:
        async with serving({"/wait": patient}, ring) as server:
            asking = asyncio.create_task(_text(client, url(server, "/wait")))
            await begun.wait()
            asyncio.get_running_loop().call_soon(finish.set)
        assert await asking == "{}"


async def _text(client: aiohttp.ClientSession, address: str) -> str:
    async with client.post(address, json={}) as answer:
        return await answer.text()


def admission_review(operation: str, **request: Any) -> dict[str, Any]:
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "4711",
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"},
            "operation": operation,
            "userInfo": {"username": "ann", "groups": ["devs"], "extra": {"email": ["ann@example.com"]}},
            "namespace": "default",
            **request,
        },
    }


async def _judge(request: AdmissionRequest) -> Verdict:
    if request.operation == "DELETE":
        return Denied(f"{request.user_info.username} may not delete {request.old(ConfigMap).metadata.name}.")
    if "stamp" in request.new(ConfigMap).data:
        return Allowed(patch=[{"op": "add", "path": "/data/by", "value": request.user_info.username}])
    return Allowed(warnings=["This map has no stamp."])


@pytest.mark.parametrize(
    ("review", "expected"),
    [
        pytest.param(
            admission_review("DELETE", object=None, oldObject={"metadata": {"name": "settings"}}),
            {
                "allowed": False,
                "status": {"message": "ann may not delete settings.", "code": 403, "reason": "Forbidden"},
            },
            id="denied",
        ),
        pytest.param(
            admission_review("CREATE", object={"metadata": {"name": "settings"}, "data": {"stamp": "x"}}),
            {
                "allowed": True,
                "patchType": "JSONPatch",
                "patch": b64encode(b'[{"op":"add","path":"/data/by","value":"ann"}]').decode(),
            },
            id="changed",
        ),
        pytest.param(
            admission_review("UPDATE", object={"metadata": {"name": "settings"}}, oldObject={}),
            {"allowed": True, "warnings": ["This map has no stamp."]},
            id="warned",
        ),
    ],
)
async def test_a_webhook_is_a_function_from_a_request_to_a_verdict(review: Any, expected: Any) -> None:
    answer = json.loads(await admission(_judge)(json.dumps(review).encode()))
    assert answer == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "4711", **expected},
    }


STRANGERS = ["/convert", "/validate", "/", "/admin", f"/{'0' * 64}/convert", f"{KEY.path('/convert')}/"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize("path", STRANGERS)
async def test_who_does_not_know_the_path_gets_nothing_but_a_404(
    server: WebhookServer, client: aiohttp.ClientSession, method: str, path: str
) -> None:
    address = f"https://127.0.0.1:{server.port}{path}"
    async with client.request(method, address, json=conversion_review()) as answer:
        assert (answer.status, await answer.read(), answer.headers["connection"]) == (404, b"", "close")


async def test_a_stranger_is_turned_away_before_the_body_is_read(ring: Keyring) -> None:
    never = asyncio.Event()

    async def stalled() -> AsyncIterator[bytes]:
        yield b"{"
        await never.wait()

    async with serving({"/convert": CONVERT}, ring) as server, trusting(ring.bundle) as client:
        headers = {"Content-Type": "application/json"}
        address = f"https://127.0.0.1:{server.port}/convert"
        async with asyncio.timeout(60), client.post(address, data=stalled(), headers=headers) as answer:
            assert answer.status == 404
        never.set()


async def test_no_path_is_in_the_log_or_in_the_metrics_whatever_happens(ring: Keyring) -> None:
    metrics = Metrics(METRICS)

    async def broken(_body: bytes) -> bytes:
        raise RuntimeError

    async def endless(body: bytes) -> bytes:
        await asyncio.Event().wait()
        return body

    handlers = {"/convert": CONVERT, "/broken": broken, "/slow": endless}
    with capture_logs() as lines:
        async with (
            serving(handlers, ring, metrics=metrics, deadline=0.05) as server,
            trusting(ring.bundle) as client,
        ):
            for webhook in handlers:
                async with client.post(url(server, webhook), json={}) as answer:
                    assert answer.status >= 400
            async with client.post(f"https://127.0.0.1:{server.port}/guess", json={}) as answer:
                assert answer.status == 404
    said = str(lines) + metrics.text().decode()
    assert [line["webhook"] for line in lines] == ["/broken", "/slow"]
    assert metrics.value(REQUESTS, "unknown", "404") == 1
    assert not any(KEY.path(webhook)[:20] in said for webhook in handlers)
    assert "guess" not in said
