"""Google Cloud on loopback: node pools, instance groups and databases, held to the published APIs.

Every request must be one that Google publishes, with a body and parameters of that shape and a token that
this server gave out and that still holds. Its own answers are held to the same documents.
"""

# ruff: noqa: N818 — errors are named after what is the case, as in the product

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from whenever import Instant

from hibernator.executors.gcp.googleauth import GoogleTokens, read_key
from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.gcp.tokens import Tokens
from support.google_schemas import Method, methods

PROJECT = "dev"
ZONES = ("europe-west3-a", "europe-west3-b")
EMAIL = "hibernator@dev.iam.gserviceaccount.com"
POOL = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/clusters/providers/dev"
SUBJECT_TOKEN = "the token of the pod"
_MOST_LABELS = 50
_STANDARD = {"alt", "prettyPrint", "fields", "key"}


@cache
def _key(_whose: str) -> rsa.RSAPrivateKey:
    """A key takes a second to make: one for all tests, and another where it has to be another."""
    return rsa.generate_private_key(65537, 2048)


def other_key() -> rsa.RSAPrivateKey:
    """A key that this server does not know."""
    return _key("others")


class Refused(Exception):
    def __init__(self, status: int, message: str, word: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.status, self.word, self.reason = status, word, reason

    def response(self) -> web.Response:
        error: dict[str, Any] = {"code": self.status, "message": str(self), "status": self.word}
        if self.reason:
            error["errors"] = [{"reason": self.reason}]
        return web.json_response({"error": error}, status=self.status)


@dataclass
class _Fault:
    id: str
    fault: Refused | None  # None: do it, and lose the answer
    times: int
    late: bool = False  # lose the answer, and do it when it arrives


@dataclass
class Google:
    """The state of everything, and what was asked."""

    url: str = ""
    pools: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    databases: dict[str, dict[str, Any]] = field(default_factory=dict)
    operations: dict[str, dict[str, Any]] = field(default_factory=dict)
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    slow: int = 1  # how often an operation is looked at before it is done
    operation_error: dict[str, Any] | None = None
    calls: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    given: int = 0
    next_token: str = ""  # what to give out, where it must be a certain one
    faults: list[_Fault] = field(default_factory=list)
    held: list[tuple[Method, tuple[str, ...], Any]] = field(default_factory=list)
    missing_is_forbidden: bool = False
    key: rsa.RSAPrivateKey = field(default_factory=lambda: _key("ours"))

    def fail(self, id_: str, fault: Refused | None, *, times: int = 1) -> None:
        self.faults.append(_Fault(id_, fault, times))

    def hold(self, id_: str) -> None:
        """Keep the next such request on its way until `arrive`."""
        self.faults.append(_Fault(id_, None, 1, late=True))

    def arrive(self) -> None:
        """Do now what was kept on its way, as far as it can still be done."""
        assert self.held
        for method, names, body in self.held:
            self._play(method, names, body)
        self.held.clear()

    def changes(self) -> list[str]:
        return [call.rpartition(".")[2] for call in self.calls if not call.endswith((".get", ".list"))]

    def key_file(self) -> bytes:
        pem = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return json.dumps(
            {
                "type": "service_account",
                "client_email": EMAIL,
                "private_key_id": "k1",
                "private_key": pem.decode(),
                "token_uri": f"{self.url}/token",
            }
        ).encode()

    def project(
        self,
        session: aiohttp.ClientSession,
        *,
        fence: Callable[[], float] | None = None,
        patience: float = 20.0,
    ) -> GcpProject:
        tokens = Tokens(GoogleTokens(read_key(self.key_file()).credentials, session))
        return GcpProject(PROJECT, tokens, session, endpoint=self.url, fence=fence, patience=patience)

    def pool(self, name: str, *sizes: int, **autoscaling: Any) -> None:
        """A pool of the cluster `staging`, with so many nodes in each zone."""
        urls = []
        for zone, size in zip(ZONES, sizes, strict=False):
            group = f"projects/{PROJECT}/zones/{zone}/instanceGroupManagers/gke-staging-{name}-{zone[-1]}-grp"
            self.groups[group] = size
            urls.append(f"https://www.googleapis.com/compute/v1/{group}")
        self.clusters.setdefault("staging", {"name": "staging"})
        self.pools[name] = {
            "name": name,
            "initialNodeCount": 1,
            "config": {"machineType": "e2-standard-4"},
            "autoscaling": autoscaling,
            "instanceGroupUrls": urls,
            "status": "RUNNING",
        }

    def sizes(self, name: str) -> list[int]:
        urls = self.pools[name]["instanceGroupUrls"]
        return [self.groups[url.partition("/compute/v1/")[2]] for url in urls]

    def database(self, name: str, policy: str = "ALWAYS", **more: Any) -> None:
        settings = {"activationPolicy": policy, "settingsVersion": "7", "tier": "db-custom-2-7680"}
        self.databases[name] = {
            "name": name,
            "state": "RUNNABLE",
            "createTime": "2026-01-01T00:00:00Z",
            "instanceType": "CLOUD_SQL_INSTANCE",
            "settings": settings,
        } | more

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if found := self._desk(request.path):
            try:
                return await found(request)
            except Refused as error:
                return error.response()
        try:
            method, names = self._method(request)
            self.calls.append(method.id)
            fault = next((one for one in self.faults if one.id == method.id and one.times > 0), None)
            if fault:
                fault.times -= 1
            if fault and fault.fault:
                raise fault.fault
            body = await self._body(method, request)
            if fault and fault.late:
                self.held.append((method, names, body))
            answer = {} if fault and fault.late else self._play(method, names, body)
            if fault:
                assert request.transport is not None
                request.transport.abort()
        except Refused as error:
            return error.response()
        assert method.inventions(answer) == []
        return web.json_response(answer)

    def _desk(self, path: str) -> Callable[[web.Request], Awaitable[web.Response]] | None:
        """Who gives out tokens at an address."""
        if path.startswith("/computeMetadata/"):
            return self._metadata
        return {
            "/token": self._token,
            "/v1/token": self._exchange,
            f"/v1/projects/-/serviceAccounts/{EMAIL}:generateAccessToken": self._impersonate,
        }.get(path)

    async def _token(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        signed, _, signature = str(form["assertion"]).rpartition(".")
        header, claims = (json.loads(_unpacked(part)) for part in signed.split("."))
        assert header == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
        now = Instant.now().timestamp()
        try:
            self.key.public_key().verify(
                _unpacked(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
            )
        except InvalidSignature:
            body = {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
            return web.json_response(body, status=400)
        assert claims["iss"] == EMAIL
        assert claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"
        assert claims["aud"] == "https://oauth2.googleapis.com/token", "wherever the token comes from"
        assert claims["exp"] - claims["iat"] <= 3600
        assert abs(claims["iat"] - now) < 300
        return self._give()

    async def _exchange(self, request: web.Request) -> web.Response:
        """The token of another identity provider for one of Google's, as its Security Token Service does."""
        form = await request.post()
        assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange"
        assert form["requested_token_type"] == "urn:ietf:params:oauth:token-type:access_token"
        assert form["subject_token_type"] == "urn:ietf:params:oauth:token-type:jwt"
        assert form["audience"] == POOL
        if form["subject_token"] != SUBJECT_TOKEN:
            body = {"error": "invalid_grant", "error_description": "The token is of another issuer."}
            return web.json_response(body, status=400)
        given: dict[str, Any] = json.loads(self._give().body or b"")  # type: ignore[arg-type]
        return web.json_response(given | {"issued_token_type": form["requested_token_type"]})

    async def _impersonate(self, request: web.Request) -> web.Response:
        scheme, _, token = request.headers["Authorization"].partition(" ")
        assert scheme == "Bearer"
        if token not in self.tokens:
            raise Refused(401, "Request had invalid authentication credentials.", "UNAUTHENTICATED")
        assert (await request.json())["scope"] == ["https://www.googleapis.com/auth/cloud-platform"]
        given = json.loads(self._give().body or b"")  # type: ignore[arg-type]
        ends = Instant.now().add(hours=1).format_iso(unit="second")
        return web.json_response({"accessToken": given["access_token"], "expireTime": ends})

    def federation(self, token: Path, *, impersonated: bool) -> bytes:
        """What `gcloud iam workload-identity-pools create-cred-config` writes."""
        document = {
            "type": "external_account",
            "audience": POOL,
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": f"{self.url}/v1/token",
            "credential_source": {"file": str(token)},
        }
        if impersonated:
            person = f"{self.url}/v1/projects/-/serviceAccounts/{EMAIL}:generateAccessToken"
            document["service_account_impersonation_url"] = person
        return json.dumps(document).encode()

    async def _metadata(self, request: web.Request) -> web.Response:
        assert request.headers.get("Metadata-Flavor") == "Google"
        assert request.path == "/computeMetadata/v1/instance/service-accounts/default/token"
        return self._give()

    def _give(self) -> web.Response:
        self.given += 1
        token = self.next_token or f"ya29.{self.given}"
        self.tokens.add(token)
        return web.json_response({"access_token": token, "expires_in": 3599, "token_type": "Bearer"})

    def _method(self, request: web.Request) -> tuple[Method, tuple[str, ...]]:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or token not in self.tokens:
            raise Refused(401, "Request had invalid authentication credentials.", "UNAUTHENTICATED")
        for method in methods():
            found = method.path.fullmatch(request.path.removeprefix("/"))
            if found and method.http == request.method:
                if unknown := set(request.query) - method.parameters - _STANDARD:
                    raise Refused(400, f"Unknown parameters {unknown}.", "INVALID_ARGUMENT")
                return method, found.groups()
        raise Refused(404, f"There is no {request.method} {request.path}.")

    async def _body(self, method: Method, request: web.Request) -> Any:
        body = await request.json() if request.can_read_body else None
        if problems := method.problems(body):
            raise Refused(400, f"Invalid JSON payload: {problems}", "INVALID_ARGUMENT")
        return body

    def _play(self, method: Method, names: tuple[str, ...], body: Any) -> Any:
        play = getattr(self, "_".join(("", *method.id.split(".")[-2:])), None)
        if play is None:
            raise Refused(501, f"{method.id} is not played here.")
        return play(names, body)

    def _clusters_list(self, _names: Any, _body: Any) -> Any:
        return {"clusters": list(self.clusters.values())}

    def _clusters_get(self, names: Any, _body: Any) -> Any:
        return _of(self.clusters, names[-1])

    def _nodePools_list(self, names: Any, _body: Any) -> Any:  # noqa: N802 — as Google calls them
        _of(self.clusters, names[-1])
        return {"nodePools": list(self.pools.values())}

    def _nodePools_get(self, names: Any, _body: Any) -> Any:  # noqa: N802
        return _of(self.pools, names[-1])

    def _nodePools_setSize(self, names: Any, body: Any) -> Any:  # noqa: N802
        self._alone()
        for url in _of(self.pools, names[-1])["instanceGroupUrls"]:
            self.groups[url.partition("/compute/v1/")[2]] = body.get("nodeCount", 0)
        return self._begin({"operationType": "SET_NODE_POOL_SIZE"})

    def _nodePools_setAutoscaling(self, names: Any, body: Any) -> Any:  # noqa: N802
        self._alone()
        wanted = {key: value for key, value in body["autoscaling"].items() if value}
        _of(self.pools, names[-1])["autoscaling"] = wanted
        return self._begin({"operationType": "UPDATE_CLUSTER"})

    def _instanceGroupManagers_get(self, names: Any, _body: Any) -> Any:  # noqa: N802
        group = "projects/{}/zones/{}/instanceGroupManagers/{}".format(*names)
        return {"name": names[-1], "targetSize": _of(self.groups, group)}

    def _machineTypes_get(self, names: Any, _body: Any) -> Any:  # noqa: N802
        return {"name": names[-1], "guestCpus": 4, "memoryMb": 16384}

    def _instances_list(self, _names: Any, _body: Any) -> Any:
        return {"items": list(self.databases.values())}

    def _instances_get(self, names: Any, _body: Any) -> Any:
        if names[-1] not in self.databases and self.missing_is_forbidden:
            raise Refused(403, "The client is not authorized.", "PERMISSION_DENIED")
        return _of(self.databases, names[-1])

    def _instances_patch(self, names: Any, body: Any) -> Any:
        self._alone()
        return self._patch(_of(self.databases, names[-1]), body)

    def _operations_list(self, _names: Any, _body: Any) -> Any:
        return {"items": [self._look(name) for name in self.operations]}

    def _operations_get(self, names: Any, _body: Any) -> Any:
        return self._look(names[-1])

    def _patch(self, database: dict[str, Any], body: dict[str, Any]) -> Any:
        settings = body["settings"]
        if settings.get("settingsVersion") != database["settings"]["settingsVersion"]:
            raise Refused(412, "Condition does not match.", reason="staleData")
        version = str(int(settings["settingsVersion"]) + 1)
        labels = database["settings"].get("userLabels", {}) | settings.get("userLabels", {})
        if len(labels) > _MOST_LABELS:
            raise Refused(400, "Too many labels.", "INVALID_ARGUMENT")
        kept = {key: value for key, value in labels.items() if value is not None}
        more = {"settingsVersion": version} | ({"userLabels": kept} if kept else {})
        before = {key: value for key, value in database["settings"].items() if key != "userLabels"}
        database["settings"] = {**before, **settings, **more}
        if not kept:
            database["settings"].pop("userLabels", None)
        return self._begin({"operationType": "UPDATE"})

    def _alone(self) -> None:
        if any(one["left"] for one in self.operations.values()):
            raise Refused(400, "Cluster is running incompatible operation.", "FAILED_PRECONDITION")

    def _begin(self, operation: dict[str, Any]) -> Any:
        name = f"operation-{len(self.operations) + 1}"
        self.operations[name] = {"left": self.slow, **operation, "name": name}
        return self._shown(name)

    def _look(self, name: str) -> Any:
        operation = _of(self.operations, name)
        operation["left"] = max(0, operation["left"] - 1)
        return self._shown(name)

    def _shown(self, name: str) -> Any:
        operation = dict(self.operations[name])
        done = not operation.pop("left")
        error = {"error": self.operation_error} if done and self.operation_error else {}
        return {**operation, "status": "DONE" if done else "RUNNING", **error}


def _of(things: dict[str, Any], name: str) -> Any:
    if name not in things:
        raise Refused(404, f"Not found: {name}.", "NOT_FOUND")
    return things[name]


def _unpacked(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@asynccontextmanager
async def google_server() -> AsyncIterator[Google]:
    google = Google()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", google.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    google.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield google
    finally:
        await runner.cleanup()


@pytest.fixture
async def google() -> AsyncIterator[Google]:
    async with google_server() as found:
        yield found


@pytest.fixture
async def project(google: Google) -> AsyncIterator[GcpProject]:
    async with aiohttp.ClientSession() as session:
        yield google.project(session)
