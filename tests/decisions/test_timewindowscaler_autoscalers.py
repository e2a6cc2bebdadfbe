"""What is written where it is not the replicas: autoscalers and daemon sets."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from decisions.scaler_seen import MONDAY_10, MONDAY_18, bodies, condition, deployment, place, seen
from hibernator.decisions.scaler_mark import Before, noting_before, put_back, read_before
from hibernator.decisions.scaling import Horizontal, Keda, Workload, steps
from hibernator.decisions.timewindowscaler import decide


def hpa(minimum: int, maximum: int) -> Horizontal:
    return Horizontal(place=place("horizontalpodautoscalers.autoscaling"), minimum=minimum, maximum=maximum)


def test_under_an_hpa_its_minimum_is_moved_instead_of_the_replicas() -> None:
    decision = decide(seen(deployment(7), autoscaler=hpa(1, 10)), MONDAY_10)
    assert [(write.place.resource, write.body) for write in decision.writes] == [
        ("horizontalpodautoscalers.autoscaling", {"spec": {"minReplicas": 5}})
    ]
    settled = decide(seen(deployment(7), {"effectiveReplicas": 5}, autoscaler=hpa(5, 10)), MONDAY_10)
    assert condition(settled, "Ready").status == "True"
    autoscaled = condition(settled, "Autoscaled")
    assert (autoscaled.status, autoscaled.reason) == ("True", "HorizontalPodAutoscaler")


def test_an_hpa_whose_maximum_is_too_low_is_filled_up_and_the_condition_says_so() -> None:
    settled = decide(seen(deployment(3), {"effectiveReplicas": 5}, autoscaler=hpa(3, 3)), MONDAY_10)
    assert settled.writes == ()
    assert "maxReplicas is 3" in condition(settled, "Autoscaled").message


def test_at_zero_the_workload_itself_is_written_and_waking_takes_both() -> None:
    night = decide(seen(deployment(4), autoscaler=hpa(5, 10), defaultReplicas=0), MONDAY_18)
    assert [(write.place.resource, write.body) for write in night.writes] == [
        ("deployments.apps", {"spec": {"replicas": 0}})
    ]
    morning = decide(seen(deployment(0), autoscaler=hpa(1, 10), defaultReplicas=0), MONDAY_10)
    assert [write.place.resource for write in morning.writes] == [
        "horizontalpodautoscalers.autoscaling",
        "deployments.apps",
    ]


def test_a_keda_scaled_object_is_paused_at_the_number() -> None:
    keda = Keda(place=place("scaledobjects.keda.sh"), paused_at=None)
    decision = decide(seen(deployment(2), autoscaler=keda), MONDAY_10)
    assert bodies(decision) == [{"metadata": {"annotations": {"autoscaling.keda.sh/paused-replicas": "5"}}}]
    paused = Keda(place=place("scaledobjects.keda.sh"), paused_at=5)
    settled = decide(seen(deployment(5), {"effectiveReplicas": 5}, autoscaler=paused), MONDAY_10)
    autoscaled = condition(settled, "Autoscaled")
    assert (autoscaled.status, autoscaled.reason) == ("True", "ScaledObject")


def test_a_daemon_set_sleeps_by_a_selector_and_wakes_by_taking_it_away() -> None:
    awake = Workload(place=place("daemonsets.apps"), replicas=1, running=3, by_node_selector=True)
    night = decide(seen(awake, defaultReplicas=0), MONDAY_18)
    assert bodies(night) == [
        {"spec": {"template": {"spec": {"nodeSelector": {"hibernator.ardikabs.com/asleep": "true"}}}}}
    ]
    asleep = Workload(place=place("daemonsets.apps"), replicas=0, running=0, by_node_selector=True)
    morning = decide(seen(asleep, defaultReplicas=0), MONDAY_10)
    assert bodies(morning) == [
        {"spec": {"template": {"spec": {"nodeSelector": {"hibernator.ardikabs.com/asleep": None}}}}}
    ]


def test_fewer_than_the_schedule_asks_for_is_not_ready() -> None:
    settled = decide(seen(deployment(3), {"effectiveReplicas": 5}, autoscaler=hpa(3, 3)), MONDAY_10)
    found = condition(settled, "Ready")
    assert (found.status, found.reason) == ("False", "AutoscalerLimit")
    assert "runs with 3 of the 5 replicas" in found.message
    assert "maxReplicas of HorizontalPodAutoscaler web is 3. Raise it" in found.message


def test_at_zero_the_condition_says_where_the_zero_is() -> None:
    asleep = seen(deployment(0), {"effectiveReplicas": 0}, autoscaler=hpa(5, 10), defaultReplicas=0)
    autoscaled = condition(decide(asleep, MONDAY_18), "Autoscaled")
    assert autoscaled.status == "True"
    assert "set as spec.replicas of" in autoscaled.message
    assert "minReplicas" not in autoscaled.message


KEDA = Keda(place=place("scaledobjects.keda.sh"), paused_at=None)


@given(was=st.integers(1, 9), numbers=st.lists(st.integers(1, 9), min_size=1), maximum=st.integers(9, 20))
def test_an_hpa_is_put_back_to_what_it_was_before_the_first_scaling(
    was: int, numbers: list[int], maximum: int
) -> None:
    minimum, before = was, None
    for number in numbers:
        set_now = hpa(minimum, maximum)
        for patch in noting_before(steps(deployment(9), set_now, number), set_now, before, "hours"):
            minimum = patch.body["spec"]["minReplicas"]
            before = read_before(patch.body["metadata"]["annotations"])
    if before is None:
        assert set(numbers) == {was}
    else:
        assert put_back(hpa(minimum, maximum), before).body["spec"] == {"minReplicas": was}


@pytest.mark.parametrize("was", [None, 0, 7])
def test_keda_is_put_back_to_its_own_pause_or_to_none(was: int | None) -> None:
    keda = replace(KEDA, paused_at=was)
    (patch,) = noting_before(steps(deployment(2), keda, 5), keda, None, "hours")
    before = read_before(patch.body["metadata"]["annotations"])
    assert before is not None
    annotations = put_back(replace(KEDA, paused_at=5), before).body["metadata"]["annotations"]
    assert annotations["autoscaling.keda.sh/paused-replicas"] == (None if was is None else str(was))
    assert annotations["kyklos.io/before"] is None


def test_what_someone_else_has_set_since_is_left_alone() -> None:
    before = Before(scaler="hours", was=7, set_to=5)
    assert "spec" not in put_back(hpa(6, 10), before).body
    annotations = put_back(replace(KEDA, paused_at=6), before).body["metadata"]["annotations"]
    assert "autoscaling.keda.sh/paused-replicas" not in annotations


def test_an_hpa_whose_maximum_was_lowered_meanwhile_is_put_back_as_far_as_it_goes() -> None:
    assert put_back(hpa(2, 3), Before(scaler="hours", was=7, set_to=2)).body["spec"] == {"minReplicas": 3}


def test_an_hpa_of_which_no_one_knows_what_it_was_is_put_back_to_one() -> None:
    assert put_back(hpa(2, 9), Before(scaler="hours", was=None, set_to=2)).body["spec"] == {"minReplicas": 1}


def test_a_kind_that_cannot_be_scaled_is_not_said_to_be_missing() -> None:
    decision = decide(seen(None, unscalable="It cannot be scaled."), MONDAY_10)
    assert condition(decision, "Ready").message == "It cannot be scaled."


def test_an_autoscaler_that_has_gone_is_said_to_have() -> None:
    before = {"type": "Autoscaled", "status": "True", "reason": "ScaledObject", "message": "It was paused."}
    before |= {"lastTransitionTime": "2026-03-01T00:00:00Z"}
    gone = decide(seen(deployment(5), {"effectiveReplicas": 5, "conditions": [before]}), MONDAY_10)
    assert (condition(gone, "Autoscaled").status, condition(gone, "Autoscaled").reason) == (
        "False",
        "NoAutoscaler",
    )
