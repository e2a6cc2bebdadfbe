import pytest

from support.cluster import ClusterInTest
from support.exception_scenes import ExceptionScene


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> ExceptionScene:
    return ExceptionScene(crds, namespace)
