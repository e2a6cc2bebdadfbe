"""What a target's connector leads to: an account at a cloud, or another cluster.

A connector and its Secret are read from the API server itself, again after half a minute at the latest. As
long as they say the same, what was opened stays open.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self, TypeVar

import aiohttp

from hibernator.api.cloudprovider import PROVIDERS, CloudAuth, CloudProvider
from hibernator.api.core import DEPLOYMENTS, NAMESPACES, SECRETS
from hibernator.api.k8scluster import CLUSTERS, GkeCluster, K8SCluster, KubeconfigReference
from hibernator.api.kind import Kind, partial
from hibernator.api.meta import Object, ProviderReference
from hibernator.api.parameters import EksParameters, GkeParameters
from hibernator.decisions.connectors import Name, Reason, lends, not_lent, provider_of
from hibernator.executors.accounts import Account, Login
from hibernator.executors.aws.account import AwsAccount
from hibernator.executors.aws.cluster import EksGrants, by_eks
from hibernator.executors.connections import Connections, Unusable
from hibernator.executors.gcp.cluster import GkeGrants, by_gke
from hibernator.executors.gcp.gke import GkePlace
from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.insist import typed
from hibernator.executors.logins import CLOUDS, AccountOpener
from hibernator.executors.protocol import Job, Permanent, parameters_as
from hibernator.executors.remote import ClusterAccess, RemoteCluster, by_kubeconfig, enter
from hibernator.kube import errors
from hibernator.kube.client import Client
from hibernator.kube.kubeconfig import ResolvedContext
from hibernator.kube.transport import Fence

T = TypeVar("T", bound=Object)
A = TypeVar("A", bound=Account)
_NAMESAKE: Final = "kube-system"  # whose uid stands for the cluster, as is the custom
_NOT_FOUND: Final[Mapping[str, Reason]] = {
    "CloudProvider": "CloudProviderNotFound",
    "K8SCluster": "K8SClusterNotFound",
    "Secret": "SecretNotFound",
}


class Connectors:
    """Opens what connectors lead to, once for everyone. Changes there are fenced as those here are."""

    def __init__(self, client: Client, session: aiohttp.ClientSession, *, fence: Fence | None = None) -> None:
        self._own = client
        self._fence = fence
        self._opener = AccountOpener(session, fence)
        self._connections = Connections()
        self._cluster_id: str | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connections.close()

    async def client(self, job: Job) -> Client:
        """The cluster of a target: our own, unless a K8SCluster says otherwise."""
        if job.target.connector_ref is None:
            return self._own
        kind, namespace, name = _reference(job)
        if kind != "K8SCluster":
            raise Permanent(
                f"The target {job.target.name} is in a cluster: connectorRef has to be a K8SCluster."
            )
        return (await self.cluster(namespace, name)).client

    async def aws(self, job: Job) -> AwsAccount:
        return _at(AwsAccount, await self._provider_of(job))

    async def gcp(self, job: Job) -> GcpProject:
        return _at(GcpProject, await self._provider_of(job))

    async def eks(self, job: Job) -> tuple[AwsAccount, str]:
        kind, namespace, name = _reference(job)
        wanted = parameters_as(job, EksParameters).cluster_name
        if kind == "CloudProvider":
            if wanted is None:
                raise Permanent("clusterName is missing, and a CloudProvider does not say which is meant.")
            return _at(AwsAccount, await self.provider(namespace, name)), wanted
        found = (await self._read(CLUSTERS, namespace, name)).spec.eks
        if found is None or wanted not in {None, found.name}:
            raise Permanent(
                f"The K8SCluster {name} is not the EKS cluster {wanted or 'that is needed here'}."
            )
        account = _at(AwsAccount, await self._referred(found.provider_ref, namespace))
        return account.at(found.region), found.name

    async def gke(self, job: Job) -> GkePlace:
        kind, namespace, name = _reference(job)
        wanted = parameters_as(job, GkeParameters)
        if kind == "CloudProvider":
            if not (wanted.cluster_name and wanted.location):
                raise Permanent(
                    "clusterName or location is missing, and a CloudProvider does not say which is meant."
                )
            project = _at(GcpProject, await self.provider(namespace, name))
            return GkePlace(project, project.name, wanted.location, wanted.cluster_name)
        found = (await self._read(CLUSTERS, namespace, name)).spec.gke
        if found is None or wanted.cluster_name not in {None, found.name}:
            meant = wanted.cluster_name or "that is needed here"
            raise Permanent(f"The K8SCluster {name} is not the GKE cluster {meant}.")
        return await self._gke_place(found, namespace)

    async def provider(self, namespace: str, name: str, *, afresh: bool = False) -> Account:
        """What a CloudProvider leads to."""
        return await self._connections.get(
            ("CloudProvider", namespace, name),
            lambda: self._login(namespace, name),
            self._opener.open,
            afresh=afresh,
        )

    async def cluster(self, namespace: str, name: str, *, afresh: bool = False) -> RemoteCluster:
        """What a K8SCluster leads to."""

        async def look() -> ClusterAccess | None:
            found = await self._read(CLUSTERS, namespace, name)
            return None if found.spec.in_cluster else await self._way(found)

        async def make(access: ClusterAccess | None) -> RemoteCluster:
            return await enter(access, self._fence) if access else RemoteCluster(self._own, None)

        return await self._connections.get(("K8SCluster", namespace, name), look, make, afresh=afresh)

    async def check_provider(self, namespace: str, name: str) -> str:
        """Who we are there; raises what a target would fail with."""
        login = await self._login(namespace, name)
        opened = await self.provider(namespace, name, afresh=True)
        return await CLOUDS[login.spec.type].check(opened, login)

    async def check_cluster(self, namespace: str, name: str) -> str:
        """What answers there, and whether we may change anything."""
        found = await self._read(CLUSTERS, namespace, name)
        below = provider_of(found)
        if below and below[1] != namespace:
            provider = await self._own_or_none(below)
            if not lends(provider, namespace):
                wrong, fix = not_lent(below, namespace)
                raise Unusable("NotAllowed", f"{wrong[:1].upper()}{wrong[1:]}. {fix}")
        client = (await self.cluster(namespace, name, afresh=True)).client
        with typed():
            try:
                version = await client.version()
                allowed = await client.may_i("patch", DEPLOYMENTS)
            except (errors.Unauthorized, errors.Forbidden) as error:
                raise Unusable(
                    "CredentialsRefused", f"The cluster does not accept the credentials: {error.message}"
                ) from error
        if allowed:
            return f"Kubernetes {version} answers."
        return f"Kubernetes {version} answers. Not all namespaces may be changed: what may not, will fail."

    def forget(self, kind: Kind[T], namespace: str, name: str) -> None:
        """Close, after a while, what a connector led to that is gone."""
        self._connections.forget((kind.kind, namespace, name))

    async def _login(self, namespace: str, name: str) -> Login:
        found = await self._read(PROVIDERS, namespace, name)
        block = found.spec.block
        auth = block.auth if block else CloudAuth()
        secret: Mapping[str, bytes] = {}
        if auth.static:
            secret = (await self._read(SECRETS, namespace, auth.static.secret_ref.name)).data
        return Login(name, found.metadata.uid, found.spec, secret, await self._id_of_cluster())

    async def _id_of_cluster(self) -> str:
        """What our own cluster is called by all who need to tell it from others; empty if we may not know."""
        if self._cluster_id is None:
            with typed():
                try:
                    found = await self._own.get(partial(NAMESPACES), _NAMESAKE)
                    self._cluster_id = found.metadata.uid
                except (errors.Forbidden, errors.NotFound):
                    self._cluster_id = ""
        return self._cluster_id

    async def _way(self, found: K8SCluster) -> ClusterAccess:
        namespace, spec = found.metadata.namespace, found.spec
        if spec.kubeconfig_ref:
            return ClusterAccess(await self._kubeconfig(namespace, spec.kubeconfig_ref))
        if spec.eks:
            account = _at(AwsAccount, await self._referred(spec.eks.provider_ref, namespace))
            there = account.at(spec.eks.region)
            return ClusterAccess(await by_eks(there, spec.eks.name), account, EksGrants(there, spec.eks.name))
        if spec.gke:
            at = await self._gke_place(spec.gke, namespace)
            return ClusterAccess(await by_gke(at), at.project, GkeGrants(at.project.tokens))
        raise Unusable(
            "WrongType",
            f"The K8SCluster {found.metadata.name} names none. Set inCluster, kubeconfigRef, eks or gke.",
        )

    async def _kubeconfig(self, namespace: str, reference: KubeconfigReference) -> ResolvedContext:
        secret = (await self._read(SECRETS, namespace, reference.name)).data
        if reference.key not in secret:
            raise Unusable("SecretIncomplete", f"The Secret {reference.name} has no {reference.key}; add it.")
        return by_kubeconfig(secret[reference.key], f"{reference.key} of the Secret {reference.name}")

    async def _gke_place(self, found: GkeCluster, namespace: str) -> GkePlace:
        project = _at(GcpProject, await self._referred(found.provider_ref, namespace))
        return GkePlace(project, found.project, found.location, found.name)

    async def _provider_of(self, job: Job) -> Account:
        kind, namespace, name = _reference(job)
        if kind != "CloudProvider":
            raise Permanent(
                f"The target {job.target.name} is at a cloud: its connectorRef has to name a CloudProvider."
            )
        return await self.provider(namespace, name)

    async def _referred(self, reference: ProviderReference, namespace: str) -> Account:
        return await self.provider(reference.namespace or namespace, reference.name)

    async def _own_or_none(self, name: Name) -> CloudProvider | None:
        try:
            return await self._read(PROVIDERS, *name[1:])
        except Unusable:
            return None

    async def _read(self, kind: Kind[T], namespace: str, name: str) -> T:
        with typed():
            try:
                return await self._own.get(kind, name, namespace)
            except errors.NotFound as error:
                message = f"There is no {kind.kind} {name} in the namespace {namespace}."
                raise Unusable(_NOT_FOUND[kind.kind], message) from error
            except errors.Forbidden as error:
                if kind is not SECRETS:
                    raise
                raise Unusable(
                    "SecretForbidden",
                    f"The operator may not read the Secret {name} in {namespace}. Bind the ClusterRole "
                    "hibernator-connector to its service account in that namespace.",
                ) from error


def _reference(job: Job) -> tuple[str, str, str]:
    """Kind, namespace and name of the target's connector."""
    reference = job.target.connector_ref
    if reference is None:
        raise Permanent(f"The target {job.target.name} needs a connectorRef, which says where it is.")
    return reference.kind, reference.namespace or job.namespace, reference.name


def _at(cloud: type[A], opened: Account) -> A:
    if not isinstance(opened, cloud):
        raise Permanent(f"The CloudProvider is {opened.described}, and {cloud.cloud} is needed here.")
    return opened
