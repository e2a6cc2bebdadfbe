"""One web process of two replicas for all tests about logging in."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from support.account import web_kubeconfig, web_settles_in
from support.approving import Approving, approving
from support.chromium import SHOTS
from support.cluster import ClusterInTest
from support.slack_desk import SlackDesk, slack_desk_of
from support.webs import Webs, running_webs, web_settings


@pytest.fixture(scope="session")
async def webs(
    crds: ClusterInTest, oidc_peer: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Webs]:
    """Two replicas, before which no ingress stands, with the real provider behind them."""
    folder = tmp_path_factory.mktemp("web")
    chosen = web_settings(
        folder,
        watch_namespace=crds.create_namespace(),
        oidc_issuer=oidc_peer,
        oidc_groups_claim="groups",
        oidc_groups_prefix="sso:",
        oidc_username_claim="email",
        allowed_email_domains="company.com",
    )
    async with running_webs(crds.kubeconfig, chosen, replicas=2) as found:
        yield found


@pytest.fixture(scope="session")
async def desk(
    crds: ClusterInTest, oidc_peer: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Approving]:
    """Where people decide: an operator, and one replica that a real browser reaches."""
    namespace = crds.create_namespace("team-a" if os.environ.get(SHOTS) else "")
    account = await asyncio.to_thread(web_kubeconfig, crds.kubeconfig)
    await asyncio.to_thread(web_settles_in, crds.kubeconfig, namespace)
    folder = tmp_path_factory.mktemp("desk")
    async with approving(crds, namespace, oidc_peer, folder, web=account) as found:
        yield found


@pytest.fixture(scope="session")
async def slack_desk(
    crds: ClusterInTest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SlackDesk]:
    """Where people decide in Slack."""
    async with slack_desk_of(crds, tmp_path_factory.mktemp("slack")) as found:
        yield found
