"""AWS on loopback: moto, and in front of it a proxy that counts calls and breaks them on request.

aws.proxy.fail("StopInstances", SLOW_DOWN, times=2)
aws.boto("ec2")                    # a plain client of the test's own, past the proxy
aws.account()                      # what the product uses, through the proxy
"""

import copy
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from urllib.request import Request, urlopen

import aiohttp
import boto3
import pytest
from aiohttp import web

from hibernator.executors.aws.account import AwsAccount, Keys
from hibernator.executors.aws.session import sign_in
from hibernator.executors.protocol import Job

REGION = "eu-central-1"
ACCOUNT = "123456789012"
IMAGE = "ami-12345678"
_HOP_BY_HOP = {"connection", "content-length", "transfer-encoding", "keep-alive", "content-encoding"}
_EKS = re.compile(r"^/(clusters|tags)")
_TAGGING = {"POST": "TagResource", "DELETE": "UntagResource", "GET": "ListTagsForResource"}


@dataclass(frozen=True)
class Fault:
    """Answer so, without asking AWS."""

    status: int
    code: str
    message: str = "injected"

    def response(self, *, json: bool) -> web.Response:
        if json:
            headers = {"x-amzn-ErrorType": self.code}
            return web.json_response({"message": self.message}, status=self.status, headers=headers)
        error = f"<Error><Code>{self.code}</Code><Message>{self.message}</Message></Error>"
        return web.Response(
            status=self.status,
            text=f"<Response><Errors>{error}</Errors>{error}<RequestID>1</RequestID></Response>",
            content_type="text/xml",
        )


SLOW_DOWN = Fault(400, "RequestLimitExceeded")
BROKEN = Fault(503, "ServiceUnavailable")


@dataclass(frozen=True)
class Lost:
    """Let AWS do it, and break the connection instead of passing on the answer."""


@dataclass(frozen=True)
class Late:
    """Break the connection, and let AWS do it only when the test says that it arrives."""


@dataclass
class _Rule:
    action: str
    fault: Fault | Lost | Late
    about: str
    times: int


@dataclass
class AwsProxy:
    upstream: str
    url: str = ""
    calls: list[str] = field(default_factory=list)  # the names of what was asked for
    rules: list[_Rule] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    on_write: Callable[[str], None] | None = None  # told of each change that AWS has made
    rewrite: Callable[[str, bytes], bytes] | None = None  # what AWS says, put differently
    restatus: int | None = None
    held: list[tuple[web.Request, bytes]] = field(default_factory=list)

    def fail(self, action: str, fault: Fault | Lost | Late, *, about: str = "", times: int = 1) -> None:
        """Break the next calls of a name, or those of them that speak `about` something."""
        self.rules.append(_Rule(action, fault, about, times))

    async def arrive(self) -> None:
        """Let AWS do what was kept on its way."""
        assert self.held
        for request, body in self.held:
            await self._forward(request, body)
        self.held.clear()

    def changes(self) -> list[str]:
        """What was asked for besides looking."""
        return [call for call in self.calls if not call.startswith(("Describe", "List", "Get", "Assume"))]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        action = _action(request, body)
        self.calls.append(action)
        self.authorizations.append(request.headers.get("Authorization", ""))
        rule = next((one for one in self.rules if self._meant(one, action, request, body)), None)
        if rule:
            rule.times -= 1
        if rule and isinstance(rule.fault, Fault):
            return rule.fault.response(json=bool(_EKS.match(request.path)))
        if rule and isinstance(rule.fault, Late):
            self.held.append((request, body))
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        answer = await self._forward(request, body)
        if self.rewrite and isinstance(answer.body, bytes):
            answer.body = self.rewrite(action, answer.body)
        if self.restatus:
            answer.set_status(self.restatus)
        if self.on_write and action in self.changes():
            self.on_write(action)
        if rule:
            assert request.transport is not None
            request.transport.abort()
        return answer

    def _meant(self, rule: _Rule, action: str, request: web.Request, body: bytes) -> bool:
        said = f"{request.path_qs} {body.decode()}"
        return rule.times > 0 and rule.action == action and rule.about in said

    async def _forward(self, request: web.Request, body: bytes) -> web.Response:
        headers = {key: value for key, value in request.headers.items() if key.lower() not in _HOP_BY_HOP}
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                request.method, f"{self.upstream}{request.path_qs}", data=body, headers=headers
            ) as answer,
        ):
            kept = {key: value for key, value in answer.headers.items() if key.lower() not in _HOP_BY_HOP}
            return web.Response(status=answer.status, body=await answer.read(), headers=kept)


