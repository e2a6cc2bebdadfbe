"""Two replicas of the web process, one of which leads: each person gets each mail once."""

import asyncio
from pathlib import Path

from messages.scenes import BOB
from messages.test_lives import MONDAY, PATIENCE, WISH, decide
from support.account import web_kubeconfig, web_settles_in
from support.clock import ManualClock
from support.exception_scenes import ExceptionScene, exception
from support.mailserver import mail_server
from support.operators import running
from support.plan_scenes import noop, plan
from support.posts import FROM
from support.webs import running_webs, web_settings


async def test_two_replicas_send_one_mail_also_when_the_leader_goes(
    scene: ExceptionScene, tmp_path: Path
) -> None:
    scene.apply(plan(noop("nothing"), name="dev-plan"))
    scene.apply(exception("asked", **WISH | {"approvalRequiredRoles": []}))
    kubeconfig, clock = scene.cluster.kubeconfig, ManualClock(MONDAY)
    await asyncio.to_thread(web_settles_in, kubeconfig, scene.namespace)
    async with (
        mail_server(tmp_path) as server,
        running(kubeconfig, scene.namespace, clock, **PATIENCE) as run,
    ):
        given = server.server()
        chosen = web_settings(
            tmp_path,
            oidc_issuer="https://id.company.com",
            namespace=scene.namespace,
            watch_namespace=scene.namespace,
            leader_elect=True,
            smtp_url=f"smtp://{given.user}@{given.host}:{given.port}?tls={given.tls}",
            smtp_password_file=given.password_file,
            smtp_ca_file=given.ca_file,
            mail_from=FROM,
        )
        async with running_webs(web_kubeconfig(kubeconfig), chosen, replicas=2, clock=clock) as webs:
            await run.until(lambda: server.to(BOB))
            [first] = [one for one in webs.replicas if one.manager.leading.is_set()]
            [second] = [one for one in webs.replicas if one is not first]
            first.manager.stop()
            await run.until(second.manager.leading.is_set)
            await decide(second.site.client, clock, scene, BOB, "approve")
            await run.until(lambda: len(server.to(BOB)) == 3)
    assert [one.partition(":")[0] for one in server.subjects(BOB)] == [
        "Approval needed",
        "Your decision counts",
        "Approved",
    ]
