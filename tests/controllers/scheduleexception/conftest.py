import pytest

from support.cluster import ClusterInTest
from support.exception_scenes import ExceptionScene
from support.policed import police


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> ExceptionScene:
    """With the policies in force: everybody acts in their own name, as they have to in a real cluster."""
    police(crds, namespace)
    return ExceptionScene(crds, namespace)
