"""Real processes that are killed, frozen, blocked and cut off: never two that write for one leadership."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from hibernator.api.core import LEASES
from hibernator.kube.client import Client
from hibernator.kube.election import LEASE_LOST
from support.cluster import ClusterInTest
from support.fleet import Fleet, Slot, fleet
from support.replica import LEASE

SHORT = (3.0, 2.0, 0.25)
USUAL = (15.0, 10.0, 2.0)


async def kill(_three: Fleet, leader: Slot) -> None:
    leader.send(signal.SIGKILL)


async def freeze(_three: Fleet, leader: Slot) -> None:
    leader.send(signal.SIGSTOP)


async def block_its_event_loop(_three: Fleet, leader: Slot) -> None:
    leader.send(signal.SIGUSR1)


async def cut_its_connections(_three: Fleet, leader: Slot) -> None:
    leader.wire.cut()


async def drop_its_packets(_three: Fleet, leader: Slot) -> None:
    leader.wire.hang()


async def stop(_three: Fleet, leader: Slot) -> None:
    leader.send(signal.SIGTERM)


# What is done to the leader, and the exit status that it has in the end. On a machine that is so busy that a
# leader loses its lease before anything is done to it, that is LEASE_LOST for all of them.
FAULTS = (
    (kill, -signal.SIGKILL),
    (freeze, LEASE_LOST),
    (block_its_event_loop, LEASE_LOST),
    (cut_its_connections, LEASE_LOST),
    (drop_its_packets, LEASE_LOST),
    (stop, 0),
)


async def test_three_processes_through_every_fault_never_write_for_the_same_leadership(
    cluster: ClusterInTest,
    client: Client,
    namespace: str,
    tmp_path: Path,
    tell: Callable[[str], None],
) -> None:
    recovered: dict[str, float] = {}
    async with fleet(cluster, client, namespace, tmp_path, SHORT) as three:
        for fault, status in FAULTS:
            leader = await three.progress()
            began = time.monotonic()
            await fault(three, leader)
            await three.taken_over_from(leader.identity)
            recovered[fault.__name__] = time.monotonic() - began
            # Only now, with another at work, does a frozen one go on where it was.
            leader.send(signal.SIGCONT)
            assert await leader.ended() in {status, LEASE_LOST}, leader.logs.read_text()
            leader.wire.heal()
            await three.progress()
            await leader.start()
        assert three.interleavings() == []
        for line in report(SHORT, recovered, three):
            tell(line)


async def test_a_lease_that_is_deleted_again_and_again_changes_nothing(
    cluster: ClusterInTest, client: Client, namespace: str, tmp_path: Path
) -> None:
    async with fleet(cluster, client, namespace, tmp_path, SHORT) as three:
        for _ in range(3):
            leader = await three.progress()
            await client.delete(LEASES, LEASE, namespace)
            await three.lease_held_by(leader.identity)
            await three.progress()
        assert three.interleavings() == []


async def test_with_the_usual_times_another_leads_soon_after_a_leader_was_killed(
    cluster: ClusterInTest,
    client: Client,
    namespace: str,
    tmp_path: Path,
    tell: Callable[[str], None],
) -> None:
    async with fleet(cluster, client, namespace, tmp_path, USUAL) as three:
        leader = await three.progress()
        began = time.monotonic()
        leader.send(signal.SIGKILL)
        await three.taken_over_from(leader.identity)
        recovered = time.monotonic() - began
        assert three.interleavings() == []
        for line in report(USUAL, {"kill": recovered}, three):
            tell(line)


async def test_the_second_signal_ends_a_process_that_takes_its_time_to_stop(
    cluster: ClusterInTest, client: Client, namespace: str, tmp_path: Path
) -> None:
    async with fleet(cluster, client, namespace, tmp_path, SHORT) as three:
        leader = await three.progress()
        leader.wire.hang()  # so that the reconcile under way cannot finish
        leader.send(signal.SIGTERM)
        await leader.says("stopping")
        leader.send(signal.SIGTERM)
        assert await leader.ended() == -signal.SIGTERM


def report(timing: tuple[float, float, float], recovered: Mapping[str, float], three: Fleet) -> Iterator[str]:
    duration, renew_deadline, retry = timing
    yield f"Lease of {duration:g}/{renew_deadline:g}/{retry:g} s, seconds without a leader after:"
    for fault, seconds in recovered.items():
        yield f"  {fault.replace('_', ' '):<24}{seconds:6.2f}"
    epochs = {written.epoch for written in three.witness.history}
    yield f"  {len(three.witness.history)} writes by {len(epochs)} leaders in turn, none out of turn"
