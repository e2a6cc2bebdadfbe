"""What the API server's own type checker thinks of the policies, which it reads with our CRDs beside them."""

import json

import pytest

from hibernator.operator.manifests import POLICIES
from support.policed import Room


@pytest.mark.parametrize("name", [policy.name for policy in POLICIES])
async def test_the_type_checker_has_nothing_to_warn_of(room: Room, name: str) -> None:
    resource = f"validatingadmissionpolicy/{name}"
    room.cluster.kubectl("wait", resource, "--for=jsonpath={.status.observedGeneration}=1", "--timeout=60s")
    found = json.loads(room.cluster.kubectl("get", resource, "-o", "json").stdout)
    assert found["status"].get("typeChecking", {}).get("expressionWarnings", []) == []
