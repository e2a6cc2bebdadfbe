"""All that a cluster needs besides the Deployment, in the order in which it can be applied."""

from collections.abc import Iterator
from typing import Any, Final

from hibernator.admission import (
    guard,
    policies_audit,
    policies_authors,
    policies_exceptions,
    policies_remediations,
    policies_restore,
)
from hibernator.api.core import LEASES
from hibernator.api.crd import manifest
from hibernator.api.kinds import DEFINITIONS
from hibernator.operator.app import LEASE
from hibernator.operator.roles import Home, grants, roles

POLICIES: Final = (
    policies_exceptions.REQUESTS,
    policies_exceptions.DECISIONS,
    policies_remediations.DECISIONS,
    *policies_remediations.OUTCOMES,
    policies_authors.AUTHORS,
    policies_restore.RESTORE_DATA,
    policies_audit.AUDIT_DATA,
)


def manifests(home: Home) -> Iterator[dict[str, Any]]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home.namespace}}
    yield from map(manifest, DEFINITIONS)
    yield from roles()
    yield from grants(home)
    yield from policies(home)
    yield lease(home)


def policies(home: Home) -> Iterator[dict[str, Any]]:
    """What the API server itself refuses, to everybody but the operator."""
    yield from guard.policies()
    for policy in POLICIES:
        yield from policy.documents(home.user)


def lease(home: Home) -> dict[str, Any]:
    """A Lease that nobody holds: the first replica takes it at once instead of waiting out a vacancy."""
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": LEASE, "namespace": home.namespace},
        "spec": {},
    }
