"""An installation of their own, which these tests break and mend."""

import contextlib
from collections.abc import Iterator

import pytest

from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from support.cluster import ClusterInTest
from support.installation import Installation


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    folder = tmp_path_factory.mktemp("doctor")
    with running(folder / "cluster", binaries) as up, contextlib.ExitStack() as stack:
        made = Installation(ClusterInTest(up.layout, up.state), folder)
        stack.callback(made.stop)
        made.apply()
        made.start()
        yield made
