"""Documents as files, for `kubectl apply -f config/policies` and the like."""

from collections.abc import Iterable
from typing import Any

from hibernator.api.crd import to_yaml

HEADER = "# Made from src/hibernator by `make generate`; do not edit.\n"


def text(documents: Iterable[dict[str, Any]]) -> str:
    return HEADER + "---\n".join(map(to_yaml, documents))
