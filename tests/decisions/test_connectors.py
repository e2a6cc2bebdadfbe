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


AWAY = Tried("Unreachable", "AWS did not answer.")


@pytest.mark.parametrize(("tried", "seconds"), [(WORKS, 660.0), (BROKEN, 5.5), (AWAY, 5.5)])
def test_what_has_just_failed_is_tried_again_within_seconds(tried: Tried, seconds: float) -> None:
    assert decide((), tried, generation=1, now=NOW, jitter=1.1).after == pytest.approx(seconds)


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
    first = decide((), tried, generation=1, now=NOW, jitter=1.0)
    later = NOW + TimeDelta(seconds=failing)
    assert decide(first.conditions, tried, generation=1, now=later, jitter=1.0).after == seconds


def test_what_worked_for_long_and_fails_now_is_tried_again_at_once() -> None:
    worked = decide((), WORKS, generation=1, now=NOW, jitter=1.0)
    later = NOW + TimeDelta(hours=5)
    assert decide(worked.conditions, AWAY, generation=1, now=later, jitter=1.0).after == 5
