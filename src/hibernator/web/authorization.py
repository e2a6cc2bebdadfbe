"""Whether Kubernetes lets a person approve, where the settings ask for that besides being asked."""

from typing import Any

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.kube.client import Client
from hibernator.web.identity import Identity
from hibernator.web.refusals import Page, RefusedError
from hibernator.web.settings import Settings


async def check(
    client: Client, settings: Settings, person: Identity, kind: Kind[Any], request: Object
) -> None:
    """Raise RefusedError where `webAuthorization` is `rbac` and the verb `approve` is not theirs."""
    if settings.web_authorization != "rbac":
        return
    found = request.metadata
    allowed = await client.may(
        user=person.username,
        groups=(*person.groups, "system:authenticated"),
        extra={},
        verb="approve",
        resource=kind.plural,
        group=kind.group,
        namespace=found.namespace,
        name=found.name,
    )
    if not allowed:
        words = (
            f"Kubernetes does not let {person.username} approve {found.name} in {found.namespace}. "
            "Nothing was changed."
        )
        fix = "Ask an administrator for the role hibernator-approver in that namespace."
        raise RefusedError("rbac", Page("You may not decide this", words, fix))
