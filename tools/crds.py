"""The CRDs as files, for `kubectl apply -f config/crd`."""

from hibernator.api.crd import manifest, to_yaml
from hibernator.api.kinds import Definition

HEADER = "# Made from src/hibernator/api by `make generate`; do not edit.\n"


def text(definition: Definition) -> str:
    return HEADER + to_yaml(manifest(definition))
