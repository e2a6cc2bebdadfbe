"""List prices of a few common machines, for who has written no price file. Everything else goes by its cores.

AWS, Linux, on demand, in USD, for an order of magnitude. The price of a family grows with the size of the
machine, so that one number for each family and region is enough.
"""

from collections.abc import Mapping
from typing import Final

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
    """The price of an hour of `eu-central-1/m5.xlarge`, if it is in the list."""
    region, _, type_ = machine.partition("/")
    family, _, size = type_.partition(".")
    large, times = _LARGE.get(region, {}).get(family), _SIZES.get(size)
    return None if large is None or times is None else round(large * times, 6)
