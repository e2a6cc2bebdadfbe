"""The rules of the lease, one by one. What they add up to is in `test_election_model`."""

import pytest
from whenever import Instant, TimeDelta

from hibernator.api.core import Lease, LeaseSpec, micro_time
from hibernator.api.meta import ObjectMeta
from hibernator.kube.lease import Candidacy, Create, Take, Timing, Wait, went_back

NOW = Instant.from_utc(2026, 3, 2)
TIMING = Timing(duration=15, renew_deadline=10, retry=2)


def lease(
    version: int,
    holder: str | None = "other",
    *,
    duration: int | None = 15,
    transitions: int = 3,
    uid: str = "u",
    renewed: Instant | None = None,
) -> Lease:
    return Lease(
        metadata=ObjectMeta(uid=uid, resource_version=str(version)),
        spec=LeaseSpec(
            holder_identity=holder,
            lease_duration_seconds=duration,
            lease_transitions=transitions,
            renew_time=micro_time(renewed.to_stdlib()) if renewed else None,
        ),
    )


@pytest.fixture
def me() -> Candidacy:
    return Candidacy("me", TIMING)


def test_a_held_lease_is_taken_once_it_has_stayed_as_it_is_for_its_whole_duration(me: Candidacy) -> None:
    me.saw(lease(1), now=100)
    me.saw(lease(1), now=114)
    assert me.next(114.9, NOW) == Wait()
    step = me.next(115, NOW)
    assert isinstance(step, Take)
    assert step.resource_version == "1"
    assert (step.spec["holderIdentity"], step.spec["leaseTransitions"]) == ("me", 4)


@pytest.mark.parametrize("renewed", [lease(2), lease(1, uid="another")], ids=["renewed", "made anew"])
def test_whatever_happens_to_a_lease_starts_the_wait_anew(me: Candidacy, renewed: Lease) -> None:
    me.saw(lease(1), now=100)
    me.saw(renewed, now=110)
    assert me.next(115, NOW) == Wait()
    assert isinstance(me.next(125, NOW), Take)


def test_a_holder_that_asked_for_more_time_gets_it(me: Candidacy) -> None:
    me.saw(lease(1, duration=60), now=100)
    assert me.next(159, NOW) == Wait()
    assert isinstance(me.next(160, NOW), Take)


def test_a_holder_with_less_time_than_ours_gets_ours(me: Candidacy) -> None:
    me.saw(lease(1, duration=1), now=100)
    assert me.next(114, NOW) == Wait()


@pytest.mark.parametrize("holder", ["", None])
def test_a_lease_without_holder_and_duration_is_free_at_once(me: Candidacy, holder: str | None) -> None:
    me.saw(lease(1, holder, duration=None), now=100)
    assert isinstance(me.next(100, NOW), Take)


def test_a_lease_is_relied_upon_from_the_beginning_of_the_request_that_renewed_it(me: Candidacy) -> None:
    me.won(lease(1, "me"), asked=100)
    assert (me.relied_upon_until, me.over_at) == (110, 114)


def test_no_one_relies_on_a_lease_that_was_never_won(me: Candidacy) -> None:
    me.saw(lease(1, "me"), now=100)
    assert me.relied_upon_until < 0


def test_a_lease_won_by_a_request_whose_answer_was_lost_is_renewed_as_our_own(me: Candidacy) -> None:
    me.saw(lease(1, "me"), now=100)
    step = me.next(100, NOW)
    assert isinstance(step, Take)
    assert "leaseTransitions" not in step.spec


def test_a_candidate_that_finds_no_lease_makes_a_vacancy_and_waits_it_out(me: Candidacy) -> None:
    me.saw(None, now=100)
    step = me.next(1_000, NOW)
    assert isinstance(step, Create)
    assert not step.ours
    assert (step.spec["holderIdentity"], step.spec["leaseDurationSeconds"]) == ("", 15)
    me.saw(lease(1, "", duration=15), now=1_000)
    assert me.next(1_014, NOW) == Wait()
    assert isinstance(me.next(1_015, NOW), Take)


def test_a_holder_that_finds_its_lease_gone_makes_it_again_for_the_same_leadership(me: Candidacy) -> None:
    me.won(lease(1, "me", transitions=7), asked=100)
    me.saw(None, now=103)
    step = me.next(103, NOW)
    assert isinstance(step, Create)
    assert step.ours
    assert (step.spec["holderIdentity"], step.spec["leaseTransitions"]) == ("me", 7)


def test_a_holder_takes_a_vacancy_back_while_it_relies_on_its_lease_and_not_after(me: Candidacy) -> None:
    me.won(lease(1, "me", transitions=7), asked=100)
    me.saw(lease(2, "", duration=15, transitions=7, uid="v"), now=105)
    assert isinstance(me.next(109, NOW), Take)
    assert me.next(110, NOW) == Wait()


def test_a_release_leaves_a_lease_that_is_free_at_once_and_only_our_own(me: Candidacy) -> None:
    me.saw(lease(1), now=100)
    assert me.release(100, NOW) is None
    me.won(lease(2, "me"), asked=100)
    assert me.release(114, NOW) is None
    step = me.release(105, NOW)
    assert step
    assert (step.spec["holderIdentity"], step.spec["leaseDurationSeconds"]) == ("", None)
    assert step.resource_version == "2"


@pytest.mark.parametrize(
    ("duration", "deadline", "retry"), [(10, 10, 2), (15, 10, 5), (15, 10, 0), (5, 10, 2)]
)
def test_times_that_cannot_work_are_refused_with_those_that_do(
    duration: float, deadline: float, retry: float
) -> None:
    with pytest.raises(ValueError, match="use 15, 10 and 2 seconds"):
        Timing(duration, deadline, retry)


@pytest.mark.parametrize("timing", [Timing(), Timing(60, 40, 5), Timing(3, 2, 0.25)])
def test_a_write_of_the_last_moment_is_over_before_another_can_lead(timing: Timing) -> None:
    me = Candidacy("me", timing)
    me.won(lease(1, "me"), asked=100)
    assert me.relied_upon_until < me.over_at < 100 + timing.duration


def test_when_the_last_holder_left_is_known_for_as_long_as_the_lease_is_held(me: Candidacy) -> None:
    me.saw(lease(1, renewed=NOW), now=100)
    me.won(lease(2, "me", renewed=NOW + TimeDelta(seconds=15)), asked=115)
    assert me.left_at == NOW
    me.won(lease(3, "me", renewed=NOW + TimeDelta(seconds=17)), asked=117)
    assert me.left_at == NOW


def test_no_one_left_a_lease_that_no_one_had(me: Candidacy) -> None:
    me.saw(lease(1, None), now=100)
    me.won(lease(2, "me", renewed=NOW), asked=115)
    assert me.left_at is None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, lease(5), False),
        (lease(5), None, False),  # somebody may have deleted it
        (lease(5), lease(5), False),
        (lease(5), lease(9), False),
        (lease(5), lease(9, uid="another"), False),
        (lease(5), lease(4), True),
        (lease(5), lease(4, uid="another"), True),
    ],
)
def test_a_version_that_became_smaller_proves_that_the_api_server_was_set_back(
    before: Lease | None, after: Lease | None, *, expected: bool
) -> None:
    assert went_back(before, after) == expected
