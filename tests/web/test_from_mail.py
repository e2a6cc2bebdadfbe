"""The whole way: someone asks, a mail comes, its link is opened on a phone, and the request is active."""

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

from support.account import web_kubeconfig, web_settles_in
from support.approving import BOB, approving
from support.chromium import tab
from support.cluster import ClusterInTest
from support.mailserver import mail_server
from support.policed import police

if TYPE_CHECKING:
    from playwright.async_api import Browser


async def test_from_a_mail_to_an_active_exception(
    crds: ClusterInTest, oidc_peer: str, chromium: "Browser", tmp_path: Path
) -> None:
    """With the policies in force, and the web process under its own account."""
    namespace = crds.create_namespace()
    police(crds, namespace)
    await asyncio.to_thread(web_settles_in, crds.kubeconfig, namespace)
    async with mail_server(tmp_path) as server:
        given = server.server()
        settings = {
            "smtp_url": f"smtp://{given.user}@{given.host}:{given.port}?tls={given.tls}",
            "smtp_password_file": given.password_file,
            "smtp_ca_file": given.ca_file,
            "mail_from": "hibernator@company.com",
        }
        account = web_kubeconfig(crds.kubeconfig)
        async with approving(crds, namespace, oidc_peer, tmp_path, web=account, **settings) as desk:
            name = await asyncio.to_thread(desk.ask_as_a_person, BOB)
            await desk.operator.until(lambda: server.to(BOB))
            body = server.to(BOB)[0].get_body(("plain",))
            assert body
            found = re.search(r"http://localhost\S+token=\S+", body.get_content())
            assert found, body.get_content()
            async with tab(chromium, desk.webs.settings.base_url) as phone:
                await phone.open(found[0].removeprefix(desk.webs.settings.base_url), BOB)
                await phone.page.get_by_role("button", name="Approve").click()
                await phone.page.get_by_role("status").wait_for()
                assert "Approved and active" in await phone.page.get_by_role("status").inner_text()
            assert desk.status(name)["state"] == "Active"
            await desk.operator.until(lambda: len(server.to(BOB)) > 1)  # the confirmation, or the outcome
