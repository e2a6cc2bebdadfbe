"""A scaler lets a target be that a plan has put to sleep."""

from decisions.scaler_seen import MONDAY_10, bodies, condition, deployment, seen
from hibernator.decisions.timewindowscaler import decide
from hibernator.kube.patch import encode


def test_a_target_that_a_plan_has_put_to_sleep_is_left_asleep() -> None:
    decision = decide(seen(deployment(0), {"effectiveReplicas": 5}, asleep_by="shop/nights"), MONDAY_10)
    assert (decision.first, decision.writes, decision.notices) == (None, (), ())
    ready = condition(decision, "Ready")
    assert (ready.status, ready.reason) == ("False", "TargetHibernated")
    assert ready.message == (
        'Deployment "web" is asleep by HibernatePlan shop/nights until that wakes it. '
        "To scale it before, remove its annotation hibernator.ardikabs.com/asleep-by."
    )


def test_a_target_first_seen_asleep_does_not_lend_its_zero_to_shares() -> None:
    decision = decide(seen(deployment(0), {"baselineReplicas": None}, asleep_by="shop/nights"), MONDAY_10)
    assert decision.status is not None
    assert decision.status.baseline_replicas is None


def test_a_target_that_someone_woke_by_hand_before_its_plan_is_scaled_again() -> None:
    decision = decide(seen(deployment(1), {"effectiveReplicas": 5}, asleep_by="shop/nights"), MONDAY_10)
    assert bodies(decision) == [{"spec": {"replicas": 5}}]


def test_a_number_that_a_plan_brought_back_is_no_manual_drift() -> None:
    asleep = decide(seen(deployment(0), {"effectiveReplicas": 5}, asleep_by="shop/nights"), MONDAY_10)
    assert asleep.status is not None
    woken = decide(seen(deployment(3), encode(asleep.status)), MONDAY_10)
    assert [tell.message.split(".")[0] for tell in woken.notices] == ['Scaled Deployment "web" from 3 to 5']
