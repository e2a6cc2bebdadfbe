"""The web process, under its own account, sends what the trail has."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from hibernator.api.hibernatenotification import NOTIFICATIONS
from support.account import HOME, web_kubeconfig, web_settles_in
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.notifying import EVENING, Scene, http_sink, notifying
from support.webs import running_webs, web_settings


async def status_until(scene: Scene, check: Callable[[str], bool]) -> str:
    """What the condition says, once it says so."""
    changed = asyncio.Event()
    cache = scene.notifier.cache
    cache.on_change(lambda _old, _new: changed.set())
    async with asyncio.timeout(60):
        while True:
            found = cache.get(scene.namespace, "on-call")
            said = " ".join(one.message for one in found.status.conditions) if found else ""
            if check(said):
                return said
            changed.clear()
            await changed.wait()


async def test_the_web_process_sends_what_the_trail_has_once_it_may_read_the_secret(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    kubeconfig = web_kubeconfig(crds.kubeconfig)
    web_settles_in(crds.kubeconfig, namespace)
    (tmp_path / "database").write_text(f"sqlite:///{tmp_path}/audit.db")
    clock = ManualClock(EVENING)
    arrived = asyncio.Event()
    async with http_sink() as sink, notifying(crds, namespace, tmp_path) as scene:
        sink.taken = arrived.set
        chosen = web_settings(
            tmp_path,
            oidc_issuer="https://login.company.com",
            namespace=namespace,
            watch_namespace=namespace,
            database_file=str(tmp_path / "database"),
            notification_networks="127.0.0.0/8",
        )
        async with running_webs(kubeconfig, chosen, clock=clock):
            await scene.plan()
            await scene.notification({"url": sink.url})
            await status_until(scene, bool)
            await scene.happens(scene.slept(1))
            await clock.advance(5)
            told = await status_until(scene, lambda said: "may not read" in said)
            command = (
                f"kubectl create rolebinding hibernator-notifier -n {namespace} "
                f"--clusterrole=hibernator-notifier --serviceaccount={namespace}:hibernator-web"
            )
            assert command in told
            words = command.replace(f"={namespace}:", f"={HOME.namespace}:").split()[1:]
            crds.kubectl(*words)
            while not arrived.is_set():
                await clock.advance(5)
            await status_until(scene, lambda said: "All sinks took" in said)
    assert [one["data"]["name"] for one in sink.got] == ["shop"]
    found = crds.request("GET", NOTIFICATIONS.path(namespace, "on-call"))
    assert found["status"]["state"] == "Bound"
    assert found["status"]["sinkStatuses"][0]["delivered"] == 1
