"""The form of a new exception on the real API server: who may file, what is filed, what is not lost."""

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from support.approving import BOB, Approving
from support.browser import Answer, Browser
from support.chromium import tab
from support.exception_scenes import EVERY_DAY, hours
from support.plan_scenes import noop, plan
from support.rights import may, until

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium

EXCEPTIONS = "scheduleexceptions.hibernator.ardikabs.com"
# What was asked about a person before is remembered for seconds: these have rights before anyone asks.
ALICE = "alicia@company.com"
DORA = "dora@company.com"  # no one else of the desk: what she may, she may for this plan
FRED = "fred@company.com"  # may file exceptions, and see nothing
PLANS = "hibernateplans.hibernator.ardikabs.com"
ATTACK = "<script>document.title='taken'</script>\"'><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
async def office(desk: Approving) -> Approving:
    """Alice may ask for exceptions of the plan `office`; Dora may only see it."""
    scene, namespace = desk.scene, desk.scene.namespace
    kubectl = scene.cluster.kubectl
    kubectl(
        "create", "role", "asks", "--verb=create,get", f"--resource={EXCEPTIONS},{PLANS}", "-n", namespace
    )
    kubectl("create", "rolebinding", "asks", "--role=asks", f"--user={ALICE}", "-n", namespace)
    kubectl(
        "create",
        "role",
        "looks",
        "--verb=get",
        f"--resource={PLANS}",
        "--resource-name=office",
        "-n",
        namespace,
    )
    kubectl("create", "rolebinding", "looks", "--role=looks", f"--user={DORA}", "-n", namespace)
    schedule = {"timezone": "Europe/Berlin", "offHours": hours("20:00", "06:00", EVERY_DAY)}
    kubectl("create", "role", "only-asks", "--verb=create", f"--resource={EXCEPTIONS}", "-n", namespace)
    kubectl("create", "rolebinding", "only-asks", "--role=only-asks", f"--user={FRED}", "-n", namespace)
    scene.create(plan(noop("a", items=1), name="office", schedule=schedule))
    until(lambda: may(scene.cluster, namespace, ALICE, "create", EXCEPTIONS))
    until(lambda: may(scene.cluster, namespace, DORA, "get", f"{PLANS}/office"))
    plans = desk.webs.replicas[0].site.cases.plans
    await desk.operator.until(lambda: plans.get(namespace, "office"))
    return desk


def filed(desk: Approving) -> set[str]:
    path = f"/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{desk.scene.namespace}/scheduleexceptions"
    return {one["metadata"]["name"] for one in desk.scene.cluster.request("GET", path)["items"]}


def path(desk: Approving) -> str:
    return f"/exceptions/new?plan={quote(desk.scene.namespace + '/office', safe='')}"


async def send(browser: Browser, page: Answer, do: str, **fields: str) -> Answer:
    kept = {name: page.field(name) for name in ("form_token", "plan")}
    form = kept | {"type": "suspend", "until": "tomorrow 07:00", "do": do} | fields
    return await browser.post("/exceptions/new", form)


async def test_what_is_typed_is_shown_filed_and_waits_for_its_approver(office: Approving) -> None:
    async with office.webs.browser() as browser:
        page = await office.open(browser, ALICE, path(office))
        assert page.status == 200, page.text
        seen = await send(browser, page, "preview", name="release-form-1", approvers=BOB, reason=ATTACK)
        assert seen.status == 200
        assert "awake instead of asleep" in seen.text
        assert f"1 of 1: {BOB}" in seen.text
        assert "<img src=x" not in seen.text
        assert "<script>document" not in seen.text
        assert "release-form-1" not in filed(office)
        done = await send(browser, page, "submit", name="release-form-1", approvers=BOB, reason=ATTACK)
        assert done.status == 303, done.text
        found = office.found("release-form-1")
        assert done.location.endswith(f"/approve/{found['metadata']['uid']}")
        shown = await browser.get(done.location)
        assert shown.status == 200
        again = await send(browser, page, "submit", name="release-form-1", approvers=BOB)
        assert again.status == 409
        assert "already: write another name" in again.text
    assert found["spec"]["reason"] == ATTACK
    assert found["spec"]["approverEmails"] == [BOB]
    notes = found["metadata"]["annotations"]
    assert notes["hibernator.ardikabs.com/requested-by"] == ALICE


