"""A proxy in front of the real API server that breaks things on request.

    rule = proxy.next(method="POST", path="/configmaps", action=Drop())   # the next one only
    proxy.next(path="watch=true", action=Answer(410, "Expired"), times=3)
    proxy.cut_watches()                                                    # those that stand now
    await rule.hit()                                                       # until it has been used

`path` is a regular expression that is searched for in the path with its query. Requests that no rule wants go
through unchanged, with the credentials that they came with. It ends TLS with the API server's own
certificate, so that a client needs nothing but another address; `proxy.kubeconfig` has it, with the token of
an admin. What can be done to a request is in `support.faults`.
"""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDict

from hibernator.controlplane import certs
from hibernator.controlplane.access import RequestError
from support.cluster import ClusterInTest
from support.faults import Action, InWatch, Rule
from support.rights import may, until

_HOP_BY_HOP = {"connection", "content-length", "transfer-encoding", "keep-alive", "host"}
_ADMIN = "faultproxy-admin"


class Seen(NamedTuple):
    """A request that came."""

    method: str
    path: str
    headers: Mapping[str, str]
    connection: int  # the port that it came from


@dataclass(frozen=True)
class Upstream:
    """A whole answer of the API server."""

    status: int
    headers: CIMultiDict[str]
    body: bytes

    def response(self) -> web.Response:
        return web.Response(status=self.status, body=self.body, headers=self.headers)


@dataclass
class Watch:
    """A watch that stands."""

    path: str
    transport: asyncio.Transport
    flowing: asyncio.Event = field(default_factory=asyncio.Event)


class Exchange:
    """One request on its way."""

    def __init__(self, proxy: "FaultProxy", request: web.Request, body: bytes) -> None:
        self._proxy = proxy
        self._request = request
        self._body = body

    @property
    def is_watch(self) -> bool:
        return self._request.query.get("watch") == "true"

    def cut(self) -> web.StreamResponse:
        _transport(self._request).abort()
        return web.Response()

    async def forward(self) -> web.StreamResponse:
        if self.is_watch:
            return await self.stream()
        return (await self.ask()).response()

    async def ask(self) -> Upstream:
        async with self._send() as answer:
            return Upstream(answer.status, _end_to_end(answer.headers), await answer.read())

    async def stream(self, fault: InWatch | None = None) -> web.StreamResponse:
        """Pass a watch on, line by line, until it ends or the fault comes."""
        watch = Watch(self._request.path_qs, _transport(self._request))
        watch.flowing.set()
        async with self._send() as answer:
            response = web.StreamResponse(status=answer.status, headers=_end_to_end(answer.headers))
            await response.prepare(self._request)
            await self._proxy.began(watch)
            try:
                await self._pump(answer.content, response, watch, fault)
            finally:
                self._proxy.watches.remove(watch)
            return response

    async def _pump(
        self,
        content: aiohttp.StreamReader,
        response: web.StreamResponse,
        watch: Watch,
        fault: InWatch | None,
    ) -> None:
        lines = 0
        while fault is None or lines < fault.after:
            if not (line := await content.readline()):
                return
            await watch.flowing.wait()
            await response.write(line)
            lines += 1
        if fault.line:
            await response.write(fault.line)
        if fault.then == "cut":
            self.cut()
        elif fault.then == "freeze":
            await asyncio.Event().wait()

    def _send(self) -> Any:
        return self._proxy.session.request(
            self._request.method,
            f"{self._proxy.upstream}{self._request.raw_path}",
            headers=_end_to_end(self._request.headers),
            data=self._body or None,
        )


