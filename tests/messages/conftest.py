import pytest

from support.cluster import ClusterInTest
from support.exception_scenes import ExceptionScene
from support.policed import police


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> ExceptionScene:
    police(crds, namespace)
    return ExceptionScene(crds, namespace)
