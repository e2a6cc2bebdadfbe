"""A room for each module: policies in force, people with their roles, and no webhook that would help."""

from collections.abc import Iterator

import pytest

from support.cluster import ClusterInTest
from support.policed import Room, make_room


@pytest.fixture(scope="module")
def room(crds: ClusterInTest) -> Iterator[Room]:
    made = make_room(crds)
    yield made
    crds.request("DELETE", f"/api/v1/namespaces/{made.namespace}")
