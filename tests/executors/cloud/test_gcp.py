"""Tokens, their end, and what a project may do with them."""

import json

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.gcp.tokens import MetadataTokens, NotLetInError, Tokens, read_key
from hibernator.executors.protocol import Permanent, Retryable
from support.gcp import PROJECT, Google, other_key

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


async def test_nobody_there_is_worth_another_try() -> None:
    async with aiohttp.ClientSession() as session:
        tokens = Tokens(MetadataTokens(session, "http://127.0.0.1:9"))
        with pytest.raises(Retryable, match="gave no token"):
            await tokens.get()


@pytest.mark.parametrize("text", [b"", b"{}", b'{"client_email": "x", "private_key": "SECRET"}', b"\xff"])
def test_what_is_no_key_is_refused_without_being_shown(text: bytes) -> None:
    with pytest.raises(NotLetInError) as caught:
        read_key(text)
    assert "SECRET" not in str(caught.value)


def test_a_key_does_not_show_itself(google: Google) -> None:
    key = read_key(google.key_file())
    assert "BEGIN" not in repr(key)
    assert json.loads(google.key_file())["private_key"] == key.private_key


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