class FaultProxy:
    """Made by the `proxy` fixture, or by `faultproxy(cluster)` where there is none."""

    def __init__(self, upstream: str, session: aiohttp.ClientSession, kubeconfig: Path) -> None:
        self.upstream = upstream
        self.session = session
        self.kubeconfig = kubeconfig
        self.watches: list[Watch] = []
        self.requests: list[Seen] = []  # everything that came, in order
        self._rules: list[Rule] = []
        self._watching = asyncio.Condition()

    def next(self, *, action: Action, method: str = "", path: str = "", times: int = 1) -> Rule:
        """Do this to the next request that fits, or to the next few."""
        rule = Rule(method, re.compile(path), action, times)
        self._rules.append(rule)
        return rule

    def seen(self, method: str, path: str = "") -> list[Seen]:
        """The requests that came so far and fit."""
        return [each for each in self.requests if each.method == method and re.search(path, each.path)]

    def clear(self) -> None:
        """Forget all rules and let all watches flow."""
        self._rules.clear()
        for watch in self.watches:
            watch.flowing.set()

    async def watching(self, path: str = "", count: int = 1) -> None:
        """Return when so many watches stand."""
        async with asyncio.timeout(30), self._watching:
            await self._watching.wait_for(
                lambda: len([watch for watch in self.watches if re.search(path, watch.path)]) >= count
            )

    async def began(self, watch: Watch) -> None:
        self.watches.append(watch)
        async with self._watching:
            self._watching.notify_all()

    def cut_watches(self, path: str = "") -> int:
        """Break the watches that stand now; the number of them."""
        broken = [watch for watch in self.watches if re.search(path, watch.path)]
        for watch in broken:
            watch.transport.abort()
        return len(broken)

    def freeze_watches(self, path: str = "") -> int:
        """Let nothing more through the watches that stand now, as behind a half-open connection."""
        frozen = [watch for watch in self.watches if re.search(path, watch.path)]
        for watch in frozen:
            watch.flowing.clear()
        return len(frozen)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        peer: tuple[str, int] = _transport(request).get_extra_info("peername")
        self.requests.append(Seen(request.method, request.path_qs, request.headers, peer[1]))
        exchange = Exchange(self, request, await request.read())
        rule = next((rule for rule in self._rules if rule.wants(request)), None)
        try:
            if rule is None:
                return await exchange.forward()
            rule.use()
            return await rule.action.act(exchange)
        except ConnectionResetError:  # whoever asked has left
            return web.Response()


@asynccontextmanager
async def faultproxy(cluster: ClusterInTest, folder: Path) -> AsyncIterator[FaultProxy]:
    """Run a proxy in front of a cluster; its kubeconfig goes into the folder."""
    tls = ssl.create_default_context(cafile=str(cluster.ca))
    limits = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=tls),
        timeout=limits,
        auto_decompress=False,
        read_bufsize=2**22,  # a line of a watch is as long as its object
    ) as session:
        proxy = FaultProxy(cluster.url, session, folder / "faultproxy.kubeconfig")
        server = web.Application(client_max_size=2**24)
        server.router.add_route("*", "/{path:.*}", proxy.handle)
        runner = web.AppRunner(server, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=_server_tls(cluster))
        await site.start()
        try:
            _write_kubeconfig(cluster, proxy, runner.addresses[0][1])
            yield proxy
        finally:
            await runner.cleanup()


@pytest.fixture
async def proxy(cluster: ClusterInTest, tmp_path: Path) -> AsyncIterator[FaultProxy]:
    """A proxy in front of the cluster for one test."""
    async with faultproxy(cluster, tmp_path) as made:
        yield made


def admin_token(cluster: ClusterInTest, name: str = _ADMIN) -> str:
    """The token of a service account that may do everything."""
    accounts = "/api/v1/namespaces/kube-system/serviceaccounts"
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "kube-system", "name": name}],
    }
    _create(cluster, accounts, {"metadata": {"name": name}})
    _create(cluster, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    until(lambda: may(cluster, "default", f"system:serviceaccount:kube-system:{name}", "delete", "nodes"))
    answer = cluster.request("POST", f"{accounts}/{name}/token", {"spec": {"expirationSeconds": 7200}})
    return str(answer["status"]["token"])


def _create(cluster: ClusterInTest, path: str, body: dict[str, Any]) -> None:
    try:
        cluster.request("POST", path, body)
    except RequestError as error:
        if error.code != web.HTTPConflict.status_code:
            raise


def _server_tls(cluster: ClusterInTest) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cluster.layout.cert(certs.SERVER), cluster.layout.key(certs.SERVER))
    return context


def _write_kubeconfig(cluster: ClusterInTest, proxy: FaultProxy, port: int) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "faultproxy",
        "contexts": [{"name": "faultproxy", "context": {"cluster": "faultproxy", "user": _ADMIN}}],
        "clusters": [
            {
                "name": "faultproxy",
                "cluster": {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(cluster.ca)},
            }
        ],
        "users": [{"name": _ADMIN, "user": {"token": admin_token(cluster)}}],
    }
    proxy.kubeconfig.write_text(json.dumps(document))


def _end_to_end(headers: Mapping[str, str]) -> CIMultiDict[str]:
    return CIMultiDict((key, value) for key, value in headers.items() if key.lower() not in _HOP_BY_HOP)


def _transport(request: web.Request) -> asyncio.Transport:
    assert isinstance(request.transport, asyncio.Transport)
    return request.transport
