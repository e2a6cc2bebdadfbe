"""Where the scene plays: a control plane with all that the operator ships, the shop, and a way in for people.

People get contexts of one kubeconfig, in which the admin acts in their name. So anyone who watches can be Bob
by `--context bob`, and the API server authorizes and records Bob.
"""

import asyncio
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from hibernator.admission.policies_accounts import WEB
from hibernator.api.kind import Kind
from hibernator.api.kinds import DEFINITIONS
from hibernator.api.meta import Object
from hibernator.controlplane.cluster import Cluster
from hibernator.controlplane.ports import free_port
from hibernator.demo.scene import PEOPLE, PLAN, Scene, address
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.credentials import Credentials
from hibernator.kube.together import together
from hibernator.operator.manifests import manifests
from hibernator.operator.roles import Home, web_grants

HOME: Final = Home()
_OPERATOR: Final = "operator"
_WEB: Final = "web"
_ADMIN: Final = "admin"
_CRD: Final = "CustomResourceDefinition"
_CLUSTER_WIDE: Final = ("Namespace", _CRD)  # and whatever else names no namespace


@dataclass(frozen=True, slots=True)
class Stage:
    cluster: Cluster
    scene: Scene
    folder: Path
    port: int  # of the pages

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def env(self) -> Path:
        """What a shell reads to be in the scene."""
        return self.folder / "env"

    @property
    def database(self) -> str:
        return f"sqlite:///{self.folder}/audit.db"

    @property
    def url(self) -> str:
        """Where a browser finds the pages."""
        return f"http://localhost:{self.port}"

    def credentials(self, person: str) -> Credentials:
        return credentials.find(str(self.kubeconfig), person)

    @property
    def operator(self) -> Credentials:
        """The operator's own account, with the rights that it has in production and no others."""
        return self.credentials(_OPERATOR)

    @property
    def web(self) -> Credentials:
        """The same for the web process."""
        return self.credentials(_WEB)

    @property
    def admin(self) -> Credentials:
        return self.credentials(_ADMIN)


async def set_up(cluster: Cluster, scene: Scene, folder: Path) -> Stage:
    """Bring everything into the cluster that is there when the scene opens."""
    stage = Stage(cluster, scene, folder, free_port())
    _write_ways_in(stage)
    shipped = [*manifests(HOME), *web_grants(HOME)]
    async with Client(stage.admin) as client:
        await _create(client, _of_kind(shipped, *_CLUSTER_WIDE))
        await _create(client, _of_kind(scene.documents, "Namespace"))
        await _create(client, _others(shipped))
        await asyncio.to_thread(cluster.until_established)
        await _create(client, _others(scene.documents))
    await asyncio.to_thread(_give_token, stage)
    return stage


def _give_token(stage: Stage) -> None:
    """Let the web process be its own account by a token, for a month: it shows it to the operator, too."""
    given = stage.cluster.kubectl("create", "token", WEB, f"--namespace={HOME.namespace}", "--duration=720h")
    config = yaml.safe_load(stage.kubeconfig.read_text("utf-8"))
    web = next(user for user in config["users"] if user["name"] == _WEB)
    web["user"] = {"token": given.stdout.strip()}
    stage.kubeconfig.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


async def _create(client: Client, documents: Iterable[Mapping[str, Any]]) -> None:
    await together(client.create(kind_of(document), document) for document in documents)


def _of_kind(documents: Iterable[Mapping[str, Any]], *kinds: str) -> list[Mapping[str, Any]]:
    return [document for document in documents if document["kind"] in kinds]


def _others(documents: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [document for document in documents if document["kind"] not in _CLUSTER_WIDE]


def kind_of(document: Mapping[str, Any]) -> Kind[Object]:
    """Where an object of this document lives."""
    group, _, version = document["apiVersion"].rpartition("/")
    kind = document["kind"]
    ours = {definition.kind.kind: definition.kind.plural for definition in DEFINITIONS}
    plural = ours.get(kind) or f"{kind.lower().removesuffix('y')}{'ies' if kind.endswith('y') else 's'}"
    return Kind(Object, group, version, kind, plural, namespaced="namespace" in document["metadata"])


def _write_ways_in(stage: Stage) -> None:
    stage.kubeconfig.touch(mode=0o600)
    stage.kubeconfig.write_text(_kubeconfig(stage.cluster.kubeconfig.read_text("utf-8")), encoding="utf-8")
    folders = [Path(stage.cluster.state.kubectl).parent, Path(sys.executable).parent]
    paths = ":".join(shlex.quote(str(folder)) for folder in folders)
    stage.env.write_text(
        f"export KUBECONFIG={shlex.quote(str(stage.kubeconfig))}\n"
        f"export HIBERNATOR_DATABASE={shlex.quote(stage.database)}\n"
        f'export PATH="$PATH":{paths}\n',
        encoding="utf-8",
    )
    (stage.folder / "scene.yaml").write_text(stage.scene.text, encoding="utf-8")


def _kubeconfig(text: str) -> str:
    """The admin's kubeconfig with a context for each person, for the operator and for the web process."""
    config = yaml.safe_load(text)
    cluster, admin = config["clusters"][0], config["users"][0]["user"]
    as_whom: dict[str, dict[str, Any]] = {person: {"as": address(person)} for person in PEOPLE}
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{HOME.namespace}", "system:authenticated"]
    as_whom[_OPERATOR] = {"as": HOME.user, "as-groups": groups}
    as_whom |= {_WEB: {}, _ADMIN: {}}
    config["users"] = [{"name": name, "user": admin | more} for name, more in as_whom.items()]
    config["contexts"] = [
        {"name": name, "context": {"cluster": cluster["name"], "user": name, "namespace": PLAN[0]}}
        for name in as_whom
    ]
    config["current-context"] = _ADMIN
    return yaml.safe_dump(config, sort_keys=False)
