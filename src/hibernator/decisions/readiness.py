"""The kinds of which there is one thing to say: whether they are ready, and if not, why."""

from collections.abc import Collection, Sequence
from typing import Final, TypeVar

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.meta import Condition, ObjectMeta, ReadyStatus
from hibernator.decisions.conditions import ConditionState, find, lay_over
from hibernator.decisions.journal import News, noted, spec_news

READY: Final = "Ready"

S = TypeVar("S", bound=ReadyStatus)


def ready_status(
    before: S, metadata: ObjectMeta, verdict: ConditionState, recorded: Collection[int], now: Instant
) -> S:
    """The status with the verdict, and a journal of what is new."""
    news = [*spec_news(before.observed_generation, metadata)]
    if is_news(before.conditions, verdict):
        said = "" if verdict.holds else verdict.message
        news.append(News("ready" if verdict.holds else "degraded", said, {"reason": verdict.reason}))
    return replace(
        before,
        observed_generation=metadata.generation,
        conditions=lay_over(before.conditions, [verdict], now=now, generation=metadata.generation),
        journal=noted(before.journal, news, recorded, now),
    )


def is_news(before: Sequence[Condition], verdict: ConditionState) -> bool:
    """Another reason is another trouble; other words for the same one are not."""
    old = find(before, verdict.type)
    return old is None or old.reason != verdict.reason
