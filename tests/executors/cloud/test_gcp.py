"""Tokens, their end, and what a project may do with them."""

import asyncio
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hibernator.executors.connections import Unusable
from hibernator.executors.gcp.googleauth import GoogleTokens, read_key
from hibernator.executors.gcp.login import CONFIGURATION, own_identity
from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.gcp.tokens import MetadataTokens, NotLetInError, Tokens
from hibernator.executors.protocol import ExecutorError, Permanent, Retryable
from support.gcp import PROJECT, SUBJECT_TOKEN, Google, other_key

LIST = f"v1/projects/{PROJECT}/instances"


async def test_one_token_serves_until_google_refuses_it(google: Google, project: GcpProject) -> None:
    for _ in range(3):
        await project.read("sqladmin", LIST)
    assert google.given == 1
    google.tokens.clear()
    await project.read("sqladmin", LIST)
    assert google.given == 2


async def test_a_project_that_refuses_every_token_is_told_of(google: Google, project: GcpProject) -> None:
    google._give = lambda: aiohttp.web.json_response({"access_token": "bad"})  # type: ignore[method-assign]
    with pytest.raises(NotLetInError, match="does not accept the credentials"):
        await project.read("sqladmin", LIST)


async def test_a_key_that_google_does_not_know_is_told_in_its_words(google: Google) -> None:
    async with aiohttp.ClientSession() as session:
        project = google.project(session)
        google.key = other_key()
        with pytest.raises(NotLetInError, match="invalid_grant: Invalid JWT Signature"):
            await project.read("sqladmin", LIST)


async def test_the_metadata_server_gives_tokens_too(google: Google) -> None:
    async with aiohttp.ClientSession() as session:
        tokens = Tokens(MetadataTokens(session, google.url))
        project = GcpProject(PROJECT, tokens, session, endpoint=google.url)
        assert await project.read("sqladmin", LIST) == {"items": []}


async def test_what_something_else_than_google_answers_is_not_repeated(google: Google) -> None:
    async def inner(_request: web.Request) -> web.Response:
        return web.Response(text="inner secrets of another service")

    app = web.Application()
    app.router.add_get("/{path:.*}", inner)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        tokens = google.project(session).tokens
        project = GcpProject(PROJECT, tokens, session, endpoint=str(server.make_url("")).rstrip("/"))
        with pytest.raises(Retryable, match="not Google") as caught:
            await project.read("sqladmin", LIST)
    assert "inner secrets" not in str(caught.value)


