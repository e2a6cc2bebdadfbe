"""What is written where it is not the replicas: autoscalers and daemon sets."""

from decisions.scaler_seen import MONDAY_10, MONDAY_18, bodies, condition, deployment, place, seen
from hibernator.decisions.scaling import Horizontal, Keda, Workload
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
    assert condition(settled, "Autoscaled").reason == "HorizontalPodAutoscaler"


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
