"""In which namespaces things may be put to sleep, whatever a plan says."""

from dataclasses import dataclass
from typing import Final

from hibernator.api.core import NAMESPACES
from hibernator.api.parameters import NamespaceSelector
from hibernator.executors.protocol import Permanent
from hibernator.kube.client import Client

UNTOUCHABLE: Final = "kube-system"


@dataclass(frozen=True, slots=True)
class Reach:
    own_namespace: str  # of the operator, which would stop itself
    only_namespace: str = ""  # that it watches; empty: all of them

    def covers(self, namespace: str) -> bool:
        """Also in other clusters, of which one may be our own by another name."""
        only = self.only_namespace
        return namespace not in {self.own_namespace, UNTOUCHABLE} and (not only or namespace == only)

    async def namespaces(self, client: Client, wanted: NamespaceSelector) -> list[str]:
        names = set(wanted.literals)
        if wanted.selector:
            chosen = ",".join(f"{key}={value}" for key, value in sorted(wanted.selector.items()))
            names |= {found.metadata.name for found in await client.list(NAMESPACES, label_selector=chosen)}
        allowed = set(filter(self.covers, names))
        if wanted.literals and not allowed:
            raise Permanent(
                f"namespace: none of {', '.join(sorted(names))} may be touched: not {UNTOUCHABLE}, not the "
                "operator's own, and only the one that it watches. Name others."
            )
        return sorted(allowed)
