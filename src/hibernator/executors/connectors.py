"""What a target's connector leads to: an account at a cloud, or another cluster.

A connector and its Secret are read again after half a minute at the latest, from the API server itself. As
long as they say the same, what was opened stays open; when they do not, it is opened anew, and what was open
before is closed once nobody can still be using it.

The operator's own identity is lent to whoever may write a connector, so it is shown only to the cloud itself,
never to an address that somebody wrote into a connector.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from hibernator.api.cloudprovider import PROVIDERS, Aws, CloudAuth, CloudProviderSpec
from hibernator.api.core import SECRETS
from hibernator.api.k8scluster import CLUSTERS
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.parameters import EksParameters
from hibernator.executors.aws import AwsAccount, Keys, sign_in
from hibernator.executors.protocol import Job, Permanent, parameters_as
from hibernator.executors.workloadscaler import typed
from hibernator.kube import errors
from hibernator.kube.client import Client
from hibernator.kube.transport import Fence

T = TypeVar("T", bound=Object)
C = TypeVar("C", bound="Closes")
_FRESH: Final = 30.0  # seconds for which a connector is taken as unchanged
_IN_USE: Final = 600.0  # seconds after which nothing that began with an old connection is still going on
_OF_AWS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
_KEY_ID, _KEY, _TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"


class Unusable(Permanent):
    """A connector that leads nowhere. `reason` is one word for its Ready condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Closes(Protocol):
    async def close(self) -> None: ...


@dataclass(slots=True)
class _Open:
    """Something open, and what it was made from."""

    made_of: object = field(repr=False)  # may hold secrets
    connection: Any
    fresh_until: float


class Connections:
    """What is open, by name."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, ...], _Open] = {}
        self._locks: dict[tuple[str, ...], asyncio.Lock] = {}
        self._retired: list[tuple[float, Closes]] = []

    async def get(
        self,
        key: tuple[str, ...],
        look: Callable[[], Awaitable[object]],
        make: Callable[[Any], Awaitable[C]],
        *,
        afresh: bool = False,
    ) -> C:
        """What is open under that name; `look` tells what it has to be made of now."""
        loop = asyncio.get_running_loop()
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = self._open.get(key)
            if known and not afresh and loop.time() < known.fresh_until:
                found: C = known.connection
                return found
            made_of = await look()
            if known is None or known.made_of != made_of:
                made = await make(made_of)
                if known:
                    self._retired.append((loop.time(), known.connection))
                known = self._open[key] = _Open(made_of, made, 0.0)
            known.fresh_until = loop.time() + _FRESH
            await self._close_retired(loop.time() - _IN_USE)
            kept: C = known.connection
            return kept

    async def close(self) -> None:
        for one in self._open.values():
            await one.connection.close()
        await self._close_retired(float("inf"))

    async def _close_retired(self, before: float) -> None:
        over = [one for since, one in self._retired if since < before]
        self._retired = [(since, one) for since, one in self._retired if since >= before]
        for one in over:
            await one.close()


@dataclass(frozen=True, slots=True)
class Login:
    """What a provider says, with what its Secret holds."""

    name: str
    uid: str
    spec: CloudProviderSpec
    secret: Mapping[str, bytes] = field(repr=False, hash=False)


class Connectors:
    """Opens what connectors lead to, once for everybody. Its changes there are fenced as those here are."""

    def __init__(self, client: Client, *, fence: Fence | None = None) -> None:
        self._client = client
        self._fence = fence
        self._connections = Connections()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connections.close()

    async def aws(self, job: Job) -> AwsAccount:
        kind, namespace, name = _reference(job)
        if kind != "CloudProvider":
            raise Permanent(
                f"The target {job.target.name} is at AWS: its connectorRef has to name a CloudProvider."
            )
        return await self.account(namespace, name)

    async def eks(self, job: Job) -> tuple[AwsAccount, str]:
        kind, namespace, name = _reference(job)
        wanted = parameters_as(job, EksParameters).cluster_name
        if kind == "CloudProvider":
            if wanted is None:
                raise Permanent("clusterName is missing, and a CloudProvider does not say which is meant.")
            return await self.account(namespace, name), wanted
        found = (await self.read(CLUSTERS, namespace, name)).spec.eks
        if found is None or wanted not in {None, found.name}:
            raise Permanent(
                f"The K8SCluster {name} is not the EKS cluster {wanted or 'that is needed here'}."
            )
        provider = found.provider_ref
        account = await self.account(provider.namespace or namespace, provider.name)
        return account.at(found.region), found.name

    async def account(self, namespace: str, name: str, *, afresh: bool = False) -> AwsAccount:
        """The AWS account of a provider."""

        async def look() -> Login:
            return await self._login(namespace, name)

        return await self._connections.get(
            ("CloudProvider", namespace, name), look, self._open_aws, afresh=afresh
        )

    async def _open_aws(self, login: Login) -> AwsAccount:
        spec = login.spec.aws
        if spec is None:
            raise Unusable(
                "WrongType", f"The CloudProvider {login.name} is not at AWS, which is needed here."
            )
        if spec.auth.static is None:
            _own_identity(spec.endpoint_url, _OF_AWS)
        session = sign_in(_keys(login, spec), spec.assume_role_arn, spec.region, spec.endpoint_url)
        return AwsAccount(session, spec.region, endpoint=spec.endpoint_url, fence=self._fence)

    async def _login(self, namespace: str, name: str) -> Login:
        provider = await self.read(PROVIDERS, namespace, name)
        block = provider.spec.aws or provider.spec.gcp
        auth = block.auth if block else CloudAuth()
        secret: Mapping[str, bytes] = {}
        if auth.static:
            secret = (await self.read(SECRETS, namespace, auth.static.secret_ref.name)).data
        return Login(name, provider.metadata.uid, provider.spec, secret)

    async def read(self, kind: Kind[T], namespace: str, name: str) -> T:
        """An object that a connector, or a target, names."""
        with typed():
            try:
                return await self._client.get(kind, name, namespace)
            except errors.NotFound as error:
                raise Unusable(
                    f"{kind.kind}NotFound", f"There is no {kind.kind} {name} in the namespace {namespace}."
                ) from error


def _reference(job: Job) -> tuple[str, str, str]:
    """Kind, namespace and name of the target's connector."""
    reference = job.target.connector_ref
    if reference is None:
        raise Permanent(f"The target {job.target.name} needs a connectorRef, which says where it is.")
    return reference.kind, reference.namespace or job.namespace, reference.name


def _keys(login: Login, spec: Aws) -> Keys | None:
    if spec.auth.static is None:
        return None
    found = {
        name: login.secret.get(name, b"").decode(errors="replace").strip() for name in (_KEY_ID, _KEY, _TOKEN)
    }
    if missing := [name for name in (_KEY_ID, _KEY) if not found[name]]:
        raise Unusable(
            "SecretIncomplete",
            f"The Secret {spec.auth.static.secret_ref.name} has no {' and no '.join(missing)}; add it.",
        )
    return Keys(found[_KEY_ID], found[_KEY], found[_TOKEN] or None)


def _own_identity(endpoint: str | None, hosts: tuple[str, ...]) -> None:
    address = urlsplit(endpoint) if endpoint else None
    if address and not (address.scheme == "https" and (address.hostname or "").endswith(hosts)):
        raise Unusable(
            "EndpointNotTrusted",
            f"endpointURL is {endpoint}, where the operator does not show its own identity. "
            f"Use keys from a Secret, remove endpointURL, or give an https address under {hosts[0][1:]}.",
        )
