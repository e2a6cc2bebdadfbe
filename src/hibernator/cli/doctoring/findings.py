"""What a check says: how bad it is, what it saw, and how to put it right."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum

from whenever import Instant

from hibernator.cli.doctoring.asking import Asker
from hibernator.operator.roles import Home


class Level(StrEnum):
    OK = "ok"
    SKIP = "skip"  # it could not be looked at, which says nothing about its health
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    about: str
    level: Level
    saw: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """An installation of the operator, and the way to look at it."""

    asker: Asker
    home: Home
    database: str  # empty when nobody said where the trail is
    now: Callable[[], Instant] = Instant.now


Findings = AsyncIterator[Finding]
Check = Callable[[Patient], Findings]


def apply(home: Home) -> str:
    """The command that puts CRDs, roles, policies and the Lease right."""
    return (
        f"hibernator manifests -n {home.namespace} --service-account {home.service_account}"
        " | kubectl apply --server-side --force-conflicts -f -"
    )