async def test_a_draft_is_saved_as_one_and_mistakes_keep_what_was_typed(office: Approving) -> None:
    async with office.webs.browser() as browser:
        page = await office.open(browser, ALICE, path(office))
        wrong = await send(browser, page, "submit", name="release-form-2", until="soon", reason="Kept words")
        assert wrong.status == 422
        assert "Until soon: this is not a time" in wrong.text
        assert "Kept words" in wrong.text
        done = await send(browser, page, "draft", name="release-form-2", reason="Kept words")
        assert done.status == 303
    assert office.found("release-form-2")["spec"]["draft"] is True


async def test_who_may_not_file_is_told_so_and_who_may_not_see_finds_nothing(office: Approving) -> None:
    async with office.webs.browser() as browser:
        refused = await office.open(browser, DORA, path(office))
        assert refused.status == 403
        assert "hibernator-requester" in refused.text
    async with office.webs.browser() as browser:
        hidden = await office.open(browser, BOB, path(office))
        missing = await browser.get(path(office).replace("office", "nothing"))
        assert (hidden.status, missing.status) == (404, 404)
        assert hidden.text == missing.text
        choice = await browser.get("/exceptions/new")
        assert "There is no plan for which you may ask" in choice.text
    until(lambda: may(office.scene.cluster, office.scene.namespace, FRED, "create", EXCEPTIONS))
    async with office.webs.browser() as browser:
        choice = await office.open(browser, FRED, "/exceptions/new")
        assert (
            "There is no plan for which you may ask" in choice.text
        )  # those that he may not see have no name
        assert "office" not in choice.text
    async with office.webs.browser() as browser:
        assert "/office" in (await office.open(browser, ALICE, "/exceptions/new")).text


