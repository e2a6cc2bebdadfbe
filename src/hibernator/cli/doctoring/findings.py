"""What a check says: how bad it is, what it saw, and how to put it right."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Final

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
class InstalledOperator:
    """An installation of the operator, and the way to look at it."""

    asker: Asker
    home: Home
    database: str  # empty when no setting names the trail
    now: Callable[[], Instant] = Instant.now


Findings = AsyncIterator[Finding]
Check = Callable[[InstalledOperator], Findings]


def apply(home: Home) -> str:
    """The command that puts CRDs, roles, policies and the Lease right."""
    return (
        f"hibernator manifests -n {home.namespace} --service-account {home.service_account}"
        " | kubectl apply --server-side --force-conflicts -f -"
    )


_MOST_ALIKE: Final = 3


@dataclass(frozen=True, slots=True)
class Group:
    """Findings in a row that have one cause, as far as their fix shows."""

    shown: tuple[Finding, ...]
    more: int  # that are like those before
    fix: str


def one_cause(findings: Sequence[Finding]) -> Iterator[Group]:
    for fix, together in groupby(findings, _fix):
        runs = [tuple(run) for _, run in groupby(together, lambda each: (each.about, each.level))]
        for number, run in enumerate(runs, 1):
            is_last = number == len(runs)
            yield Group(run[:_MOST_ALIKE], max(0, len(run) - _MOST_ALIKE), fix if is_last else "")


def _fix(finding: Finding) -> str:
    return "" if finding.level is Level.OK else finding.fix
