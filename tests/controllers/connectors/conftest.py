import pytest

from support.account import operator_kubeconfig
from support.aws import aws, aws_in_session, aws_server
from support.cluster import ClusterInTest
from support.connector_scenes import ConnectorScene
from support.gcp import google, project

__all__ = ["aws", "aws_in_session", "aws_server", "google", "project"]


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> ConnectorScene:
    operator_kubeconfig(crds.kubeconfig)
    return ConnectorScene(crds, namespace)
