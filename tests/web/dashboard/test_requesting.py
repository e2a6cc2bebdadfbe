"""Suspend, resume and retry on the page of a plan: who may, what is filed, and what becomes of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hibernator.api.planrequest import PlanRequest
from hibernator.decisions.planrequest import carried_out
from hibernator.web.dashboard.requesting import shown
from support.approving import Approving
from support.chromium import tab
from support.exception_scenes import EVERY_DAY, hours
from support.plan_scenes import noop, plan
from support.rights import may, until

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium

PLANS = "hibernateplans.hibernator.ardikabs.com"
PETRA = "petra@company.com"  # no one else of the desk: she may write plans here
DORIS = "doris@company.com"  # may only see them
NAMES = ("garden", "orchard")
ATTACK = "<script>document.title='taken'</script>"


@pytest.fixture(scope="module")
async def team(desk: Approving) -> Approving:
    scene, namespace, kubectl = desk.scene, desk.scene.namespace, desk.scene.cluster.kubectl
    for role, verbs, user in (("plans", "get,patch", PETRA), ("reads-plans", "get", DORIS)):
        kubectl("create", "role", role, f"--verb={verbs}", f"--resource={PLANS}", "-n", namespace)
        kubectl("create", "rolebinding", role, f"--role={role}", f"--user={user}", "-n", namespace)
    over = {"suspend": True, "suspendUntil": "2026-03-02T08:00:00Z"}
    schedule = {"timezone": "Europe/Berlin", "offHours": hours("20:00", "06:00", EVERY_DAY)}
    scene.create(*(plan(noop("a", items=1), name=name, schedule=schedule) for name in NAMES))
    scene.create(plan(noop("a", items=1), name="meadow", schedule=schedule, **over))
    until(lambda: may(scene.cluster, namespace, PETRA, "patch", PLANS))
    until(lambda: may(scene.cluster, namespace, DORIS, "get", PLANS))
    plans = desk.webs.replicas[0].site.cases.plans
    await desk.operator.until(
        lambda: all((one := plans.get(namespace, name)) and one.status.phase for name in NAMES)
    )
    return desk


def requests(desk: Approving, of: str) -> Iterator[dict[str, Any]]:
    for one in desk.scene.listed("PlanRequest"):
        if one["spec"]["plan"]["name"] == of:
            yield one


async def test_a_plan_is_suspended_and_resumed_by_the_buttons_of_its_page(
    team: Approving, chromium: "Chromium"
) -> None:
    async with tab(chromium, team.webs.settings.base_url) as found:
        page = found.page
        await found.open(f"/plans/{team.scene.namespace}/garden", PETRA, name="Petra Lind")
        assert await found.faults() == []
        await page.get_by_label("Suspend until").fill("3h")
        await page.get_by_label("Reason").fill(ATTACK)
        await page.get_by_role("button", name="Suspend").click()
        await page.get_by_text(f"Suspend, asked for by {PETRA}").wait_for()
        await page.get_by_text("garden is suspended until").wait_for()
        await page.get_by_role("button", name="Resume").wait_for()
        assert await found.faults() == []
        assert await page.evaluate("document.documentElement.scrollWidth") == 390
        await found.picture("plan-requests")
        spec = team.scene.one("HibernatePlan", "garden")["spec"]
        assert (spec["suspend"], spec["suspendReason"]) == (True, ATTACK)
        await page.get_by_role("button", name="Resume").click()
        await page.get_by_text("garden follows its schedule.").wait_for()
        await page.get_by_role("button", name="Suspend").wait_for()
        assert "taken" not in await page.title()
        assert not [said for said in found.complaints if "Policy" in said]
    assert not team.scene.one("HibernatePlan", "garden")["spec"]["suspend"]
    [suspended] = [
        one for one in await team.operator.trail("hibernateplan.suspended") if one.resource.name == "garden"
    ]
    assert suspended.actor.id == PETRA
    plans, namespace = team.webs.replicas[0].site.cases.plans, team.scene.namespace
    await team.operator.until(
        lambda: (
            (seen := plans.get(namespace, "garden"))
            and len(carried_out(seen)) == len([*requests(team, "garden")])
        )
    )


async def test_the_page_keeps_what_was_typed_and_shows_why_the_operator_refuses(team: Approving) -> None:
    path = f"/plans/{team.scene.namespace}/orchard"
    async with team.webs.browser() as browser:
        over = await browser.post(f"{path}/suspend", {"until": "fri 18:00", "reason": "Still <typed>"})
        assert over.status == 401
        page = await team.open(browser, PETRA, path)
        assert 'value="fri 18:00"' in page.text
        assert 'value="Still &lt;typed&gt;"' in page.text
        token = page.field("form_token")
        wrong = await browser.post(f"{path}/suspend", {"form_token": token, "until": "soon"})
        assert wrong.status == 422
        assert "Until soon: this is not a time" in wrong.text
        forged = await browser.post(f"{path}/suspend", {"form_token": "x"})
        assert forged.status == 403
        assert not [*requests(team, "orchard")]
        for word, sentence in (
            ("resume", "orchard is not suspended: it follows its schedule."),
            ("retry", "Nothing of orchard has failed for good"),
        ):
            refused = await browser.post(f"{path}/{word}", {"form_token": token})
            assert refused.status == 409
            assert sentence in refused.text
        shown = await browser.get(path)
        assert shown.text.count(f"asked for by {PETRA}") == 2
    [first, *_] = requests(team, "orchard")
    assert first["metadata"]["ownerReferences"][0]["name"] == "orchard"


def test_what_the_operator_has_not_answered_is_no_success() -> None:
    asked = {
        "metadata": {"annotations": {"hibernator.ardikabs.com/requested-by": PETRA}},
        "spec": {"plan": {"name": "garden", "uid": "1"}, "action": "Retry"},
    }
    [row] = shown([msgspec.convert(asked, PlanRequest)])
    assert (row.said, row.state) == (f"Retry, asked for by {PETRA}", "Requested")
    assert row.message == "The operator has not carried it out yet."


async def test_a_suspension_that_is_over_is_none(team: Approving) -> None:
    path = f"/plans/{team.scene.namespace}/meadow"
    async with team.webs.browser() as browser:
        page = await team.open(browser, PETRA, path)
        assert f'action="{path}/suspend"' in page.text
        assert f'action="{path}/resume"' not in page.text


async def test_who_may_not_write_the_plan_has_no_buttons_and_a_post_of_theirs_is_refused(
    team: Approving,
) -> None:
    path, before = f"/plans/{team.scene.namespace}/orchard", len([*requests(team, "orchard")])
    async with team.webs.browser() as browser:
        page = await team.open(browser, DORIS, path)
        assert page.status == 200
        assert "/suspend" not in page.text
        for word in ("suspend", "resume", "retry"):
            refused = await browser.post(f"{path}/{word}", {"form_token": page.field("form_token")})
            assert refused.status == 403
            assert "hibernator-planner" in refused.text
    assert len([*requests(team, "orchard")]) == before
