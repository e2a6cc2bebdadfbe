"""Findings that one command puts right are told together, with that command once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from hibernator.cli.doctoring.findings import Finding, Level

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
