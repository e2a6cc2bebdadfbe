"""A page that is left open stays true, without a reload and without losing what is typed."""

import asyncio
import json
from time import monotonic
from typing import TYPE_CHECKING

import aiohttp
import pytest
from msgspec import structs

from support.approving import ALICE
from support.browser import Answer
from support.chromium import tab
from support.exception_scenes import EVERY_DAY, hours
from support.fleet import Wire
from support.plan_scenes import noop, plan
from support.showing import Showing
from support.webs import running_webs

if TYPE_CHECKING:
    from playwright.async_api import Browser

KUBECTL = 2.0  # seconds that the command itself may take
NO_WEBSOCKET = """
window.WebSocket = class { constructor() { setTimeout(() => this.onclose?.(), 1) } close() {} };
"""
SCHEDULE = {"timezone": "Europe/Berlin", "offHours": hours("20:00", "06:00", EVERY_DAY)}


def version(answer: Answer) -> int:
    return int(json.loads(answer.text)["version"])


async def test_a_question_waits_until_something_of_its_kind_changes(scene: Showing) -> None:
    async with scene.desk.webs.browser() as stranger:
        assert (await stranger.get("/live", **{"x-hibernator-live": "1"})).status == 401
    async with scene.desk.webs.browser() as browser:
        await scene.desk.webs.log_in(browser, ALICE, "/plans")
        known = version(await browser.get("/live?topics=plans&since=0"))
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(browser.get(f"/live?topics=plans&since={known}"))
            await asyncio.to_thread(
                scene.desk.scene.create, plan(noop("x"), name="asked-for", schedule=SCHEDULE)
            )
        assert version(asked.result()) > known
        for odd in ("since=x", "since=-1", "since=1.1", f"since={'9' * 50}", "topics=nothing&since=0"):
            assert (await browser.get(f"/live?{odd}")).status == 200, odd


async def test_a_connected_page_hears_within_a_second_that_something_changed_and_not_what(
    scene: Showing,
) -> None:
    base_url = scene.desk.webs.settings.base_url
    async with scene.desk.webs.browser() as browser:
        await scene.desk.webs.log_in(browser, ALICE, "/plans")
        known = json.loads((await browser.get("/live?topics=plans&since=0")).text)["version"]
        async with browser.connect(f"/live?topics=plans&since={known}", base_url) as socket:
            assert await socket.receive_json() == {"changed": False}  # it is connected
            for change in ("created", "deleted"):
                began = monotonic()
                if change == "created":
                    document = plan(noop("x"), name="heard-of", schedule=SCHEDULE)
                    await asyncio.to_thread(scene.desk.scene.create, document)
                else:
                    await asyncio.to_thread(scene.desk.scene.delete, "hibernateplans", "heard-of")
                while not (said := await socket.receive_json())["changed"]:
                    pass
                assert monotonic() - began < 1 + KUBECTL, change
                assert said.keys() == {"changed", "wait"}
        async with browser.connect("/live", base_url) as chatty:
            await chatty.send_str("anything")
            async for _said in chatty:
                pass
            assert chatty.closed  # pages have nothing to say
        async with browser.connect("/live?topics=plans&since=1", base_url) as late:
            await late.receive_json()
            assert (await late.receive_json())["changed"]  # what it missed while it was not connected


@pytest.mark.parametrize(
    ("origin", "who"),
    [
        ("https://evil.test", ALICE),
        ("null", ALICE),
        (None, ALICE),
        ("ours", ""),
        ("ours", "too many cookies"),
    ],
)
async def test_nothing_is_told_to_pages_of_others_or_without_a_log_in(
    scene: Showing, origin: str | None, who: str
) -> None:
    base_url = scene.desk.webs.settings.base_url
    async with scene.desk.webs.browser() as browser:
        if who == ALICE:
            await scene.desk.webs.log_in(browser, ALICE, "/plans")
        elif who:
            browser.cookies[base_url.partition("//")[2]] = {"x": "y" * 30_000}
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with browser.connect("/live", base_url if origin == "ours" else origin):
                pass
        assert refused.value.status == 403


async def test_an_open_page_shows_what_is_new_and_keeps_what_is_typed(
    scene: Showing, chromium: "Browser"
) -> None:
    async with tab(chromium, scene.desk.webs.settings.base_url) as found:
        await found.open("/plans", ALICE, "Alice Tran")
        page = found.page
        await page.evaluate("window.untouched = true")
        await page.fill("[data-search]", "half a wo")
        await asyncio.to_thread(scene.desk.scene.create, plan(noop("x"), name="brand-new", schedule=SCHEDULE))
        await page.wait_for_selector("#list >> text=brand-new")
        assert await page.input_value("[data-search]") == "half a wo"
        assert await page.evaluate("window.untouched && document.activeElement.matches('[data-search]')")
        await page.context.set_offline(True)
        await page.wait_for_selector("#stale:not([hidden])")
        assert "this page is as it was at" in await page.inner_text("#stale")
        await page.context.set_offline(False)
        await page.wait_for_selector("#stale", state="hidden")
        await page.context.clear_cookies()
        await asyncio.to_thread(scene.desk.scene.delete, "hibernateplans", "brand-new")
        await page.wait_for_selector("#stale >> text=Your log-in is over")
        assert await page.input_value("[data-search]") == "half a wo"