async def test_a_form_of_another_session_or_site_files_nothing(office: Approving) -> None:
    async with office.webs.browser() as browser:
        page = await office.open(browser, ALICE, path(office))
        other = await send(
            browser, page, "submit", name="release-form-3", form_token="x", reason="Still here"
        )
        assert other.status == 409
        assert "Still here" in other.text
        from_elsewhere = await browser.post(
            "/exceptions/new",
            {"do": "submit"},
            **{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"},
        )
        assert from_elsewhere.status == 403
    assert "release-form-3" not in filed(office)


async def test_nothing_typed_is_lost_when_the_session_ends_in_the_middle(office: Approving) -> None:
    async with office.webs.browser() as browser:
        page = await office.open(browser, ALICE, path(office))
        for cookies in browser.cookies.values():
            for name in [name for name in cookies if "session" in name]:
                del cookies[name]
        over = await send(
            browser,
            page,
            "submit",
            name="release-form-4",
            reason="Words of an hour",
            windows="20:00-22:00 MON",
        )
        assert over.status == 401
        assert "what you typed is kept" in over.text
        back = await office.webs.log_in(browser, ALICE, path(office))
        assert back.status == 200
        for words in ("Words of an hour", "20:00-22:00 MON", "release-form-4"):
            assert words in back.text
    assert "release-form-4" not in filed(office)


async def test_in_a_browser_the_picture_changes_while_one_types(
    office: Approving, chromium: "Chromium"
) -> None:
    async with tab(chromium, office.webs.settings.base_url) as found:
        page = found.page
        await found.open(path(office), ALICE, "Alice Berg")
        assert await found.faults() == []
        before = await page.locator("#preview").inner_text()
        await page.get_by_role("textbox", name="Until").fill("3d")
        await page.wait_for_function(
            "old => document.getElementById('preview').innerText !== old", arg=before
        )
        await page.get_by_role("textbox", name="Until").fill("soon")
        await page.locator("#preview .problems").wait_for()
        assert "this is not a time" in await page.locator("#preview").inner_text()
        await page.get_by_role("textbox", name="Until").fill("tomorrow 07:00")
        await page.get_by_role("textbox", name="Approvers").fill(BOB)
        await page.get_by_text(f"1 of 1: {BOB}").wait_for()
        await page.get_by_role("textbox", name="Reason").fill(ATTACK)
        await page.get_by_role("textbox", name="Name").fill("release-form-5")
        assert await found.faults() == []
        await found.picture("new-exception")
        await page.get_by_role("button", name="Submit").click()
        await page.wait_for_url("**/approve/**")
        assert "taken" not in await page.title()
        assert not [said for said in found.complaints if "Policy" in said]
    assert office.found("release-form-5")["spec"]["approverEmails"] == [BOB]


async def test_a_preview_that_does_not_come_is_not_the_one_from_before(
    office: Approving, chromium: "Chromium"
) -> None:
    async with tab(chromium, office.webs.settings.base_url) as found:
        page = found.page
        await found.open(path(office), ALICE, "Alice Berg")
        await page.route("**/exceptions/new", lambda route: route.fulfill(status=429))
        await page.get_by_role("textbox", name="Until").fill("3d")
        await page.locator("#preview >> text=Press Preview to see why").wait_for()
        await page.unroute("**/exceptions/new")
        await page.context.set_offline(True)
        await page.get_by_role("textbox", name="Until").fill("4d")
        await page.locator("#preview >> text=No answer").wait_for()
        assert "As YAML" not in await page.inner_text("#preview")
        await page.context.set_offline(False)
        await page.get_by_role("textbox", name="Until").fill("5d")
        await page.locator("#preview >> text=Who must agree").wait_for()


async def test_without_scripts_the_button_shows_the_preview(office: Approving, chromium: "Chromium") -> None:
    async with tab(chromium, office.webs.settings.base_url, java_script_enabled=False) as found:
        page = found.page
        await found.open(path(office), ALICE, "Alice Berg")
        await page.get_by_role("textbox", name="Until").fill("2d")
        await page.get_by_role("textbox", name="Reason").fill("No script here")
        await page.get_by_role("button", name="Preview").click()
        await page.locator("#preview").wait_for()
        assert "awake instead of asleep" in await page.locator("#preview").inner_text()
        assert await page.get_by_role("textbox", name="Reason").input_value() == "No script here"


async def test_a_plan_is_put_to_sleep_and_woken_by_the_exceptions_of_the_commands(office: Approving) -> None:
    page_path = f"/plans/{office.scene.namespace}/office"
    async with office.webs.browser() as browser:
        page = await office.open(browser, ALICE, page_path)
        assert page.status == 200, page.text
        assert f'action="{page_path}/wake"' in page.text
        token = page.field("form_token")
        wrong = await browser.post(
            f"{page_path}/wake", {"form_token": token, "until": "soon", "reason": "Words of an hour"}
        )
        assert wrong.status == 422
        assert "Until soon: this is not a time" in wrong.text
        again = await browser.get(page_path)
        assert again.text.count('value="Words of an hour"') == 1  # what was typed is there again, once
        assert "Words of an hour" not in (await browser.get(page_path)).text
        forged = await browser.post(f"{page_path}/wake", {"form_token": "x", "until": "1h"})
        assert forged.status == 403
        before = filed(office)
        done = await browser.post(
            f"{page_path}/wake", {"form_token": token, "until": "3h", "reason": "A late release"}
        )
        assert done.status == 303, done.text
        assert done.location.endswith(page_path)
    [name] = filed(office) - before
    assert name.startswith("office-wake-")
    spec = office.scene.one("ScheduleException", name)["spec"]
    assert (spec["type"], spec["reason"]) == ("suspend", "A late release")


async def test_who_may_not_file_has_no_buttons_and_a_post_of_theirs_is_refused(office: Approving) -> None:
    page_path = f"/plans/{office.scene.namespace}/office"
    async with office.webs.browser() as browser:
        page = await office.open(browser, DORA, page_path)
        assert page.status == 200
        assert "/wake" not in page.text
        before = filed(office)
        refused = await browser.post(f"{page_path}/sleep", {"form_token": page.field("form_token")})
        assert refused.status == 403
    async with office.webs.browser() as browser:
        nobody = await browser.post(f"{page_path}/sleep", {"until": "08:15", "reason": "Still <typed>"})
        assert nobody.status == 401
        back = await office.webs.log_in(browser, ALICE, page_path)
        assert 'value="08:15"' in back.text
        assert 'value="Still &lt;typed&gt;"' in back.text
    assert filed(office) == before