def _action(request: web.Request, body: bytes) -> str:
    if form := parse_qs(body.decode()).get("Action"):
        return form[0]
    if request.path.startswith("/tags/"):
        return _TAGGING[request.method]
    if request.path.endswith("/update-config"):
        return "UpdateNodegroupConfig"
    if _EKS.match(request.path):
        what = "Nodegroup" if "/node-groups" in request.path else "Cluster"
        return f"List{what}s" if request.path.endswith(("node-groups", "clusters")) else f"Describe{what}"
    return request.query.get("Action", request.path)


@dataclass
class AwsInTest:
    """Clients take long to make, so that they are made once for all tests."""

    server: str  # moto itself
    proxy: AwsProxy
    accounts: dict[str | None, AwsAccount] = field(default_factory=dict)
    clients: dict[str, Any] = field(default_factory=dict)

    def boto(self, service: str) -> Any:
        """A client for setting the scene and for looking at it."""
        if service not in self.clients:
            self.clients[service] = boto3.client(
                service,
                region_name=REGION,
                endpoint_url=self.server,
                aws_access_key_id="test",
                aws_secret_access_key="test",
            )
        return self.clients[service]

    def account(self, *, role: str | None = None, fence: Callable[[], float] | None = None) -> AwsAccount:
        if role not in self.accounts:
            session = sign_in(Keys("test", "test"), role, REGION, self.proxy.url)
            self.accounts[role] = AwsAccount(session, REGION, endpoint=self.proxy.url)
        found = copy.copy(self.accounts[role])
        found._fence = fence
        return found

    def reset(self) -> None:
        self.proxy.calls.clear()
        self.proxy.rules.clear()
        self.proxy.authorizations.clear()
        self.proxy.on_write = None
        self.proxy.rewrite = None
        self.proxy.restatus = None
        self.proxy.held.clear()
        with urlopen(Request(f"{self.server}/moto-api/reset", method="POST")):  # noqa: S310 — on loopback
            pass


@dataclass(frozen=True)
class One:
    """Every target is in this account."""

    account: AwsAccount

    async def aws(self, _job: Job) -> AwsAccount:
        return self.account


@pytest.fixture(scope="session")
def aws_server() -> Iterator[str]:
    folder = Path(__file__).parents[1]
    # Without the list of machine images, which it would read again after each reset.
    environment = {**os.environ, "PYTHONPATH": str(folder), "MOTO_EC2_LOAD_DEFAULT_AMIS": "false"}
    with subprocess.Popen(
        [sys.executable, "-m", "support.aws_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.kill()


@asynccontextmanager
async def aws_proxy(upstream: str) -> AsyncIterator[AwsProxy]:
    proxy = AwsProxy(upstream)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", proxy.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield proxy
    finally:
        await runner.cleanup()


@pytest.fixture(scope="session")
async def aws_in_session(aws_server: str) -> AsyncIterator[AwsInTest]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            patch.delenv(name, raising=False)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        async with aws_proxy(aws_server) as proxy:
            found = AwsInTest(aws_server, proxy)
            yield found
            for account in found.accounts.values():
                await account.close()


@pytest.fixture
async def aws(aws_in_session: AwsInTest) -> AwsInTest:
    aws_in_session.reset()
    return aws_in_session
