"""The web process in a test: replicas in this process, on the real API server, with people who log in."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hibernator.kube import credentials
from hibernator.kube.clock import Clock
from hibernator.web.app import Web, web
from hibernator.web.limits import Rate, Rates
from hibernator.web.settings import Settings, settings
from support.browser import Answer, Browser

BASE_URL = "https://hibernator.test"
KEYS = ("k" * 32, "l" * 44)
_PLENTY = Rates(*[Rate(100_000, 100_000)] * 4)  # all tests come from one address


@dataclass
class Webs:
    """Replicas of one web process."""

    settings: Settings
    issuer: str
    replicas: list[Web] = field(default_factory=list)

    def at(self, replica: int = 0) -> str:
        return f"http://127.0.0.1:{self.replicas[replica].port}"

    def browser(self, replica: int = 0) -> Browser:
        return Browser(self.settings.base_url, self.at(replica))

    async def log_in(self, browser: Browser, who: str, path: str = "/", /, **claims: Any) -> Answer:
        """Log in as a person does; the answer is the last page that they see."""
        back = await self.at_provider(browser, who, f"/login?next={quote(path, safe='')}", **claims)
        return await browser.follow(await browser.get(back))

    async def at_provider(self, browser: Browser, who: str, path: str = "/login", /, **claims: Any) -> str:
        """Begin to log in, prove who one is at the provider, and stop before coming back."""
        form = await browser.get(path)
        while form.status in {302, 303} and "/interaction/" not in form.url:
            form = await browser.get(form.location)
        assert form.status == 200, form.text
        done = await browser.post(form.url, {"login": who, "claims": json.dumps(claims)})
        return await browser.follow_until(done, self.settings.base_url)


def web_settings(folder: Path, **more: Any) -> Settings:
    """Settings that hold on this machine."""
    (folder / "keys").write_text("\n".join(KEYS))
    (folder / "secret").write_text("a secret with % and :\n")
    given = {
        "base_url": BASE_URL,
        "listen": "127.0.0.1:0",
        "metrics_listen": "127.0.0.1:0",
        "session_key_file": str(folder / "keys"),
        "oidc_client_id": "hibernator",
        "oidc_client_secret_file": str(folder / "secret"),
        "leader_elect": False,
    }
    return settings(given | more, {})


@asynccontextmanager
async def running_webs(
    kubeconfig: Path, chosen: Settings, *, replicas: int = 1, clock: Clock | None = None
) -> AsyncIterator[Webs]:
    """Run replicas until the block ends, and stop them as a SIGTERM would."""
    assert chosen.watch_namespace, "it would write its own link into the requests of every other test"
    found = Webs(chosen, chosen.oidc_issuer)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        for _ in range(replicas):
            made = await stack.enter_async_context(
                web(chosen, credentials.find(str(kubeconfig)), clock=clock, rates=_PLENTY)
            )
            found.replicas.append(made)
        for made in found.replicas:
            group.create_task(made.manager.run())
        try:
            for made in found.replicas:
                for cache in made.manager.caches:
                    await cache.wait_synced()
            yield found
        finally:
            for made in found.replicas:
                made.manager.stop()
