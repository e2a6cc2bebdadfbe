"""What the Helm chart and the kustomize base share with `hibernator manifests`, printed from the same tables.

Helm cannot read files outside of a chart, so the chart has its own print of them. Where they name the
operator's namespace or account, a template stands, which the chart fills in.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from hibernator.admission.policies_accounts import WEB
from hibernator.api.crd import manifest, to_yaml
from hibernator.api.kinds import DEFINITIONS
from hibernator.operator.detaching import rules
from hibernator.operator.manifests import lease, policies
from hibernator.operator.roles import Home, grants, roles, web_grants
from tools import chart_schema, dashboard, documents

FILES: Final = Path("charts/hibernator/files")

# Without spaces: YAML may break a long line at one.
_CHART: Final = Home("{{.Release.Namespace}}", "{{.Values.serviceAccount.name}}")
_KEEP: Final = {"helm.sh/resource-policy": "keep"}

_MANAGER: Final = ("config", "deployment", "networkpolicy", "services", "storage")


def outputs() -> Iterator[tuple[Path, Callable[[], str]]]:
    for definition in DEFINITIONS:
        path = FILES / "crds" / f"{definition.kind.resource}.yaml"
        yield path, partial(documents.text, _kept([manifest(definition)]))
    # Policies protect what the CRDs hold, also until the next installation: they stay as long as those.
    yield FILES / "policies.yaml", partial(documents.text, _kept(policies(_CHART)))
    yield FILES / "roles.yaml", partial(documents.text, roles())
    yield FILES / "grants.yaml", partial(documents.text, [*_bindings(_CHART), lease(_CHART)])
    yield FILES / "web.yaml", partial(documents.text, [*web_grants(_CHART), lease(_CHART, WEB)])
    yield FILES / "detach.yaml", lambda: documents.HEADER + to_yaml({"rules": list(rules())})
    yield FILES / "dashboard.json", dashboard.text
    yield Path("charts/hibernator/values.schema.json"), chart_schema.text
    yield Path("config/manager/lease.yaml"), partial(documents.text, [lease(Home())])
    yield Path("config/kustomization.yaml"), _kustomization


def _kept(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [document | {"metadata": document["metadata"] | {"annotations": _KEEP}} for document in found]


def _bindings(home: Home) -> Iterator[dict[str, Any]]:
    """All but the account itself, which the chart writes with annotations of the user's."""
    return (document for document in grants(home) if document["kind"] != "ServiceAccount")


def _kustomization() -> str:
    crds = [f"crd/{definition.kind.resource}.yaml" for definition in DEFINITIONS]
    names = {document["metadata"]["name"]: None for document in policies(Home())}
    return documents.HEADER + to_yaml(
        {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [
                "manager/namespace.yaml",
                *crds,
                "rbac/roles.yaml",
                "rbac/operator.yaml",
                *(f"policies/{name}.yaml" for name in names),
                "manager/lease.yaml",
                *(f"manager/{name}.yaml" for name in _MANAGER),
            ],
        }
    )
