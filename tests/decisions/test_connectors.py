"""What the Ready condition of a connector says, and when it is looked at again."""

import pytest
from whenever import Instant, TimeDelta

from hibernator.decisions.connectors import READY, Tried, decide

NOW = Instant("2026-03-02T08:00:00Z")
WORKS = Tried("Verified", "AWS knows the operator as x.")
BROKEN = Tried("SecretNotFound", "There is no Secret keys.")


def test_the_first_try_is_news_either_way() -> None:
    for tried, status, tell in ((WORKS, "True", "Normal"), (BROKEN, "False", "Warning")):
        decision = decide((), tried, generation=3, now=NOW, jitter=1.0)
        (condition,) = decision.conditions
        assert (condition.type, condition.status, condition.reason) == (READY, status, tried.reason)
        assert condition.observed_generation == 3
        assert decision.tell == tell


def test_the_same_again_is_no_news_and_moves_no_time() -> None:
    first = decide((), WORKS, generation=1, now=NOW, jitter=1.0)
    again = decide(first.conditions, WORKS, generation=1, now=NOW + TimeDelta(hours=1), jitter=1.0)
    assert again.conditions == first.conditions
    assert again.tell is None


def test_another_reason_is_news_though_it_works_no_better() -> None:
    first = decide((), BROKEN, generation=1, now=NOW, jitter=1.0)
    other = Tried("SecretIncomplete", "The Secret keys has no key.json.")
    again = decide(first.conditions, other, generation=1, now=NOW + TimeDelta(hours=1), jitter=1.0)
    assert again.tell == "Warning"
    assert again.conditions[0].last_transition_time == first.conditions[0].last_transition_time


@pytest.mark.parametrize(("tried", "seconds"), [(WORKS, 660.0), (BROKEN, 132.0)])
def test_what_does_not_work_is_tried_again_sooner(tried: Tried, seconds: float) -> None:
    assert decide((), tried, generation=1, now=NOW, jitter=1.1).after == pytest.approx(seconds)
