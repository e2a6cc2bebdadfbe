"""All that a cluster needs besides the Deployment, in the order in which it can be applied."""

from collections.abc import Iterator
from typing import Any, Final

from hibernator.admission import (
    policies_accounts,
    policies_authors,
    policies_configmaps,
    policies_exceptions,
    policies_patches,
    policies_remediations,
    policies_v1beta1,
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
    *policies_accounts.OPERATOR,
    policies_accounts.DELIVERY_DATA,
    policies_accounts.DELIVERY_STATUS,
    policies_accounts.REQUEST_DATA,
    policies_accounts.REQUEST_STATUS,
    policies_accounts.LEASES_OF_THE_WEB,
    policies_authors.AUTHORS,
    policies_patches.PATCHES,
    policies_configmaps.RESTORE_DATA,
    policies_configmaps.AUDIT_DATA,
)


def manifests(home: Home) -> Iterator[dict[str, Any]]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home.namespace}}
    yield from map(manifest, DEFINITIONS)
    yield from roles()
    yield from grants(home)
    yield from policies(home)
    yield lease(home)


def policies(home: Home) -> Iterator[dict[str, Any]]:
    """What the API server itself refuses, to everyone but the operator."""
    yield from policies_v1beta1.policies()
    for policy in POLICIES:
        yield from policy.documents(home.user, home.web_user)


def lease(home: Home, name: str = LEASE) -> dict[str, Any]:
    """A Lease that no one holds: the first replica takes it at once instead of waiting out a vacancy."""
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": name, "namespace": home.namespace},
        "spec": {},
    }
