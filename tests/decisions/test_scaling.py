"""The one write that wakes a workload, and what KEDA was told."""

from typing import Any

import pytest

from decisions.scaler_seen import place
from hibernator.decisions.scaling import Horizontal, Workload, is_reached, paused_at, reachable, to_wake


def woken(replicas: int | None, **more: Any) -> Any:
    workload = Workload(place=place("deployments.apps"), replicas=0, running=0, **more)
    return to_wake(workload, replicas, "trace").body["spec"]


@pytest.mark.parametrize(
    ("replicas", "spec"),
    [(3, {"replicas": 3}), (0, {"replicas": 0}), (None, {"replicas": None})],
)
def test_it_has_the_number_that_it_had_or_again_none_of_its_own(replicas: int | None, spec: Any) -> None:
    assert woken(replicas) == spec


@pytest.mark.parametrize("replicas", [1, None])
def test_what_has_no_number_is_resumed_whatever_was_kept(replicas: int | None) -> None:
    assert woken(replicas, by_suspension=True) == {"suspend": False}
    selector = woken(replicas, by_node_selector=True)["template"]["spec"]["nodeSelector"]
    assert list(selector.values()) == [None]


@pytest.mark.parametrize(
    ("text", "replicas"),
    [("0", 0), ("2147483647", 2_147_483_647), ("21474836470", None), ("", None), ("-1", None), ("two", None)],
)
def test_what_keda_is_paused_at_is_a_number_or_nothing(text: str, replicas: int | None) -> None:
    assert paused_at(text) == replicas


HPA = Horizontal(place=place("horizontalpodautoscalers.autoscaling"), minimum=1, maximum=4)


@pytest.mark.parametrize(
    ("more", "autoscaler", "wanted", "reaches"),
    [
        ({}, None, 9, 9),
        ({}, HPA, 9, 4),
        ({}, HPA, 1, 1),
        ({}, HPA, 0, 0),
        ({"by_node_selector": True}, None, 9, 1),
        ({"by_suspension": True}, None, 0, 0),
    ],
)
def test_an_autoscaler_and_a_kind_without_a_number_set_a_limit(
    more: dict[str, Any], autoscaler: Horizontal | None, wanted: int, reaches: int
) -> None:
    workload = Workload(place=place("deployments.apps"), replicas=0, running=0, **more)
    assert reachable(workload, autoscaler, wanted) == reaches


@pytest.mark.parametrize(
    ("more", "autoscaler", "wanted", "running", "reached"),
    [
        ({}, None, 3, 3, True),
        ({}, None, 3, 4, False),
        ({}, HPA, 1, 3, True),  # it has reasons of its own
        ({}, HPA, 3, 2, False),
        ({}, HPA, 0, 1, False),
        ({}, HPA, 0, 0, True),
        ({"by_suspension": True}, None, 1, 0, True),  # awake, and nothing to do
        ({"by_suspension": True}, None, 0, 1, False),
        ({"by_node_selector": True}, None, 0, 0, True),
        ({"by_node_selector": True}, None, 1, 5, True),  # one for each node
    ],
)
def test_a_number_is_reached_when_as_many_run(
    more: dict[str, Any], autoscaler: Horizontal | None, wanted: int, running: int, *, reached: bool
) -> None:
    workload = Workload(place=place("deployments.apps"), replicas=wanted, running=running, **more)
    assert is_reached(workload, autoscaler, wanted) is reached
