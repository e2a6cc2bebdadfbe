"""How many replicas run while a workload sleeps at a share, and that every question about it agrees."""

from hypothesis import given, strategies as st

from hibernator.api.timewindowscaler_v1beta1 import share
from hibernator.decisions.scaling import Keda, ObjectRef, Workload, is_asleep, to_sleep, to_wake
from hibernator.decisions.sleepmark import ASLEEP_AT, SleepMark, is_usable

PLACE = ObjectRef(resource="deployments.apps", namespace="shop", name="web", resource_version="1")
HAD = st.integers(min_value=0, max_value=10**6)
PERCENT = st.integers(min_value=0, max_value=100)


def mark(had: int, size: int) -> SleepMark:
    return SleepMark(plan="shop/nights", was={"replicas": had, ASLEEP_AT: size})


@given(had=HAD, percent=PERCENT)
def test_a_share_is_rounded_up_is_at_least_one_unless_it_is_nothing_and_never_more_than_all(
    had: int, percent: int
) -> None:
    size = share(f"{percent}%", had)
    assert 0 <= size * 100 - had * percent < 100
    assert size <= had
    assert (size == 0) == (percent == 0 or had == 0)


@given(had=HAD, size=HAD, others=HAD)
def test_what_is_put_to_sleep_sleeps_at_its_size_is_awake_above_it_and_wakes_as_it_was(
    had: int, size: int, others: int
) -> None:
    said = mark(had, size)
    workload = Workload(place=PLACE, replicas=had, running=had)
    write = to_sleep(workload, None, said)
    assert (write is None) == (had <= size)
    if write:
        assert write.body["spec"]["replicas"] == size
    assert is_asleep(Workload(place=PLACE, replicas=others, running=0), said.was) == (others <= size)
    assert to_wake(workload, had, "").body["spec"]["replicas"] == had


def test_keda_is_paused_at_the_size_and_one_that_is_not_paused_is_awake() -> None:
    workload, said = Workload(place=PLACE, replicas=10, running=10), mark(10, 2)
    write = to_sleep(workload, Keda(place=PLACE, paused_at=None), said)
    assert write
    assert write.body["metadata"]["annotations"]["autoscaling.keda.sh/paused-replicas"] == "2"
    assert is_asleep(Keda(place=PLACE, paused_at=2), said.was)
    assert not is_asleep(Keda(place=PLACE, paused_at=None), said.was)


def test_a_size_that_is_no_number_makes_a_restore_document_unusable() -> None:
    assert is_usable({"replicas": 3, ASLEEP_AT: 1})
    for wrong in ("1", -1, True, 1.5, None):
        assert not is_usable({"replicas": 3, ASLEEP_AT: wrong})
