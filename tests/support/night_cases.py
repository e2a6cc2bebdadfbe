"""The product of all that can go wrong in a night and a morning: a pure list of numbered cases.

A case strikes one write of the operator with one fault. The numbers do not depend on how many writes a night
takes: a case whose write never comes is told apart when it is run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal, get_args

Fault = Literal[
    "lost before",  # the request never arrives, and the client does not know
    "lost after",  # it is done, and the answer is lost
    "late",  # the client gives up, and it arrives after the next pass
    "very late",  # the client gives up, and it arrives when the plan has come to rest
    "conflict",
    "error 500",
    "killed",  # the process, after the write
    "lease lost",  # no further write of this process starts
]
Strategy = Literal["Sequential", "Parallel", "DAG"]
Cache = Literal[
    "fresh",
    "of yesterday",  # another process takes over, and its watch of plans has stood still since the day before
    "one behind",  # … has missed the last write, and the watch of restore data has stood still for a day
]

FAULTS: Final[tuple[Fault, ...]] = get_args(Fault)
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)
CACHES: Final[tuple[Cache, ...]] = get_args(Cache)
WRITES: Final = 40  # more than a night and a morning of the plan in these cases take


@dataclass(frozen=True, slots=True)
class Case:
    number: int
    strategy: Strategy
    cache: Cache
    deleted: bool  # the ConfigMaps, by hand and with their finalizers, in the moment of the fault
    turned: bool  # the schedule asks for the opposite from the moment of the fault on
    fault: Fault
    write: int  # which one of the night and the morning is struck, from 1

    def __str__(self) -> str:
        deleted = ", restore data deleted by hand" if self.deleted else ""
        turned = ", plan turned round" if self.turned else ""
        return (
            f"case {self.number}: {self.strategy}, write {self.write} {self.fault}{turned}{deleted}, "
            f"cache {self.cache}"
        )


CASES: Final[Sequence[Case]] = tuple(
    Case(number, *axes)
    for number, axes in enumerate(
        product(STRATEGIES, CACHES, (False, True), (False, True), FAULTS, range(1, WRITES + 1))
    )
)
