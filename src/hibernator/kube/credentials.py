"""What lets a request in: where to, with which certificates, in whose name.

Everything here can change while the process runs. Tokens of pods are replaced every hour, certificates of
nodes every year, and a plugin's answer expires. So a request asks for its `Access` again each time, which
costs nothing while nothing has changed, and after a 401 everything is loaded afresh once.
"""

import asyncio
import base64
import binascii
import ipaddress
import os
import ssl
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import msgspec
from aiohttp import encode_basic_auth
from multidict import CIMultiDict
from whenever import Instant

from hibernator.kube.errors import BadCredentials
from hibernator.kube.execplugin import ExecPlugin, Grant
from hibernator.kube.kubeconfig import Cluster, ResolvedContext, User, load, paths

_IN_CLUSTER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LOOK_AGAIN: Final = 10.0  # seconds for which files are taken as unchanged
_RENEW_EVERY: Final = 5.0  # seconds; a server that refuses everything must not have us run a plugin each time


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """All that a request needs besides itself. A new one is a different one: compare with `is`."""

    server: str
    headers: CIMultiDict[str]
    tls: ssl.SSLContext
    server_name: str | None
    proxy: str | None


@dataclass(frozen=True, slots=True)
class _Material:
    """What an `Access` is made from; equal material makes the same one."""

    authority: bytes
    certificate: bytes
    key: bytes
    token: str


class Grants(Protocol):
    """Something that lets in for a while: a program of the kubeconfig, or a cloud."""

    def valid(self) -> bool:
        """Whether what was granted last still holds."""

    async def grant(self, *, afresh: bool = False) -> Grant:
        """What to get in with; `afresh` when the last was refused."""


