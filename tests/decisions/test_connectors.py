"""What the Ready condition of a connector says, and when it is looked at again."""

from typing import Any

import msgspec
import pytest
from whenever import Instant, TimeDelta

from hibernator.api.cloudprovider import CloudProvider
from hibernator.api.meta import Condition
from hibernator.decisions.connectors import Decision, Seen, Tried, decide
from hibernator.decisions.readiness import READY

NOW = Instant("2026-03-02T08:00:00Z")
WORKS = Tried("Verified", "AWS knows the operator as x.")
BROKEN = Tried("SecretNotFound", "There is no Secret keys.")


def look(
    tried: Tried,
    conditions: tuple[Condition, ...] = (),
    *,
    now: Instant = NOW,
    generation: int = 1,
    **more: Any,
) -> Decision:
    found = msgspec.convert(
        {
            "metadata": {"name": "cloud", "uid": "u", "generation": generation},
            "spec": {"type": "gcp", "gcp": {"project": "shop", "auth": {}}},
            "status": {"observedGeneration": 1} if conditions else {},
        },
        CloudProvider,
    )
    status = msgspec.structs.replace(found.status, conditions=conditions)
    return decide(Seen(msgspec.structs.replace(found, status=status), tried, **more), now)


def told(decision: Decision) -> list[str]:
    return [one.type for one in decision.status.journal]


def test_the_first_try_is_news_either_way() -> None:
    for tried, status, tell in ((WORKS, "True", "Normal"), (BROKEN, "False", "Warning")):
        decision = look(tried, generation=3)
        (condition,) = decision.status.conditions
        assert (condition.type, condition.status, condition.reason) == (READY, status, tried.reason)
        assert condition.observed_generation == 3
        assert [(one.type, one.reason) for one in decision.notices] == [(tell, tried.reason)]
        assert told(decision) == ["created", "ready" if tried.works else "degraded"]


def test_the_same_again_is_no_news_and_moves_no_time() -> None:
    first = look(WORKS)
    again = look(WORKS, first.status.conditions, now=NOW + TimeDelta(hours=1))
    assert again.status.conditions == first.status.conditions
    assert again.notices == ()
    assert told(again) == []


def test_another_reason_is_news_though_it_works_no_better() -> None:
    first = look(BROKEN)
    other = Tried("SecretIncomplete", "The Secret keys has no key.json.")
    again = look(other, first.status.conditions, now=NOW + TimeDelta(hours=1))
    assert [one.type for one in again.notices] == ["Warning"]
    assert told(again) == ["degraded"]
    assert again.status.conditions[0].last_transition_time == first.status.conditions[0].last_transition_time


AWAY = Tried("Unreachable", "AWS did not answer.")


@pytest.mark.parametrize(("tried", "seconds"), [(WORKS, 660.0), (BROKEN, 5.5), (AWAY, 5.5)])
def test_what_has_just_failed_is_tried_again_within_seconds(tried: Tried, seconds: float) -> None:
    assert look(tried, jitter=1.1).after == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("tried", "failing", "seconds"),
    [
        (BROKEN, 1, 5),
        (BROKEN, 20, 20),
        (BROKEN, 86_400, 30),
        (AWAY, 20, 20),
        (AWAY, 86_400, 120),
        (AWAY, -3600, 5),  # the clock was set back
    ],
)
def test_each_pause_is_as_long_as_it_has_been_failing_up_to_a_limit(
    tried: Tried, failing: int, seconds: int
) -> None:
    first = look(tried)
    later = NOW + TimeDelta(seconds=failing)
    assert look(tried, first.status.conditions, now=later).after == seconds


def test_what_worked_for_long_and_fails_now_is_tried_again_at_once() -> None:
    worked = look(WORKS)
    later = NOW + TimeDelta(hours=5)
    assert look(AWAY, worked.status.conditions, now=later).after == 5
