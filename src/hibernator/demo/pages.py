"""The web process of the demo, with the demo's own log-in beside it, both on this machine only."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Final

from hibernator.controlplane.ports import free_port
from hibernator.demo.provider import DemoProvider, Party
from hibernator.demo.scene import PEOPLE, address
from hibernator.demo.stage import HOME, Stage
from hibernator.kube.clock import Clock, SystemClock
from hibernator.kube.manager import Manager
from hibernator.kube.serving import Server
from hibernator.web.app import web
from hibernator.web.oidc import CALLBACK
from hibernator.web.settings import Settings, settings

_HOST: Final = "127.0.0.1"
_CLIENT: Final = "hibernator-demo"


@asynccontextmanager
async def pages(stage: Stage, clock: Clock, manager: Manager, operator: str) -> AsyncIterator[None]:
    """Have the manager serve them. Days go by the scene's clock, log-ins by the real one."""
    real, port = SystemClock(), free_port()
    issuer = f"http://{_HOST}:{port}"
    people = {person: address(person) for person in PEOPLE}
    party = Party(_CLIENT, stage.url + CALLBACK)
    provider = DemoProvider(issuer, party, people, lambda: real.now().timestamp())
    chosen = _settings(stage, issuer, operator)
    async with web(chosen, stage.web, clock=clock, wall_clock=real) as made:
        with closing(Server(provider.app(), host=_HOST, port=port)) as login:
            manager.add("demo log-in", login.run)
            manager.add("demo pages", made.manager.run)
            yield


def _settings(stage: Stage, issuer: str, operator: str) -> Settings:
    """As in production, but for one replica, no mail, and plain HTTP, which stays on this machine."""
    keys, trail = stage.folder / "session-keys", stage.folder / "trail"
    keys.touch(mode=0o600)
    keys.write_text(secrets.token_urlsafe(48), encoding="utf-8")
    trail.write_text(stage.database, encoding="utf-8")
    return settings(
        {
            "namespace": HOME.namespace,
            "base_url": stage.url,
            "listen": f"{_HOST}:{stage.port}",
            "metrics_listen": f"{_HOST}:0",
            "leader_elect": False,
            "session_key_file": str(keys),
            "database_file": str(trail),
            "trail_url": operator,
            "oidc_issuer": issuer,
            "oidc_client_id": _CLIENT,
            "oidc_username_claim": "email",
        },
        {},
    )
