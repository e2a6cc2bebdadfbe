"""A real helm with the chart that it renders, and the kustomize bases as kubectl builds them."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.components import KUBECTL
from hibernator.controlplane.progress import PlainReporter

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "hibernator"

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Helm:
    """helm with the cluster of these tests, or with none."""

    binary: Path
    home: Path
    kubeconfig: Path | None = None

    def __call__(self, *arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"HELM_CACHE_HOME": str(self.home), "HELM_CONFIG_HOME": str(self.home)}
        environment |= {
            "HELM_DATA_HOME": str(self.home),
            "KUBECONFIG": str(self.kubeconfig or self.home / "none"),
        }
        done = subprocess.run(
            [self.binary, *map(str, arguments)], env=environment, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    def render(self, *arguments: object, namespace: str = "hibernator-system") -> list[Document]:
        text = self("template", "hibernator", CHART, "-n", namespace, *arguments).stdout
        return [document for document in yaml.safe_load_all(text) if document]

    def refusal(self, **values: object) -> str:
        """What helm says to these values, which it must not take."""
        flags = [f"--set-json={name}={json.dumps(value)}" for name, value in values.items()]
        done = self("template", "hibernator", CHART, *flags, check=False)
        assert done.returncode != 0, "helm took them"
        return done.stderr


def one(documents: list[Document], kind: str, name: str = "hibernator") -> Document:
    found = [each for each in documents if each["kind"] == kind and each["metadata"]["name"] == name]
    assert len(found) == 1, f"{kind} {name}: {len(found)}"
    return found[0]


def key(document: Document) -> tuple[str, str]:
    return document["kind"], document["metadata"]["name"]


def plain(document: Document) -> Document:
    """Without what only helm has a use for."""
    document = json.loads(json.dumps(document))
    for metadata in (
        document["metadata"],
        document["spec"]["template"]["metadata"] if document["kind"] == "Deployment" else {},
    ):
        for name in ("helm.sh/resource-policy", "checksum/config"):
            metadata.get("annotations", {}).pop(name, None)
        if metadata.get("annotations") == {}:
            del metadata["annotations"]
    return document


def kustomize(folder: Path) -> list[Document]:
    kubectl = find_or_build([KUBECTL], PlainReporter()).paths[KUBECTL]
    done = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=True)
    return [document for document in yaml.safe_load_all(done.stdout) if document]
