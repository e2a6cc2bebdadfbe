"""A log-out ends the session itself, at every replica, for all copies of its cookie."""

from dataclasses import replace

from whenever import Instant, TimeDelta

from hibernator.api.core import LEASES
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from hibernator.web.ended import LABEL, Ended
from hibernator.web.identity import Identity
from hibernator.web.saml.replay import forget_old
from hibernator.web.sessions import LONGEST, Session
from support.clock import ManualClock
from support.cluster import ClusterInTest

NOW = Instant("2026-03-02T08:00:00Z")
ALICE = Identity("https://login.company.com", "00u1", "alice@company.com", "Alice", "alice", (), NOW)
SESSION = Session("one", ALICE, NOW, NOW)
OTHER = replace(SESSION, id="another")


async def test_what_one_replica_ended_is_over_at_the_next_look_of_another(
    cluster: ClusterInTest, namespace: str
) -> None:
    async with Client(find(str(cluster.kubeconfig))) as client:
        here, there = (Ended(client, namespace, ManualClock(str(NOW))) for _ in range(2))
        await here.end(SESSION)
        await here.end(SESSION)  # in another tab
        assert (here.has(SESSION), here.has(OTHER), there.has(SESSION)) == (True, False, False)
        for one in (here, there):
            await one.look()
            assert (one.has(SESSION), one.has(OTHER)) == (True, False)
        assert "one" not in [lease.metadata.name for lease in await client.list(LEASES, namespace)]


async def test_it_is_remembered_until_the_session_would_be_over_anyway(
    cluster: ClusterInTest, namespace: str
) -> None:
    async with Client(find(str(cluster.kubeconfig))) as client:
        clock = ManualClock(str(NOW))
        ended = Ended(client, namespace, clock)
        await clock.advance(3600)
        await ended.end(SESSION)
        await forget_old(client, namespace, NOW + LONGEST, LABEL)
        await ended.look()
        assert ended.has(SESSION)
        await forget_old(client, namespace, NOW + LONGEST + TimeDelta(seconds=2), LABEL)
        await ended.look()
        assert not ended.has(SESSION)


async def test_where_the_api_server_cannot_keep_it_this_replica_does(cluster: ClusterInTest) -> None:
    async with Client(find(str(cluster.kubeconfig))) as client:
        ended = Ended(client, "no-such-namespace", ManualClock(str(NOW)))
        await ended.end(SESSION)
        await ended.look()
        assert ended.has(SESSION)
