"""A cluster of their own for the webhooks, with all that `hibernator manifests` prints and nothing besides.

Here the policies hold everywhere, the operator runs under its own account, and people have the shipped roles.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from admission.operating import operating
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import running as control_plane
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from support.cluster import ClusterInTest
from support.command import hibernator
from support.operators import Running
from support.plan_scenes import noop, plan
from support.policed import ALICE, Room, bind_people, wait_until_policed


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterInTest]:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with control_plane(tmp_path_factory.mktemp("own") / "cluster", binaries) as up:
        cluster = ClusterInTest(up.layout, up.state)
        cluster.kubectl("apply", "--server-side", "-f", "-", input=hibernator("manifests").out)
        cluster.until_established()
        yield cluster


@pytest.fixture(scope="module")
def room(installed: ClusterInTest) -> Room:
    """A namespace with Alice's plan in it."""
    made = Room(installed, installed.create_namespace())
    bind_people(made)
    wait_until_policed(installed, made.namespace)
    made(ALICE).create(plan(noop("nothing"), name="dev-plan"))
    return made


@pytest.fixture(scope="module")
async def up(room: Room) -> AsyncIterator[Running]:
    async with operating(room) as run:
        yield run
