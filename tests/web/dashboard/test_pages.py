"""The pages of the dashboard in a real browser: what they show, in light and dark, wide and small."""

import re
from typing import TYPE_CHECKING, Any

import pytest

from support.approving import ALICE
from support.chromium import tab
from support.showing import Showing

if TYPE_CHECKING:
    from playwright.async_api import Browser

WIDE: dict[str, Any] = {
    "viewport": {"width": 1440, "height": 900},
    "device_scale_factor": 1,
    "is_mobile": False,
    "has_touch": False,
}
PAGES = {
    "overview": "/",
    "plans": "/plans",
    "plan": "/plans/{}/shop-nights",
    "suspended": "/plans/{}/lab",
    "scalers": "/scalers",
    "scaler": "/scalers/{}/front-hours",
    "exceptions": "/exceptions",
    "calendar": "/exceptions/calendar",
    "remediations": "/remediations",
    "audit": "/audit",
    "story": "/audit?kind=ScheduleException&namespace={}&name=release-shop",
}

CUT = "[...document.querySelectorAll('.card')].filter(o => o.scrollWidth > o.clientWidth).map(o => o.id)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["phone", "wide"])
async def test_every_page_can_be_read(scene: Showing, chromium: "Browser", scheme: str, size: str) -> None:
    how = {"color_scheme": scheme} | (WIDE if size == "wide" else {})
    async with tab(chromium, scene.desk.webs.settings.base_url, **how) as found:
        await found.open("/plans", ALICE, "Alice Tran")
        faults = []
        for name, path in PAGES.items():
            await found.open(path.format(scene.namespace))
            await found.picture(f"dashboard-{name}-{size}-{scheme}")
            faults += [f"{name}: {fault}" for fault in await found.faults()]
            width = await found.page.evaluate("document.documentElement.scrollWidth")
            if width != (390 if size == "phone" else 1440):
                faults.append(f"{name}: it is {width} wide")
            if size == "wide" and scheme == "light":  # and on what is between the two
                await found.page.set_viewport_size({"width": 768, "height": 900})
                faults += [f"{name}: {cut} is cut" for cut in await found.page.evaluate(CUT)]
                await found.page.set_viewport_size(WIDE["viewport"])
            assert "taken" not in await found.page.title(), name
        assert faults == []
        assert not [said for said in found.complaints if "Policy" in said]
        assert not [
            url for url in found.asked if not url.startswith((found.base_url, scene.desk.webs.issuer))
        ]


async def test_keys_lead_to_every_room_and_into_the_search(scene: Showing, chromium: "Browser") -> None:
    async with tab(chromium, scene.desk.webs.settings.base_url, **WIDE) as found:
        page = found.page
        await found.open("/scalers", ALICE, "Alice Tran")
        for key, path in zip(
            "pesra", ("plans", "exceptions", "scalers", "remediations", "audit"), strict=True
        ):
            await page.keyboard.press("g")
            await page.keyboard.press(key)
            await page.wait_for_url(f"**/{path}")
        await page.keyboard.press("/")
        await page.keyboard.type("gp")  # words, where one types
        assert await page.input_value("[data-search]") == "gp"
        await page.keyboard.press("Escape")
        await page.keyboard.press("?")
        assert await page.get_by_role("dialog").is_visible()
        assert await found.faults() == []
        await found.open("/plans")
        await page.keyboard.press("/")
        await page.keyboard.type("orders")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/plans?q=orders")  # and nothing of the fields that are empty


async def test_the_first_page_is_small(scene: Showing) -> None:
    async with scene.desk.webs.browser() as browser:
        page = await scene.desk.webs.log_in(browser, ALICE, "/")
        static = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text))
        parts = [
            page,
            *[await browser.get(path) for path in static],
            *[await browser.get(f"/static/{name}") for name in ("live.js", "morph.js", "times.js")],
        ]
    assert len(static) >= 3
    assert {part.status for part in parts} == {200}
    assert sum(len(part.text.encode()) for part in parts) < 100_000