@pytest.mark.parametrize(
    "inner",
    [
        "inner secrets of another service",
        '{"password": "inner secrets"}',
        '{"error": "inner secrets"}',
        '{"error": {"message": "inner secrets"}}',
        '{"error": "denied", "error_description": "inner secrets"}',
    ],
)
@pytest.mark.parametrize("status", [200, 400])
async def test_what_something_else_than_google_says_of_a_key_is_not_repeated(
    google: Google, inner: str, status: int
) -> None:
    """A key names the address that it is exchanged at, and its author may choose one of the cluster."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=inner, status=status)

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        info = msgspec.json.decode(google.key_file()) | {"token_uri": str(server.make_url("/token"))}
        key = read_key(msgspec.json.encode(info))
        with pytest.raises(ExecutorError, match="Google gave no token") as caught:
            await Tokens(GoogleTokens(key.credentials, session)).get()
    assert "inner secrets" not in str(caught.value)


async def test_no_one_there_is_worth_another_try() -> None:
    async with aiohttp.ClientSession() as session:
        tokens = Tokens(MetadataTokens(session, "http://127.0.0.1:9"))
        with pytest.raises(Retryable, match="gave no token"):
            await tokens.get()


async def test_a_fetch_that_is_cancelled_leaves_no_request_behind(google: Google) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def late(_request: web.Request) -> web.Response:
        asked.set()
        await answer.wait()
        return google._give()

    google._desk = lambda _path: late  # type: ignore[assignment,method-assign]
    async with aiohttp.ClientSession() as session:
        async with asyncio.TaskGroup() as group:
            fetch = group.create_task(google.project(session).tokens.get())
            await asked.wait()
            fetch.cancel()
        running = {getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()}
        assert not {name for name in running if "_Carrier" in name}
    answer.set()


@pytest.mark.parametrize("text", [b"", b"{}", b'{"client_email": "x", "private_key": "SECRET"}', b"\xff"])
def test_what_is_no_key_is_refused_without_being_shown(text: bytes) -> None:
    with pytest.raises(NotLetInError) as caught:
        read_key(text)
    assert "SECRET" not in str(caught.value)


def test_a_key_does_not_show_itself(google: Google) -> None:
    key = read_key(google.key_file())
    assert "BEGIN" not in repr(key)
    assert google.url in repr(key)


@pytest.mark.parametrize("impersonated", ["", "as a service account"])
async def test_a_federated_identity_exchanges_the_token_of_its_pod(
    google: Google, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, impersonated: str
) -> None:
    (tmp_path / "token").write_text(SUBJECT_TOKEN)
    (tmp_path / "federation.json").write_bytes(
        google.federation(tmp_path / "token", impersonated=bool(impersonated))
    )
    monkeypatch.setenv(CONFIGURATION, str(tmp_path / "federation.json"))
    async with aiohttp.ClientSession() as session:
        project = GcpProject(PROJECT, Tokens(await own_identity(session)), session, endpoint=google.url)
        assert await project.read("sqladmin", LIST) == {"items": []}
        (tmp_path / "token").write_text("the token of another")
        google.tokens.clear()
        with pytest.raises(NotLetInError, match="gave no token"):
            await project.read("sqladmin", LIST)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"{", "not JSON"),
        (b'{"type": "service_account"}', "Its type is 'service_account', not 'external_account'"),
        (b'{"type": "external_account"}', "cannot be used"),
    ],
)
async def test_a_broken_credential_configuration_is_named_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, why: str
) -> None:
    (tmp_path / "federation.json").write_bytes(text)
    monkeypatch.setenv(CONFIGURATION, str(tmp_path / "federation.json"))
    async with aiohttp.ClientSession() as session:
        with pytest.raises(Unusable, match=why) as caught:
            await own_identity(session)
    assert f"GOOGLE_APPLICATION_CREDENTIALS names {tmp_path / 'federation.json'}" in str(caught.value)


async def test_without_the_lease_nothing_is_changed(google: Google) -> None:
    class NotLeading(Exception):  # noqa: N818 — as in kube.election
        pass

    def fence() -> float:
        raise NotLeading

    google.database("orders")
    async with aiohttp.ClientSession() as session:
        project = google.project(session, fence=fence)
        with pytest.raises(NotLeading):
            await project.write("sqladmin", "PATCH", f"{LIST}/orders", {"settings": {}})
    assert google.changes() == []


async def test_the_loopback_server_refuses_what_google_would(google: Google, project: GcpProject) -> None:
    google.database("orders")
    bodies: list[dict[str, dict[str, object]]] = [
        {"setings": {}},
        {"settings": {"activationPolicy": "SOMETIMES"}},
        {"settings": {"tier": 1}},
    ]
    for body in bodies:
        with pytest.raises(Permanent, match="Invalid JSON payload"):
            await project.write("sqladmin", "PATCH", f"{LIST}/orders", body)
    with pytest.raises(Permanent, match="Unknown parameters"):
        await project.read("sqladmin", LIST, tags="x")
    with pytest.raises(Permanent, match="There is no POST"):
        await project.write("sqladmin", "POST", f"{LIST}/orders", {})
    async with aiohttp.ClientSession() as session, session.get(f"{google.url}/{LIST}") as answer:
        assert answer.status == 401
