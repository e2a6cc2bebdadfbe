"""The pages in a real browser: on a phone, by keyboard, without scripts, in the dark, to a screen reader."""

from typing import TYPE_CHECKING

from support.approving import ALICE, BOB, CAROL, Approving
from support.chromium import tab

if TYPE_CHECKING:
    from playwright.async_api import Browser

_DESK = {"width": 900, "height": 420}
WHY = "Version 4.2 goes out tonight, and the team watches it until eleven."


async def test_on_a_phone_a_request_is_read_and_approved(desk: Approving, chromium: "Browser") -> None:
    name = desk.ask(BOB, CAROL, reason=WHY)
    path = await desk.shown(name)
    async with tab(chromium, desk.webs.settings.base_url) as found:
        page = found.page
        await found.open(path, BOB)
        asked = f"Keep {desk.scene.namespace}/dev-{name.removeprefix('release-')} awake"
        assert asked in await page.title()
        width = await page.evaluate("document.documentElement.scrollWidth")
        assert width == 390  # nothing to scroll sideways
        assert "GMT+7" in await page.locator(".deadline time").inner_text()  # the reader's clock
        assert "Europe/Berlin" in await page.locator(".deadline").inner_text()  # and the plan's
        assert await found.faults() == []
        await found.picture("approve-request")

        await page.get_by_role("button", name="Approve").click()
        await page.get_by_role("status").wait_for()
        assert "Your approval counts" in await page.get_by_role("status").inner_text()
        assert await found.faults() == []
        await found.picture("approve-done")
        assert not [url for url in found.asked if not url.startswith((found.base_url, desk.webs.issuer))]
        assert not [said for said in found.complaints if "Policy" in said]
    assert desk.status(name)["approvals"][0]["knownBy"]["userAgent"].startswith("Mozilla/5.0")


async def test_the_requester_sees_in_an_open_page_how_the_approvers_decide(
    desk: Approving, chromium: "Browser"
) -> None:
    path = await desk.shown(desk.ask(BOB, CAROL, by=ALICE, reason=WHY))
    base_url = desk.webs.settings.base_url
    async with tab(chromium, base_url) as alices:
        await alices.open(path, ALICE, "Alice Tran")
        assert "Pending · 0 of 2 approvals" in await alices.page.inner_text(".state")
        await alices.page.evaluate("window.untouched = true")
        for who, state in ((BOB, "Pending · 1 of 2 approvals"), (CAROL, "Active")):
            async with tab(chromium, base_url) as theirs:
                await theirs.open(path, who)
                await theirs.page.get_by_role("button", name="Approve").click()
                await alices.page.wait_for_selector(f".state >> text={state}")
        assert await alices.page.evaluate("window.untouched")
        assert await alices.faults() == []


async def test_with_the_keyboard_alone_a_request_is_rejected(desk: Approving, chromium: "Browser") -> None:
    name = desk.ask(BOB)
    path = await desk.shown(name)
    async with tab(chromium, desk.webs.settings.base_url, is_mobile=False, has_touch=False) as found:
        page = found.page
        await found.open(path, BOB)
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to the content"
        await page.keyboard.press("Enter")
        for _ in range(8):
            await page.keyboard.press("Tab")
            if await page.evaluate("document.activeElement.id") == "reason":
                break
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Reject"
        assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        await page.keyboard.press("Enter")
        await page.get_by_role("alert").wait_for()
        assert "Write why you reject it" in await page.get_by_role("alert").inner_text()
        assert await found.faults() == []

        await page.get_by_label("Reason").focus()
        await page.keyboard.type("Not in the freeze")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.get_by_role("status").wait_for()
        assert "Rejected" in await page.get_by_role("status").inner_text()
    assert desk.status(name)["state"] == "Rejected"


async def test_without_scripts_everything_works_and_times_are_in_utc(
    desk: Approving, chromium: "Browser"
) -> None:
    name = desk.ask(BOB)
    path = await desk.shown(name)
    async with tab(chromium, desk.webs.settings.base_url, java_script_enabled=False) as found:
        await found.open(path, BOB)
        assert "(UTC)" in await found.page.locator(".deadline time").inner_text()
        await found.page.get_by_role("button", name="Approve").click()
        await found.page.get_by_role("status").wait_for()
        assert "Approved and active" in await found.page.get_by_role("status").inner_text()
    assert desk.status(name)["state"] == "Active"


async def test_every_page_can_be_read_in_the_dark(desk: Approving, chromium: "Browser") -> None:
    request, remedy, other = desk.ask(BOB, reason=WHY), desk.remediate(BOB), desk.ask(CAROL)
    paths = [await desk.shown(name) for name in (request, remedy, other)]
    async with tab(chromium, desk.webs.settings.base_url, color_scheme="dark") as found:
        await found.open(paths[0], BOB)
        assert await found.faults() == []
        await found.picture("approve-dark")
        for path in (*paths[1:], "/"):
            await found.open(path)
            assert await found.faults() == [], path
        await found.picture("approve-waiting")


async def test_the_way_of_a_log_in_is_clear_also_where_it_is_refused(
    desk: Approving, chromium: "Browser"
) -> None:
    """What the guide to single sign-on shows."""
    who = "dora@company.com"
    async with tab(chromium, desk.webs.settings.base_url, is_mobile=False, viewport=_DESK) as found:
        page = found.page
        await found.open("/")
        assert await found.faults() == []
        await found.picture("sso-first-page")
        await page.get_by_role("link", name="Log in").first.click()
        await found.prove(who, email_verified=False)
        refused = await page.get_by_role("main").inner_text()
        assert "address" in refused
        assert await found.faults() == []
        await found.picture("sso-refused")
        await page.context.clear_cookies()
        await found.open("/login?next=/", who, "Dora Lind")
        assert "Log out" in await page.content()
        assert await found.faults() == []
        await found.picture("sso-logged-in")
