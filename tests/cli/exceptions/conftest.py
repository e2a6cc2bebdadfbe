"""A plan, and people who may do everything about exceptions to it, under the policies that are shipped."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hibernator.cli import exception_outcome
from support.cluster import ClusterInTest
from support.people import People
from support.plan_scenes import noop, plan
from support.policed import police


@pytest.fixture
def people(
    crds: ClusterInTest, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[People]:
    monkeypatch.setattr(exception_outcome, "LONGEST_SECONDS", 60.0)  # however slow this machine is
    police(crds, namespace)
    scene = People(crds, namespace)
    scene.folder = tmp_path
    scene.apply(plan(noop("nothing"), name="dev-plan"))
    with capture_logs():  # the operator runs in this process, and would write into what commands print
        yield scene
