"""A real browser: Debian's Chromium, driven by Playwright, one for all tests of a worker."""

import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.peers import peers_folder

if TYPE_CHECKING:  # it takes a while to import, and most tests need no browser
    from playwright.async_api import Browser, Page

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
    "locale": "en-GB",
    "timezone_id": "Asia/Jakarta",
}
SHOTS = "HIBERNATOR_SCREENSHOTS"  # a folder for the pictures of the guides; without it none are kept
_DOCS = Path(__file__).parents[2] / "docs"
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@cache
def _guides() -> str:
    return "".join(page.read_text("utf-8") for page in _DOCS.glob("**/*.md"))


@pytest.fixture(scope="session")
async def chromium() -> AsyncIterator["Browser"]:
    from playwright.async_api import async_playwright

    program = shutil.which("chromium")
    if program is None:
        pytest.fail("Chromium is not installed: apt-get install -y --no-install-recommends chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=_FLAGS)
        yield browser
        await browser.close()


@dataclass
class Tab:
    """A page in a browser, and what it did besides."""

    page: "Page"
    base_url: str
    asked: list[str] = field(default_factory=list)  # the addresses of all its requests
    complaints: list[str] = field(default_factory=list)  # of the console: what its policy forbade, for one

    async def open(self, path: str, who: str = "", name: str = "Bob Marsh") -> None:
        """Open a page of ours, and log in on the way if asked for."""
        await self.page.goto(self.base_url + path)
        if who:
            await self.prove(who, name=name)

    async def prove(self, who: str, **claims: Any) -> None:
        """Say at the provider who one is, and come back."""
        async with self.page.expect_navigation(url=f"{self.base_url}/**"):
            await self.page.get_by_label("Who are you?").fill(who)
            await self.page.get_by_label("Claims").fill(json.dumps(claims))
            await self.page.get_by_role("button", name="Log in").click()

    async def faults(self) -> list[str]:
        """What axe finds wrong with the page; it comes in past the page's own policy."""
        source = (peers_folder() / "node_modules" / "axe-core" / "axe.min.js").read_text()
        await self.page.evaluate(source)
        found = await self.page.evaluate("axe.run(document)")
        return [
            f"{one['id']}: {one['help']} at {node['target']}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    async def picture(self, name: str) -> None:
        """Keep a picture of the page where a guide shows it, and somebody asked for pictures."""
        if (folder := os.environ.get(SHOTS)) and f"images/{name}.png" in _guides():
            await self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@asynccontextmanager
async def tab(chromium: "Browser", base_url: str, **how: Any) -> AsyncIterator[Tab]:
    """A tab with cookies of its own, on a phone unless said otherwise."""
    context = await chromium.new_context(**(PHONE | how))
    try:
        found = Tab(await context.new_page(), base_url)
        found.page.on("request", lambda request: found.asked.append(request.url))
        found.page.on("console", lambda said: found.complaints.append(said.text))
        yield found
    finally:
        await context.close()
