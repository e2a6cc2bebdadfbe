"""What a connector's Ready condition says after its credentials were tried, and when they are tried again.

Who repairs a connector looks at it meanwhile, so that one which has just failed is tried again within
seconds, and then less and less often: each pause is as long as it has been failing.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from whenever import Instant

from hibernator.api.cloudprovider import CloudProvider
from hibernator.api.k8scluster import K8SCluster
from hibernator.api.meta import Condition, Transition
from hibernator.decisions.conditions import Verdict, find, lay_over
from hibernator.decisions.journal import News, noted, spec_news

READY: Final = "Ready"
EVERY: Final = 600.0  # seconds between two tries of what works
SOONEST: Final = 5.0  # and after the first failure
SOONER: Final = 120.0  # the longest pause of what does not work
OF_SECRETS: Final = 30.0  # and of what waits for a Secret, which only our own API server is asked for

Reason = Literal[
    "Verified",
    "CloudProviderNotFound",
    "ClusterNotFound",
    "ClusterNotReady",
    "CredentialsRefused",
    "CredentialsUnusable",
    "EndpointInvalid",
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


_SECRETS: Final[frozenset[Reason]] = frozenset({"SecretForbidden", "SecretIncomplete", "SecretNotFound"})


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
        after=_pause(was, tried, now) * jitter,
    )


def _pause(was: Condition | None, tried: Tried, now: Instant) -> float:
    if tried.works:
        return EVERY
    if was is None or was.status != "False":
        return SOONEST
    failing = (now - Instant(was.last_transition_time)).total("seconds")
    return max(SOONEST, min(failing, OF_SECRETS if tried.reason in _SECRETS else SOONER))


def journaled(
    found: CloudProvider | K8SCluster,
    conditions: Sequence[Condition],
    recorded: Collection[int],
    now: Instant,
) -> tuple[Transition, ...]:
    """The journal that goes with the new conditions."""
    before = found.status
    news = (
        *spec_news(before.observed_generation, found.metadata),
        *_tried(before.conditions, conditions),
    )
    return noted(before.journal, news, recorded, now)


def _tried(before: Sequence[Condition], after: Sequence[Condition]) -> Iterator[News]:
    """Another reason is another trouble; other words for the same one are not."""
    old, new = find(before, READY), find(after, READY)
    if new is None or (old and (old.status, old.reason) == (new.status, new.reason)):
        return
    works = new.status == "True"
    yield News("ready" if works else "degraded", "" if works else new.message, {"reason": new.reason})
