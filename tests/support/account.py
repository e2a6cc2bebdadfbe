"""The operator's own account in the cluster of the tests, with the roles that are shipped and no more."""

import json
from pathlib import Path

import yaml

from hibernator.admission.policies_accounts import WEB
from hibernator.api.crd import to_yaml
from hibernator.api.hibernateplan import PLANS
from hibernator.api.people import KnownBy
from hibernator.controlplane.cluster import Cluster
from hibernator.controlplane.locks import FileLock
from hibernator.operator.manifests import lease
from hibernator.operator.roles import Home, grants, roles, web_grants
from support.rights import may, until

HOME = Home()
_EXPIRATION = "24h"


def operator_kubeconfig(admin: Path) -> Path:
    """The operator's way in, beside that of the admin; where there is no cluster of ours, what was given."""
    return _kubeconfig(admin, "operator", HOME.service_account)


def web_kubeconfig(admin: Path) -> Path:
    """The same for the web process."""
    return _kubeconfig(admin, "web", WEB)


def known_by(email: str) -> KnownBy:
    """How the web process would know a person."""
    return KnownBy(issuer="https://id.company.com", subject=email, email=email, session="s-1")


def web_settles_in(admin: Path, namespace: str) -> None:
    """Give the web process in this namespace, too, what it needs at home: its Lease and who people are."""
    cluster = Cluster.at(admin.parent)
    web_kubeconfig(admin)
    if cluster is not None and namespace != HOME.namespace:
        _, role, binding, *_ = web_grants(Home(namespace))
        binding["subjects"][0]["namespace"] = HOME.namespace
        text = "---\n".join(map(to_yaml, (role, binding)))
        cluster.kubectl("apply", "--server-side", "-f", "-", input=text)
        until(lambda: may(cluster, namespace, HOME.web_user, "get", "configmaps/hibernator-roles"))


def _kubeconfig(admin: Path, name: str, account: str) -> Path:
    cluster = Cluster.at(admin.parent)
    if cluster is None or cluster.kubeconfig != admin:
        return admin
    path = admin.with_name(f"{name}.kubeconfig")
    with FileLock(admin.with_name("accounts.lock")):
        if not path.exists():
            _install(cluster)
            token = cluster.kubectl(
                "create", "token", account, f"--namespace={HOME.namespace}", f"--duration={_EXPIRATION}"
            )
            document = yaml.safe_load(admin.read_text("utf-8"))
            document["users"][0]["user"] = {"token": token.stdout.strip()}
            path.write_text(json.dumps(document), "utf-8")
    return path


def settle_in(admin: Path, namespace: str) -> None:
    """Give the operator in this namespace, too, what it needs at home: its Secret and its Lease."""
    cluster = Cluster.at(admin.parent)
    if cluster is not None and namespace != HOME.namespace:
        _, role, binding, *_ = grants(Home(namespace, HOME.service_account))
        binding["subjects"][0]["namespace"] = HOME.namespace
        for document in (role, binding):
            path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/{document['kind'].lower()}s"
            cluster.request("POST", path, document)
        until(lambda: may(cluster, namespace, HOME.user, "create", "secrets"))


def allow(cluster: Cluster, *resources: str) -> None:
    """What an administrator does so that the operator may scale a kind that its roles do not name."""
    name = f"hibernator-{resources[0]}"
    wanted = (f"--resource={resource}" for resource in resources)
    cluster.kubectl("create", "clusterrole", name, "--verb=get,list,watch,patch", *wanted)
    account = f"--serviceaccount={HOME.namespace}:{HOME.service_account}"
    cluster.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", account)
    until(lambda: may(cluster, "default", HOME.user, "watch", resources[0]))


def _install(cluster: Cluster) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME.namespace}}
    documents = (namespace, *roles(), *grants(HOME), *web_grants(HOME), lease(HOME), lease(HOME, WEB))
    cluster.kubectl("apply", "--server-side", "-f", "-", input="---\n".join(map(to_yaml, documents)))
    needed = (("create", "secrets"), ("patch", "configmaps"), ("list", "namespaces"))  # by one binding each
    until(lambda: all(may(cluster, HOME.namespace, HOME.user, *right) for right in needed))
    until(lambda: may(cluster, "default", HOME.web_user, "list", PLANS.resource))
