import pytest

from support.cluster import ClusterInTest
from support.remediation_scenes import RemediationScene


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> RemediationScene:
    """People have the roles that are shipped and no others, and the policies are in force."""
    made = RemediationScene(crds, namespace)
    made.police()
    return made
