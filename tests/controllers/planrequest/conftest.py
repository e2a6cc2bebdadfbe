import pytest

from support.cluster import ClusterInTest
from support.plan_scenes import PlanScene


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return PlanScene(crds, namespace)
