"""The web process as administrators set it up: its own certificate, a proxy in front, a leader of several."""

import asyncio
import ssl
from pathlib import Path

import aiohttp
from structlog.testing import capture_logs
from whenever import Instant, TimeDelta

from hibernator.admission.certificates import issue
from hibernator.web.certificate import MountedCertificate
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.webs import running_webs, web_settings


def mount(folder: Path) -> bytes:
    """A new certificate, as cert-manager would mount it; the authority that signed it."""
    now = Instant.now()
    authority, certificate, key = issue(["127.0.0.1"], now - TimeDelta(hours=1), now + TimeDelta(hours=1))
    folder.mkdir(exist_ok=True)
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)
    return authority


async def get(url: str, authority: bytes, **headers: str) -> int:
    context = ssl.create_default_context(cadata=authority.decode())
    async with aiohttp.ClientSession() as session, session.get(url, ssl=context, headers=headers) as answer:
        return answer.status


async def test_pages_come_over_tls_with_the_address_that_a_proxy_of_ours_tells_from_one_leader_of_two(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    folder = tmp_path / "certificate"
    authority = mount(folder)
    chosen = web_settings(
        tmp_path,
        oidc_issuer="https://login.company.com",
        namespace=namespace,
        watch_namespace=namespace,
        certificates=str(folder),
        trusted_proxies="127.0.0.0/8",
        leader_elect=True,
    )
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    crds.request("POST", leases, {"metadata": {"name": "hibernator-web"}, "spec": {}})  # as the chart does
    async with running_webs(crds.kubeconfig, chosen, replicas=2) as webs:
        url = f"https://127.0.0.1:{webs.replicas[1].port}/"
        with capture_logs() as logs:
            assert await get(url, authority, **{"x-forwarded-for": "1.2.3.4, 203.0.113.9"}) == 200
        assert [log["address"] for log in logs if log["event"] == "request"] == ["203.0.113.9"]
        waiting = [asyncio.create_task(web.manager.leading.wait()) for web in webs.replicas]
        _, others = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            other.cancel()
        assert [web.manager.leading.is_set() for web in webs.replicas].count(True) == 1


async def test_a_certificate_that_is_replaced_is_served_from_then_on_and_a_broken_one_is_not(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    mount(tmp_path)
    mounted = MountedCertificate(tmp_path, clock)
    first = mounted.front._current
    mount(tmp_path)
    mounted._read()
    second = mounted.front._current
    assert second is not first
    (tmp_path / "tls.key").write_text("broken")
    with capture_logs() as logs:
        following = asyncio.create_task(mounted.follow())
        await clock.advance(31)
        following.cancel()
        await asyncio.wait([following])
    assert mounted.front._current is second
    assert "certificate cannot be used" in {log["event"] for log in logs}
