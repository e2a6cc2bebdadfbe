"""Every way into a cluster, tried on the real API server, which says whom it took us for."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hibernator.controlplane import certs
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.credentials import Credentials, find, in_cluster
from hibernator.kube.errors import BadCredentials, Unauthorized, Unavailable
from hibernator.kube.kubeconfig import load
from support.cluster import ClusterInTest
from support.faultproxy import FaultProxy, admin_token
from support.faults import Answer
from support.kubeconfigs import ask_who_i_am, who_am_i, write_kubeconfig

_REVIEW = "selfsubjectreviews"


class Maker:
    """Writes kubeconfigs for the cluster of the test run."""

    def __init__(self, cluster: ClusterInTest, folder: Path) -> None:
        self.of = cluster
        self.folder = folder
        self.cluster: dict[str, Any] = {"server": cluster.url, "certificate-authority": str(cluster.ca)}
        self.admin_cert = cluster.layout.cert(certs.ADMIN)
        self.admin_key = cluster.layout.key(certs.ADMIN)

    def __call__(self, user: dict[str, Any], **cluster: Any) -> Credentials:
        about = {key: value for key, value in (self.cluster | cluster).items() if value is not None}
        return Credentials(load([write_kubeconfig(self.folder / "config", cluster=about, user=user)]))

    def admin(self) -> dict[str, str]:
        return {"client-certificate": str(self.admin_cert), "client-key": str(self.admin_key)}

    def token(self, name: str) -> str:
        return admin_token(self.of, name)


@pytest.fixture
def make(cluster: ClusterInTest, tmp_path: Path) -> Maker:
    return Maker(cluster, tmp_path)


async def test_a_client_certificate_in_files_relative_to_the_kubeconfig(make: Maker) -> None:
    (make.folder / "me.crt").write_bytes(make.admin_cert.read_bytes())
    (make.folder / "me.key").write_bytes(make.admin_key.read_bytes())
    me = await who_am_i(make({"client-certificate": "me.crt", "client-key": "me.key"}))
    assert me.username == "hibernator-admin"
    assert "system:masters" in me.groups


async def test_a_client_certificate_and_an_authority_inline(make: Maker) -> None:
    inline = {
        "client-certificate-data": base64.b64encode(make.admin_cert.read_bytes()).decode(),
        "client-key-data": base64.b64encode(make.admin_key.read_bytes()).decode(),
    }
    authority = base64.b64encode(make.of.ca.read_bytes()).decode()
    found = make(inline, **{"certificate-authority": None, "certificate-authority-data": authority})
    assert (await who_am_i(found)).username == "hibernator-admin"


async def test_a_token(make: Maker) -> None:
    me = await who_am_i(make({"token": make.token("ann")}))
    assert me.username == "system:serviceaccount:kube-system:ann"


async def test_a_token_file_that_is_replaced_is_read_again(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_LOOK_AGAIN", 0.0)
    file = make.folder / "token"
    file.write_text(make.token("ann") + "\n")
    async with Client(make({"tokenFile": str(file)})) as client:
        assert (await ask_who_i_am(client)).username.endswith(":ann")
        file.write_text(make.token("bob"))
        assert (await ask_who_i_am(client)).username.endswith(":bob")


async def test_files_are_not_read_for_every_request(make: Maker) -> None:
    file = make.folder / "token"
    file.write_text(make.token("ann"))
    async with Client(make({"tokenFile": str(file)})) as client:
        await ask_who_i_am(client)
        file.unlink()
        assert (await ask_who_i_am(client)).username.endswith(":ann")


async def test_a_file_that_is_away_for_a_moment_does_not_lock_us_out(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_LOOK_AGAIN", 0.0)
    file = make.folder / "token"
    file.write_text(make.token("ann"))
    async with Client(make({"tokenFile": str(file)})) as client:
        await ask_who_i_am(client)
        file.unlink()
        assert (await ask_who_i_am(client)).username.endswith(":ann")


async def test_a_replaced_client_certificate_is_used_on_new_connections(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_LOOK_AGAIN", 0.0)
    crt, key = make.folder / "me.crt", make.folder / "me.key"
    layout = make.of.layout
    async with Client(make({"client-certificate": str(crt), "client-key": str(key)})) as client:
        for who, name in ((certs.ADMIN, "hibernator-admin"), (certs.CONTROLLER_MANAGER, "system:kube-contr")):
            crt.write_bytes(layout.cert(who).read_bytes())
            key.write_bytes(layout.key(who).read_bytes())
            assert (await ask_who_i_am(client)).username.startswith(name)


async def test_after_a_401_everything_is_loaded_afresh_and_the_request_is_sent_again(
    make: Maker, proxy: FaultProxy
) -> None:
    file = make.folder / "token"
    file.write_text(make.token("ann"))
    server = json.loads(proxy.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    async with Client(make({"tokenFile": str(file)}, server=server)) as client:
        await ask_who_i_am(client)
        file.write_text(make.token("bob"))
        proxy.next(path=_REVIEW, action=Answer(401, "Unauthorized"))
        assert (await ask_who_i_am(client)).username.endswith(":bob")


async def test_a_401_that_stays_is_an_error_after_one_reload(make: Maker, proxy: FaultProxy) -> None:
    file = make.folder / "token"
    file.write_text(make.token("ann"))
    server = json.loads(proxy.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    async with Client(make({"tokenFile": str(file)}, server=server)) as client:
        await ask_who_i_am(client)
        file.write_text(make.token("bob"))
        refused = proxy.next(path=_REVIEW, action=Answer(401, "Unauthorized"), times=100)
        with pytest.raises(Unauthorized):
            await ask_who_i_am(client)
        assert refused.hits == 2
        with pytest.raises(Unauthorized):
            await ask_who_i_am(client)
        assert refused.hits == 3  # nothing new to try


async def test_impersonation_of_a_user_with_groups_and_extras(make: Maker) -> None:
    me = await who_am_i(
        make(
            make.admin()
            | {
                "as": "ann@example.org",
                "as-uid": "7",
                "as-groups": ["team-a", "team-b"],
                "as-user-extra": {"scopes": ["view", "edit"]},
            }
        )
    )
    assert (me.username, me.uid) == ("ann@example.org", "7")
    assert {"team-a", "team-b"} <= set(me.groups)
    assert me.extra["scopes"] == ("view", "edit")


async def test_the_server_is_verified_against_the_authority(make: Maker) -> None:
    system = make(make.admin(), **{"certificate-authority": None})
    with pytest.raises(Unavailable, match="certificate is not to be trusted") as caught:
        await who_am_i(system)
    assert not caught.value.maybe_committed


async def test_the_server_is_not_verified_if_the_kubeconfig_says_so(make: Maker) -> None:
    careless = {"certificate-authority": None, "insecure-skip-tls-verify": True}
    assert (await who_am_i(make(make.admin(), **careless))).username == "hibernator-admin"


@pytest.mark.parametrize(("name", "known"), [("kubernetes.default.svc", True), ("example.org", False)])
async def test_the_name_that_the_certificate_must_have_can_be_set(
    make: Maker,
    name: str,
    known: bool,  # noqa: FBT001 — a case
) -> None:
    found = make(make.admin(), **{"tls-server-name": name})
    if known:
        assert (await who_am_i(found)).username == "hibernator-admin"
    else:
        with pytest.raises(Unavailable, match="Hostname mismatch"):
            await who_am_i(found)


async def test_a_proxy_is_used_if_the_kubeconfig_names_one(make: Maker) -> None:
    async with tunnel() as (url, asked):
        assert (await who_am_i(make(make.admin(), **{"proxy-url": url}))).username == "hibernator-admin"
    assert asked == [f"CONNECT {urlsplit(make.of.url).netloc} HTTP/1.1"]


async def test_a_proxy_that_refuses_is_told_and_nothing_was_sent(make: Maker) -> None:
    async with tunnel(refuses=True) as (url, _):
        with pytest.raises(Unavailable, match="the proxy does not connect to the API server: 403") as caught:
            await who_am_i(make(make.admin(), **{"proxy-url": url}))
    assert not caught.value.maybe_committed


@pytest.mark.parametrize(
    ("server", "exempt", "proxied"),
    [
        ("https://10.1.2.3:6443", "", True),
        ("https://10.1.2.3:6443", "10.0.0.0/8,example.org", False),
        ("https://10.1.2.3:6443", "nonsense/99", True),
        ("https://api.example.org", "example.org", False),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost:6443", "", False),
    ],
)
def test_the_environment_can_name_a_proxy_and_exempt_servers_from_it(
    make: Maker,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    exempt: str,
    proxied: bool,  # noqa: FBT001 — a case
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", exempt)
    assert make({}, server=server)._proxy == ("http://proxy:3128" if proxied else None)


@pytest.mark.parametrize(
    ("user", "about", "told"),
    [
        ({"auth-provider": {"name": "gcp"}}, {}, "auth-provider.*exec"),
        ({"client-certificate": "/a"}, {}, "certificate or a client key without the other"),
        ({}, {"server": "10.0.0.1:6443"}, "server is '10.0.0.1:6443'; write an address such as https://"),
        ({}, {"proxy-url": "socks5://proxy"}, "'socks5://proxy'; only http and https"),
        ({}, {"insecure-skip-tls-verify": True}, "both insecure-skip-tls-verify and a certificate authority"),
    ],
)
def test_what_cannot_work_is_told_before_it_is_tried(
    make: Maker, user: dict[str, Any], about: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadCredentials, match=told):
        make(user, **about)


@pytest.mark.parametrize(
    ("user", "about", "told"),
    [
        ({"tokenFile": "/nowhere"}, {}, "/nowhere cannot be read: No such file"),
        ({"token": "a\nb"}, {}, "line break"),
        ({"client-certificate-data": "AAAA", "client-key-data": "AAAA"}, {}, "cannot be used"),
        ({}, {"certificate-authority": None, "certificate-authority-data": "?"}, "not base64"),
    ],
)
async def test_what_does_not_work_is_told_when_it_is_tried(
    make: Maker, user: dict[str, Any], about: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadCredentials, match=told):
        await who_am_i(make(user, **about))


@pytest.fixture
def pod(make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a pod finds its service account in."""
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "ca.crt").write_bytes(make.of.ca.read_bytes())
    (folder / "namespace").write_text("hibernator-system")
    (folder / "token").write_text(make.token("pod"))
    address = urlsplit(make.of.url)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(address.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(address.port))
    monkeypatch.setattr(credentials, "_IN_CLUSTER", folder)
    return folder


