"""Each process of a control plane: its command line and the files that it reads.

Paths are relative to the control plane's directory, where every process runs; so the unix sockets of etcd
stay below the 108 bytes that the kernel allows, wherever the directory lies. etcd listens on nothing else:
it takes no ports, and no one but the owner of the directory can reach it.
"""

import base64
import os
from dataclasses import dataclass
from pathlib import Path

import yaml

from hibernator.controlplane import certs
from hibernator.controlplane.layout import Layout

ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KUBECTL = "kubectl"
KWOK = "kwok"

# etcd wants the form host:port even of a unix socket; the whole is the name of the socket.
_ETCD_CLIENTS = "unix://etcd:0"
_ETCD_PEERS = "unix://etcd-peers:0"

# These manage machines and load balancers of a cloud, of which there are none.
_CONTROLLERS = "*,-nodeipam,-service-lb-controller,-cloud-node-lifecycle-controller"

_WRITES = ["create", "update", "patch", "delete", "deletecollection"]


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    arguments: tuple[str, ...]


def etcd() -> Process:
    return _process(
        ETCD,
        name="default",
        data_dir="etcd-data",
        unsafe_no_fsync="true",
        listen_client_urls=_ETCD_CLIENTS,
        advertise_client_urls=_ETCD_CLIENTS,
        listen_peer_urls=_ETCD_PEERS,
        initial_advertise_peer_urls=_ETCD_PEERS,
        initial_cluster=f"default={_ETCD_PEERS}",
        # As in every cluster of kubeadm's: without it the watch of a kind to which nothing happens gets no
        # bookmark for ten minutes, and looks dead to anyone who waits for one.
        watch_progress_notify_interval="5s",
        log_level="warn",
    )


def api_server(layout: Layout, port: int) -> Process:
    return _process(
        API_SERVER,
        etcd_servers=_ETCD_CLIENTS,
        bind_address="127.0.0.1",
        # Said explicitly, because the server would look for a default route, which a machine may not have.
        advertise_address="127.0.0.1",
        secure_port=str(port),
        # Endpoints of the `kubernetes` Service may not be loopback addresses, and no one looks for them here.
        endpoint_reconciler_type="none",
        tls_cert_file=_relative(layout, layout.cert(certs.SERVER)),
        tls_private_key_file=_relative(layout, layout.key(certs.SERVER)),
        client_ca_file=_relative(layout, layout.cert(certs.CA)),
        authorization_mode="Node,RBAC",
        service_account_issuer="https://kubernetes.default.svc",
        service_account_key_file=_relative(layout, layout.key(certs.SERVICE_ACCOUNTS)),
        service_account_signing_key_file=_relative(layout, layout.key(certs.SERVICE_ACCOUNTS)),
        service_cluster_ip_range="10.96.0.0/16",
        allow_privileged="true",
        profiling="false",
        audit_policy_file=_relative(layout, layout.audit_policy),
        audit_log_path=_relative(layout, layout.audit),
        audit_log_maxsize="100000",
    )


def controller_manager(layout: Layout, *, hurried: bool) -> Process:
    # By default each controller may send 20 requests a second. That would stretch the start, where each gets
    # its token, and every wait of a test for what they do.
    rate = {"kube_api_qps": "1000", "kube_api_burst": "1000"} if hurried else {}
    return _process(
        CONTROLLER_MANAGER,
        kubeconfig=_relative(layout, _component_kubeconfig(layout, certs.CONTROLLER_MANAGER)),
        controllers=_CONTROLLERS,
        # Each controller writes in a name and with rights of its own, as in a cluster that people run.
        use_service_account_credentials="true",
        service_account_private_key_file=_relative(layout, layout.key(certs.SERVICE_ACCOUNTS)),
        root_ca_file=_relative(layout, layout.cert(certs.CA)),
        **rate,
        leader_elect="false",
        secure_port="0",
        profiling="false",
    )


def scheduler(layout: Layout) -> Process:
    return _process(
        SCHEDULER,
        kubeconfig=_relative(layout, _component_kubeconfig(layout, certs.SCHEDULER)),
        leader_elect="false",
        secure_port="0",
        profiling="false",
    )


def kwok(layout: Layout, stages: str) -> Process:
    return _process(
        KWOK,
        kubeconfig=_relative(layout, _component_kubeconfig(layout, certs.KWOK)),
        config=stages,
        manage_all_nodes="true",
    )


def write_files(layout: Layout, url: str) -> None:
    """The kubeconfigs, which name the port, and the audit policy."""
    for client in certs.CLIENTS:
        path = layout.kubeconfig if client == certs.ADMIN else _component_kubeconfig(layout, client)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(_kubeconfig(layout, client, url))
    layout.audit_policy.write_text(_audit_policy(), encoding="utf-8")


def _kubeconfig(layout: Layout, client: str, url: str) -> str:
    def embedded(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    cluster = {"server": url, "certificate-authority-data": embedded(layout.cert(certs.CA))}
    user = {
        "client-certificate-data": embedded(layout.cert(client)),
        "client-key-data": embedded(layout.key(client)),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "hibernator", "cluster": cluster}],
        "users": [{"name": client, "user": user}],
        "contexts": [{"name": "hibernator", "context": {"cluster": "hibernator", "user": client}}],
        "current-context": "hibernator",
    }
    return yaml.safe_dump(document, sort_keys=False)


def _audit_policy() -> str:
    """Every write leaves two lines: one before it is begun and one when it is answered.

    The first is what lets a reader know that a write is under way whose outcome is not yet logged.
    """
    reviews = [{"group": "authorization.k8s.io"}, {"group": "authentication.k8s.io"}]
    rules = [
        {"level": "None", "resources": reviews},  # questions, although they are asked with POST
        {"level": "Metadata", "verbs": _WRITES},
        {"level": "None"},
    ]
    return yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules})


def _component_kubeconfig(layout: Layout, client: str) -> Path:
    return layout.root / f"{client}.kubeconfig"


def _relative(layout: Layout, path: Path) -> str:
    return str(path.relative_to(layout.root))


def _process(process: str, /, **flags: str) -> Process:
    named = (f"--{flag.replace('_', '-')}={value}" for flag, value in flags.items())
    return Process(process, tuple(named))
