"""Servers that others chose, and that answer without end."""

import asyncio
import zlib
from pathlib import Path

import pytest
from aiohttp import web

from hibernator.api.core import CONFIG_MAPS
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from hibernator.kube.errors import Forbidden, Unavailable
from support.endless import Handler, endless, serving
from support.kubeconfigs import write_kubeconfig

LARGEST = 2**20


async def packed(_request: web.Request) -> web.StreamResponse:
    """Few bytes that become many."""
    squeezed = zlib.compress(b"[" * (64 * LARGEST))
    assert len(squeezed) < LARGEST // 4
    return web.Response(body=squeezed, headers={"Content-Encoding": "deflate"})


@pytest.mark.parametrize(
    ("handler", "name"),
    [(endless, "x200"), (endless, "x404"), (packed, "x200")],
    ids=["good", "bad", "packed"],
)
async def test_an_answer_without_end_is_given_up(tmp_path: Path, handler: Handler, name: str) -> None:
    async with serving(handler) as address:
        config = write_kubeconfig(tmp_path / "config", cluster={"server": address}, user={"token": "t"})
        credentials = find(str(config))
        async with Client(credentials, deadline=2.0, largest=LARGEST) as client, asyncio.timeout(20):
            with pytest.raises(Unavailable, match="sends too much: the answer has more than 1 MiB"):
                await client.get(CONFIG_MAPS, name, "team")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<h1>secret page</h1>", "it answered 403, unlike an API server"),
        ('{"message": "secret field"}', "it answered 403, unlike an API server"),
        ("[" * 100_000, "it answered 403, unlike an API server"),
        ('{"kind": "Status", "message": "pods is forbidden"}', "pods is forbidden"),
        ('{"kind": "Status", "message": "' + "x" * 9_000 + '"}', "x" * 1000),
    ],
    ids=["a page", "a document", "deep", "an API server", "a long message"],
)
async def test_nothing_but_the_words_of_an_api_server_is_passed_on(
    tmp_path: Path, body: str, said: str
) -> None:
    async def refuse(_request: web.Request) -> web.Response:
        return web.Response(text=body, status=403)

    async with serving(refuse) as address:
        config = write_kubeconfig(tmp_path / "config", cluster={"server": address}, user={"token": "t"})
        async with Client(find(str(config)), largest=LARGEST) as client:
            with pytest.raises(Forbidden) as refused:
                await client.get(CONFIG_MAPS, "a", "team")
    assert refused.value.message == said


async def test_an_answer_of_a_usual_size_is_read_whole(tmp_path: Path) -> None:
    async def usual(_request: web.Request) -> web.Response:
        data = {str(number): "x" * 1000 for number in range(500)}
        return web.json_response({"metadata": {"name": "a", "namespace": "team"}, "data": data})

    async with serving(usual) as address:
        config = write_kubeconfig(tmp_path / "config", cluster={"server": address}, user={"token": "t"})
        async with Client(find(str(config)), largest=LARGEST) as client:
            assert len((await client.get(CONFIG_MAPS, "a", "team")).data) == 500