async def test_in_a_pod_its_service_account_is_used_and_its_new_tokens_too(
    pod: Path, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_LOOK_AGAIN", 0.0)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    found = find()
    assert found.namespace == "hibernator-system"
    async with Client(found) as client:
        assert (await ask_who_i_am(client)).username.endswith(":pod")
        (pod / "token").write_text(make.token("rotated"))
        assert (await ask_who_i_am(client)).username.endswith(":rotated")


def test_in_a_pod_a_kubeconfig_that_is_named_goes_first(
    pod: Path, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(make.of.kubeconfig))
    assert find().context != "in-cluster"
    monkeypatch.delenv("KUBECONFIG")
    assert find(str(make.of.kubeconfig)).context != "in-cluster"


def test_the_address_of_a_cluster_may_be_of_version_six(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    place = in_cluster(pod)
    assert place is not None
    assert place.cluster.server == "https://[fd00::1]:443"


def test_without_any_cluster_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(BadCredentials, match=r"there is no kubeconfig at .*; set KUBECONFIG"):
        find()


@asynccontextmanager
async def tunnel(*, refuses: bool = False) -> AsyncIterator[tuple[str, list[str]]]:
    """An HTTP proxy that connects to wherever it is asked to, and remembers what it was asked."""
    asked: list[str] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head.splitlines()[0])
        if refuses:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        host, port = head.split()[1].rsplit(":", 1)
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pump(reader, back), pump(there, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
