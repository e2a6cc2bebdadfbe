"""How much one address or one person may ask for: enough for an office, too little for a guessing machine.

Each replica counts for itself. An office has one address, and behind an ingress that is not among the trusted
proxies everybody has the ingress's. So only those who are not logged in share what their address may ask for:
an open page comes up to date by itself with each change, and no one's pages use up what others may ask for.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hibernator.kube.clock import steady

_MOST: Final = 10_000  # who is remembered at once


@dataclass(frozen=True, slots=True)
class Rate:
    burst: float
    a_second: float


@dataclass(frozen=True, slots=True)
class Rates:
    request: Rate = Rate(600, 50)  # any request: of one person, or of an address by all who are not logged in
    login: Rate = Rate(200, 5)  # log-ins from one address, begun or ended: an office opens its mail at nine
    person: Rate = Rate(20, 0.5)  # what one person decides or sends
    preview: Rate = Rate(40, 2)  # what one person tries out while they type


@dataclass(slots=True)
class Limit:
    """A bucket for each who asks, which fills with time; who was quiet longest is forgotten first."""

    rate: Rate
    monotonic: Callable[[], float] = steady
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, who: str) -> float:
        """Take one from the bucket; else how many seconds until there is one again."""
        now = self.monotonic()
        left, since = self._left.pop(who, (self.rate.burst, now))
        left = min(self.rate.burst, left + (now - since) * self.rate.a_second)
        allowed = left >= 1
        self._left[who] = (left - 1 if allowed else left, now)
        if len(self._left) > _MOST:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self.rate.a_second


class Limits:
    """The limits of one replica."""

    def __init__(self, rates: Rates | None = None, monotonic: Callable[[], float] = steady) -> None:
        rates = rates or Rates()
        self.request = Limit(rates.request, monotonic)
        self.login = Limit(rates.login, monotonic)
        self.person = Limit(rates.person, monotonic)
        self.preview = Limit(rates.preview, monotonic)
