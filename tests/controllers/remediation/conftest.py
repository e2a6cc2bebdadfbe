import pytest

from support.cluster import ClusterInTest
from support.remediation_scenes import RemediationScene


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> RemediationScene:
    return RemediationScene(crds, namespace)
