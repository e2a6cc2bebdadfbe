"""What an hour costs, from a price file or by default, and what an amount of savings is worth by it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hibernator.api.problem import Problem
from hibernator.api.structural import guess
from hibernator.decisions.savings import CLOUD, NODES, WORKLOADS, Amount

_HOUR: Final = 3600
_TYPES: Final = frozenset({WORKLOADS, *NODES, *CLOUD})
# The names that OpenCost gives to the same things in its custom pricing.
_OPENCOST: Final = {"CPU": "cpu", "RAM": "memory"}
_CSV: Final = ("Region", "AssetClass", "InstanceType", "MarketPriceHourly")
_NUMBERS: Final = ("cpu", "memory")
# AWS, Linux, on demand, in USD, for an order of magnitude. The price of a family grows with the size of the
# machine, so one number for each family and region is enough. Everything else is priced by its cores.
LISTED: Final = "AWS's list price, approximately"
_LARGE: Final[Mapping[str, Mapping[str, float]]] = {  # an hour of the size `large`
    "us-east-1": {"t3": 0.0832, "m5": 0.096, "c5": 0.085, "r5": 0.126},
    "eu-central-1": {"t3": 0.096, "m5": 0.115, "c5": 0.097, "r5": 0.152},
}
_SIZES: Final[Mapping[str, float]] = {
    "nano": 1 / 16,
    "micro": 1 / 8,
    "small": 1 / 4,
    "medium": 1 / 2,
    "large": 1,
    "xlarge": 2,
    **{f"{number}xlarge": 2 * number for number in (2, 4, 8, 9, 12, 16, 18, 24)},
}


def listed(machine: str) -> float | None:
    """The list price of an hour of `eu-central-1/m5.xlarge`, if there is one."""
    region, _, type_ = machine.partition("/")
    family, _, size = type_.partition(".")
    large, times = _LARGE.get(region, {}).get(family), _SIZES.get(size)
    return None if large is None or times is None else round(large * times, 6)


@dataclass(frozen=True, slots=True)
class Prices:
    """Of an hour. The defaults are those that OpenCost uses where it knows no others."""

    cpu: float = 0.031611  # of a core
    memory: float = 0.004237  # of a GiB
    currency: str = "USD"
    hourly: Mapping[str, float] = field(default_factory=dict)  # of one thing, by type of target
    machines: Mapping[str, float] = field(default_factory=dict)  # by type, or by region and type
    lists: bool = True  # whether list prices count: not beside a file, which may be in another currency

    def machine(self, name: str) -> float | None:
        """The price of `eu-central-1/m5.large`: that of the region comes first."""
        own = self.machines.get(name, self.machines.get(name.partition("/")[2]))
        return listed(name) if own is None and self.lists else own

    def worth(self, type_: str, amount: Amount) -> float:
        """By the price of each machine; then of the type of target; then of cores and memory."""
        known = {name: price for name in amount.machines if (price := self.machine(name)) is not None}
        by_name = sum(price * amount.machines[name] for name, price in known.items()) / _HOUR
        whole = sum(amount.machines.values())
        rest = 1.0 if not whole else 1.0 - sum(amount.machines[name] for name in known) / whole
        return by_name + rest * self._by_type(type_, amount) if rest else by_name

    def _by_type(self, type_: str, amount: Amount) -> float:
        if (price := self.hourly.get(type_)) is not None:
            return price * (amount.nodes if type_ in NODES else amount.items) / _HOUR
        return self.cpu * amount.millicores / 1000 / _HOUR + self.memory * amount.mebibytes / 1024 / _HOUR


def read_prices(document: Any) -> tuple[Prices, list[Problem]]:
    """From our own fields, or from OpenCost's custom pricing, whose other prices are not needed here."""
    if not isinstance(document, dict):
        return Prices(), [
            Problem("", document, "this is no price file", "Write cpu: 0.03 and memory: 0.004, for example.")
        ]
    of_opencost = any(name in document for name in _OPENCOST)
    problems: list[Problem] = []
    found: dict[str, Any] = {}
    for name, value in document.items():
        ours = _OPENCOST.get(name, name)
        if ours in _NUMBERS:
            found[ours] = _number(name, value, problems)
        elif name == "currency":
            found[name] = str(value)
        elif name == "hourly" and isinstance(value, dict):
            found[name] = {type_: _hourly(type_, price, problems) for type_, price in value.items()}
        elif name == "machines" and isinstance(value, dict):
            found[name] = {
                str(one): _number(f"machines.{one}", price, problems) for one, price in value.items()
            }
        elif not of_opencost:
            problems.append(_unknown(name, value))
    return Prices(**found, lists=False), problems


def read_csv(rows: Iterable[Mapping[str, str]]) -> tuple[Prices, list[Problem]]:
    """From OpenCost's CSV, in which a line is the price of a kind of node: the columns that are needed."""
    machines: dict[str, float] = {}
    problems: list[Problem] = []
    for number, row in enumerate(rows, 2):
        if missing := [column for column in _CSV if row.get(column) is None]:
            fix = f"OpenCost's CSV has the columns {', '.join(_CSV)} and others."
            return Prices(), [Problem(f"line {number}", None, f"it has no {missing[0]}", fix)]
        if row["AssetClass"].strip().lower() == "node" and (type_ := row["InstanceType"].strip()):
            price = _number(f"line {number}", row["MarketPriceHourly"].strip(), problems)
            region = row["Region"].strip()
            machines[f"{region}/{type_}" if region else type_] = price
    if not machines and not problems:
        fix = f"Give OpenCost's CSV, with the columns {', '.join(_CSV)} and a line for each kind of node."
        return Prices(), [Problem("", None, "it has no price of a node", fix)]
    return Prices(machines=machines, lists=False), problems


def _hourly(type_: str, price: Any, problems: list[Problem]) -> float:
    if type_ not in _TYPES:
        meant = guess(str(type_), _TYPES)
        fix = f"Did you mean {meant}?" if meant else f"Write one of {', '.join(sorted(_TYPES))}."
        problems.append(Problem(f"hourly.{type_}", None, "there is no such type of target", fix))
    return _number(f"hourly.{type_}", price, problems)


def _number(path: str, value: Any, problems: list[Problem]) -> float:
    try:
        price = float(value)
    except (TypeError, ValueError):
        price = -1.0
    if not 0 <= price < float("inf"):
        problems.append(Problem(path, value, "this is no price", "Write a number of at least 0."))
        return 0.0
    return price


def _unknown(name: str, value: Any) -> Problem:
    known = (*_NUMBERS, "currency", "hourly", "machines")
    meant = guess(str(name), known)
    fix = f"Did you mean {meant}?" if meant else f"Write {', '.join(known)}."
    return Problem(str(name), value, "a price file has no such field", fix)