class Credentials:
    """The way into one cluster."""

    def __init__(
        self,
        place: ResolvedContext,
        *,
        now: Callable[[], Instant] = Instant.now,
        grants: Grants | None = None,
    ) -> None:
        self.namespace = place.namespace
        self.context = place.context
        self.server = place.cluster.server.rstrip("/")
        self._cluster, self._user = place.cluster, place.user
        _check(self._cluster, self._user)
        self._proxy = _proxy(place.cluster)
        self._plugin = grants
        if place.user.exec:
            self._plugin = ExecPlugin(place.user.exec, place.cluster, _authority(place.cluster), now)
        self._lock = asyncio.Lock()
        self._access: Access | None = None
        self._material: _Material | None = None
        self._fresh_until = 0.0
        self._renewed = float("-inf")

    async def access(self) -> Access:
        """What to send a request with now."""
        if self._access is not None and self._fresh():
            return self._access
        async with self._lock:
            if self._access is None or not self._fresh():
                await self._load()
            assert self._access is not None  # noqa: S101 — `_load` sets it or raises; this tells mypy
            return self._access

    async def renew(self, refused: Access) -> bool:
        """After a 401: load everything afresh, and say whether there is something new to try."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if self._access is refused and now >= self._renewed + _RENEW_EVERY:
                self._renewed = now
                await self._load(afresh=True)
            return self._access is not refused

    def _fresh(self) -> bool:
        return asyncio.get_running_loop().time() < self._fresh_until and (
            self._plugin is None or self._plugin.valid()
        )

    async def _load(self, *, afresh: bool = False) -> None:
        grant = await self._plugin.grant(afresh=afresh) if self._plugin else Grant()
        try:
            material = self._gather(grant)
        except BadCredentials as error:
            if self._access is None:
                raise
            # Some tools replace files step by step: what was good a moment ago is used on.
            import structlog  # takes a quarter of a second, and is needed only here

            structlog.get_logger(__name__).warning("credentials could not be read again", error=error.message)
        else:
            if material != self._material:
                self._access = self._make(material)
                self._material = material
        self._fresh_until = asyncio.get_running_loop().time() + _LOOK_AGAIN

    def _gather(self, grant: Grant) -> _Material:
        user = self._user
        token = _file(user.token_file).decode(errors="replace").strip() if user.token_file else user.token
        return _Material(
            authority=_authority(self._cluster),
            certificate=grant.client_certificate_data.encode()
            or _inline_or_file(user.client_certificate_data, user.client_certificate),
            key=grant.client_key_data.encode() or _inline_or_file(user.client_key_data, user.client_key),
            token=grant.token or token,
        )

    def _make(self, material: _Material) -> Access:
        return Access(
            server=self.server,
            headers=_headers(self._user, material.token),
            tls=_tls(material, insecure=self._cluster.insecure_skip_tls_verify),
            server_name=self._cluster.tls_server_name or None,
            proxy=self._proxy,
        )


def find(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    as_user: str | None = None,
    as_groups: Sequence[str] = (),
) -> Credentials:
    """The credentials that a person would expect to be used.

    A kubeconfig that is named, here or by KUBECONFIG, goes first; then the service account of the pod that we
    run in; then the kubeconfig at home. With `as_user` and `as_groups` the API server is asked to act as if
    they were the caller, which it allows to those who may impersonate.
    """
    place = _place(kubeconfig, context)
    if as_groups and not as_user:
        raise BadCredentials("--as-group needs --as: groups are impersonated only together with a user")
    if as_user:
        user = msgspec.structs.replace(
            place.user, impersonate=as_user, impersonate_groups=tuple(as_groups), impersonate_extra=None
        )
        place = replace(place, user=user)
    return Credentials(place)


def _place(kubeconfig: str | None, context: str | None) -> ResolvedContext:
    named = kubeconfig or os.environ.get("KUBECONFIG")
    if not named and not context and (place := in_cluster(_IN_CLUSTER)):
        return place
    files = paths(kubeconfig)
    if not any(file.exists() for file in files):
        raise BadCredentials(
            f"there is no kubeconfig at {', '.join(map(str, files))}, and this is not a pod of a cluster; "
            "set KUBECONFIG to the file of the cluster that you mean"
        )
    return load(files, context)


def in_cluster(folder: Path) -> ResolvedContext | None:
    """The service account of the pod that we run in, if we do."""
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{part}", "") for part in ("HOST", "PORT"))
    if not (host and port and (folder / "token").exists()):
        return None
    if ":" in host:
        host = f"[{host}]"
    namespace = folder / "namespace"
    return ResolvedContext(
        context="in-cluster",
        cluster=Cluster(server=f"https://{host}:{port}", certificate_authority=str(folder / "ca.crt")),
        user=User(token_file=str(folder / "token")),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def _check(cluster: Cluster, user: User) -> None:
    if urlsplit(cluster.server).scheme not in {"http", "https"}:
        raise BadCredentials(f"server is {cluster.server!r}; write an address such as https://10.0.0.1:6443")
    if cluster.insecure_skip_tls_verify and (
        cluster.certificate_authority or cluster.certificate_authority_data
    ):
        raise BadCredentials(
            "the cluster has both insecure-skip-tls-verify and a certificate authority; remove one"
        )
    if user.auth_provider is not None:
        raise BadCredentials(
            "the user has an auth-provider, which Kubernetes gave up for exec plugins; "
            "log in again with a current tool, which will write an exec section"
        )
    certificate = user.client_certificate or user.client_certificate_data
    if bool(certificate) != bool(user.client_key or user.client_key_data):
        raise BadCredentials("the user has a client certificate or a client key without the other")


def _authority(cluster: Cluster) -> bytes:
    return _inline_or_file(cluster.certificate_authority_data, cluster.certificate_authority)


def _inline_or_file(inline: str, path: str) -> bytes:
    if inline:
        try:
            return base64.b64decode("".join(inline.split()), validate=True)
        except binascii.Error as error:
            raise BadCredentials(f"the kubeconfig has data that is not base64: {error}") from error
    return _file(path) if path else b""


def _file(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BadCredentials(f"{path} cannot be read: {error.strerror}") from error


def _headers(user: User, token: str) -> CIMultiDict[str]:
    headers: CIMultiDict[str] = CIMultiDict()
    if token:
        if not token.isprintable():
            raise BadCredentials("the bearer token has characters that no token has, such as a line break")
        headers["Authorization"] = f"Bearer {token}"
    elif user.username:
        headers["Authorization"] = encode_basic_auth(user.username, user.password)
    if user.impersonate:
        headers["Impersonate-User"] = user.impersonate
    if user.impersonate_uid:
        headers["Impersonate-Uid"] = user.impersonate_uid
    for group in user.impersonate_groups or ():
        headers.add("Impersonate-Group", group)
    for key, values in (user.impersonate_extra or {}).items():
        for value in values:
            headers.add(f"Impersonate-Extra-{key}", value)
    return headers


def _tls(material: _Material, *, insecure: bool) -> ssl.SSLContext:
    try:
        # Not `create_default_context`, which asks more of CA certificates since Python 3.13 than many have.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif material.authority:
            context.load_verify_locations(cadata=material.authority.decode())
        else:
            context.load_default_certs()
        if material.certificate:
            # OpenSSL reads these from files only. It is private, and gone before anything else happens.
            with tempfile.NamedTemporaryFile() as file:
                file.write(material.certificate + b"\n" + material.key)
                file.flush()
                context.load_cert_chain(file.name)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise BadCredentials(f"a certificate or key of the kubeconfig cannot be used: {error}") from error
    return context


def _proxy(cluster: Cluster) -> str | None:
    """The proxy of the kubeconfig, otherwise that of the environment, if the server is not exempt from it."""
    proxy = cluster.proxy_url
    if not proxy:
        server = urlsplit(cluster.server)
        if _exempt(server.hostname or ""):
            return None
        proxy = getproxies_environment().get(server.scheme, "")
    if proxy and urlsplit(proxy).scheme not in {"http", "https"}:
        raise BadCredentials(f"proxy-url is {proxy!r}; only http and https proxies are supported")
    return proxy or None


def _exempt(host: str) -> bool:
    """Whether NO_PROXY names the host, also as a range of addresses, which the standard library ignores."""
    if host == "localhost" or proxy_bypass(host):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or any(_within(address, each) for each in _no_proxy())


def _no_proxy() -> list[str]:
    listed = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    return [each.strip() for each in listed.split(",") if "/" in each]


def _within(address: ipaddress.IPv4Address | ipaddress.IPv6Address, network: str) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
