"""What a connector's Ready condition says after its credentials were tried, and when they are tried again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from whenever import Instant

from hibernator.api.meta import Condition
from hibernator.decisions.conditions import Verdict, find, lay_over

READY: Final = "Ready"
EVERY: Final = 600.0  # seconds between two tries of what works
SOONER: Final = 120.0  # and of what does not: somebody is probably repairing it

Reason = Literal[
    "Verified",
    "CloudProviderNotFound",
    "ClusterNotFound",
    "ClusterNotReady",
    "CredentialsRefused",
    "CredentialsUnusable",
    "EndpointNotTrusted",
    "K8SClusterNotFound",
    "NotAllowed",
    "Refused",
    "SecretForbidden",
    "SecretIncomplete",
    "SecretNotFound",
    "Unreachable",
    "WrongAccount",
    "WrongType",
]


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of it."""

    reason: Reason
    message: str

    @property
    def works(self) -> bool:
        return self.reason == "Verified"


@dataclass(frozen=True, slots=True)
class Decision:
    conditions: tuple[Condition, ...]
    tell: Literal["Normal", "Warning"] | None  # the event with the same reason and message, if it is news
    after: float


def decide(
    before: Sequence[Condition], tried: Tried, *, generation: int, now: Instant, jitter: float
) -> Decision:
    """`jitter` is around 1, and spreads the tries of many connectors."""
    verdict = Verdict(READY, tried.works, tried.reason, tried.message)
    was = find(before, READY)
    news = was is None or was.reason != tried.reason
    return Decision(
        conditions=lay_over(before, [verdict], now=now, generation=generation),
        tell=("Normal" if tried.works else "Warning") if news else None,
        after=(EVERY if tried.works else SOONER) * jitter,
    )
