import pytest

from support.cluster import ClusterInTest
from support.scaler_scenes import Scene


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> Scene:
    return Scene(crds, namespace)
