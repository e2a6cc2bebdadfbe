"""With `webAuthorization: rbac`, Kubernetes is asked for the verb `approve`, besides who is asked."""

from dataclasses import replace
from pathlib import Path

import pytest
from whenever import Instant

from hibernator.api.meta import Object, ObjectMeta
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.web.authorization import check
from hibernator.web.identity import Identity
from hibernator.web.refusals import RefusedError
from support.cluster import ClusterInTest
from support.rights import may, until
from support.webs import web_settings

ALICE = Identity(
    issuer="https://login.company.com",
    subject="00u1",
    email="alice@company.com",
    name="Alice",
    username="oidc:alice",
    groups=(),
    authenticated_at=Instant.from_timestamp(0),
)


async def test_somebody_whom_kubernetes_does_not_let_approve_is_told_so_by_name_or_group(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    request = Object(metadata=ObjectMeta(name="on-site", namespace=namespace))
    asked = web_settings(tmp_path, oidc_issuer="https://login.company.com")
    rbac = web_settings(tmp_path, oidc_issuer="https://login.company.com", web_authorization="rbac")
    grant = ("--verb=approve", "--resource=scheduleexceptions.hibernator.ardikabs.com", "-n", namespace)
    crds.kubectl("create", "role", "approver", *grant)
    crds.kubectl(
        *("create", "rolebinding", "approver", "--role=approver", "-n", namespace),
        *("--user=oidc:carol", "--group=sso:ops"),
    )
    until(lambda: may(crds, namespace, "oidc:carol", "approve", "scheduleexceptions"))
    async with Client(credentials.find(str(crds.kubeconfig))) as client:
        await check(client, asked, ALICE, EXCEPTIONS, request)
        await check(client, rbac, replace(ALICE, username="oidc:carol"), EXCEPTIONS, request)
        await check(client, rbac, replace(ALICE, groups=("sso:ops",)), EXCEPTIONS, request)
        with pytest.raises(RefusedError) as refused:
            await check(client, rbac, ALICE, EXCEPTIONS, request)
    assert refused.value.page.words.startswith("Kubernetes does not let oidc:alice approve on-site in test-")