async def test_while_plans_change_all_the_time_an_open_page_keeps_up(
    scene: Showing, chromium: "Browser"
) -> None:
    names = [f"busy-{number:02}" for number in range(12)]
    async with tab(chromium, scene.desk.webs.settings.base_url) as found:
        await found.open("/plans?q=busy", ALICE, "Alice Tran")
        await found.page.fill("[data-search]", "still here")
        for name in names:
            document = plan(noop("x"), name=name, schedule=SCHEDULE)
            await asyncio.to_thread(scene.desk.scene.create, document)
        await found.page.wait_for_selector(f"#list >> text={names[-1]}", timeout=3_000)
        rows = await found.page.locator("#list tbody tr").count()
        assert rows == len(names)
        assert await found.page.input_value("[data-search]") == "still here"
    kubectl = scene.desk.scene.cluster.kubectl
    await asyncio.to_thread(kubectl, "delete", "hibernateplans", *names, "-n", scene.namespace)


async def test_what_has_the_focus_or_is_scrolled_stays_so_and_shows_what_is_new(
    scene: Showing, chromium: "Browser"
) -> None:
    create, delete = scene.desk.scene.create, scene.desk.scene.delete
    for name in ("row-b", "row-d"):
        await asyncio.to_thread(create, plan(noop("x"), name=name, schedule=SCHEDULE))
    async with tab(chromium, scene.desk.webs.settings.base_url) as found:
        page, path = found.page, f"/plans/{scene.namespace}/row-d"
        await found.open("/plans?q=row-", ALICE, "Alice Tran")
        await page.wait_for_selector("#list >> text=row-d")
        await page.focus(f"a[href='{path}']")
        await asyncio.to_thread(create, plan(noop("x"), name="row-c", schedule=SCHEDULE))
        await asyncio.to_thread(delete, "hibernateplans", "row-b")
        await page.wait_for_selector("#list >> text=row-c")
        await page.wait_for_selector("#list >> text=row-b", state="detached")
        assert await page.evaluate("document.activeElement.getAttribute('href')") == path
        assert await page.locator("#list tbody tr").count() == 2
        await found.open(path)
        await page.evaluate("document.querySelector('#weeks .scroll').scrollLeft = 200")
        await page.focus("#weeks .scroll")
        await page.evaluate("getSelection().selectAllChildren(document.querySelector('#targets h2'))")
        patch = json.dumps({"spec": {"schedule": {"timezone": "Asia/Jakarta"}}})
        await asyncio.to_thread(
            scene.desk.scene.cluster.kubectl,
            *("patch", "hibernateplan", "row-d", "-n", scene.namespace, "--type=merge", "-p", patch),
        )
        await page.wait_for_selector("#weeks >> text=HibernatePlan · Asia/Jakarta")
        assert await page.evaluate("document.querySelector('#weeks .scroll').scrollLeft") == 200
        assert await page.evaluate("document.activeElement.matches('#weeks .scroll')")
        assert await page.evaluate("String(getSelection())") == "Targets"
    for name in ("row-c", "row-d"):
        await asyncio.to_thread(delete, "hibernateplans", name)


async def test_a_page_of_a_replica_that_is_killed_goes_on_with_another_one(
    scene: Showing, chromium: "Browser"
) -> None:
    kubeconfig, usual = scene.desk.scene.cluster.kubeconfig, scene.desk.webs.settings
    async with Wire(0).carrying() as wire:
        chosen = structs.replace(usual, base_url=f"http://localhost:{wire.port}", listen="127.0.0.1:0")
        async with running_webs(kubeconfig, chosen, replicas=2) as webs:
            wire.upstream = webs.replicas[0].port
            async with tab(chromium, chosen.base_url) as found:
                await found.open("/plans", ALICE, "Alice Tran")
                await found.page.fill("[data-search]", "half a wo")
                webs.replicas[0].manager.stop()
                wire.upstream = webs.replicas[1].port
                document = plan(noop("x"), name="after-the-kill", schedule=SCHEDULE)
                await asyncio.to_thread(scene.desk.scene.create, document)
                await found.page.wait_for_selector("#list >> text=after-the-kill")
                assert await found.page.input_value("[data-search]") == "half a wo"


async def test_where_no_websocket_gets_through_an_open_page_asks_instead(
    scene: Showing, chromium: "Browser"
) -> None:
    async with tab(chromium, scene.desk.webs.settings.base_url) as found:
        await found.page.add_init_script(NO_WEBSOCKET)
        await found.open("/plans", ALICE, "Alice Tran")
        await asyncio.to_thread(
            scene.desk.scene.create, plan(noop("x"), name="asked-after", schedule=SCHEDULE)
        )
        await found.page.wait_for_selector("#list >> text=asked-after")


async def test_of_what_is_deleted_an_open_page_shows_nothing_any_more(
    scene: Showing, chromium: "Browser"
) -> None:
    await asyncio.to_thread(scene.desk.scene.create, plan(noop("x"), name="short-lived", schedule=SCHEDULE))
    plans = scene.desk.webs.replicas[0].site.cases.plans
    await scene.desk.operator.until(lambda: plans.get(scene.namespace, "short-lived"))
    async with tab(chromium, scene.desk.webs.settings.base_url) as found:
        await found.open(f"/plans/{scene.namespace}/short-lived", ALICE, "Alice Tran")
        assert "short-lived" in await found.page.inner_text("#main")
        await asyncio.to_thread(scene.desk.scene.delete, "hibernateplans", "short-lived")
        await found.page.wait_for_selector("text=There is nothing here")
        assert "short-lived" not in await found.page.inner_text("body") + await found.page.title()


async def test_what_is_left_of_a_deadline_goes_by_the_servers_clock(
    scene: Showing, chromium: "Browser"
) -> None:
    async with tab(chromium, scene.desk.webs.settings.base_url) as found:
        await found.page.clock.set_system_time("2031-01-01T00:00:00Z")
        await found.open("/remediations", ALICE, "Alice Tran")
        assert (await found.page.inner_text("#list time[data-near]")).startswith("in 1 h")
