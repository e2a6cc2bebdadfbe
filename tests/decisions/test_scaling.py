"""The one write that wakes a workload, and what KEDA was told."""

from typing import Any

import pytest

from decisions.scaler_seen import place
from hibernator.decisions.scaling import Workload, paused_at, to_wake


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
