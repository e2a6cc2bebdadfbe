"""What restore data says, on the page of a plan: read through the operator, for who may see the plan."""

import asyncio
import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import ObjectMeta
from hibernator.decisions.hibernateplan_kept import KeptPlan, KeptTarget
from hibernator.kube.reading import ReadApiError
from hibernator.kube.remote import Remote
from hibernator.web.dashboard.kept import RestoreData
from support.approving import ALICE, BOB
from support.chromium import tab
from support.clock import ManualClock
from support.showing import Showing
from support.webs import running_webs

if TYPE_CHECKING:
    from playwright.async_api import Browser


class Operator(Remote):
    """One that answers as a test says, and counts how often it was asked."""

    def __init__(self, *answers: KeptPlan | Exception) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    async def get(self, path: str, _parameters: object) -> bytes:
        self.asked.append(path)
        answer = self._answers.pop(0) if self._answers else KeptPlan()
        if isinstance(answer, Exception):
            raise answer
        return msgspec.json.encode(answer)


def nights(version: str = "1", uid: str = "u") -> HibernatePlan:
    metadata = ObjectMeta(name="nights", namespace="team-a", uid=uid, resource_version=version)
    return HibernatePlan(metadata=metadata, spec=msgspec.UNSET)  # type: ignore[arg-type]


async def test_who_may_see_a_plan_sees_what_of_it_sleeps_and_what_it_wakes_to(scene: Showing) -> None:
    path = f"/plans/{scene.namespace}/shop-nights"
    async with scene.desk.webs.browser() as browser:
        page = await scene.desk.webs.log_in(browser, ALICE, path)
        kept = page.text.split('id="kept"')[1].split("</section>")[0]
        assert f"Deployment in {scene.namespace}" in kept
        assert "3 replicas" in kept
        assert f"hibernator plan restore-data shop-nights -n {scene.namespace}" in kept
        answer = json.loads((await browser.get(f"/api/v1{path}/restore-data")).text)
        items = {one["name"]: one for target in answer["targets"] for one in target["items"]}
        assert items["checkout"]["wakesTo"] == "3 replicas"
        assert (items["checkout"]["kind"], items["checkout"]["namespace"]) == ("Deployment", scene.namespace)
        awake = await browser.get(f"/plans/{scene.namespace}/reports")
        assert "Nothing of it is asleep." in awake.text


async def test_who_may_not_see_the_plan_learns_nothing_of_what_sleeps(scene: Showing) -> None:
    async with scene.desk.webs.browser() as browser:
        path = f"/api/v1/plans/{scene.namespace}/shop-nights/restore-data"
        assert (await browser.get(path)).status == 401
        await scene.desk.webs.log_in(browser, BOB, "/")
        there = await browser.get(path)
        nowhere = await browser.get(f"/api/v1/plans/{scene.namespace}/no-such-plan/restore-data")
        assert (there.status, there.text) == (nowhere.status, nowhere.text)
        assert there.status == 404


async def test_without_an_operator_the_page_says_so_and_shows_the_rest(scene: Showing) -> None:
    usual = scene.desk.webs.settings
    path = f"/plans/{scene.namespace}/shop-nights"
    for url, words, status in (
        ("", "no way to the operator", 404),
        ("https://127.0.0.1:1", "The operator does not say it now", 503),
    ):
        chosen = msgspec.structs.replace(usual, trail_url=url, listen="127.0.0.1:0")
        async with running_webs(scene.account, chosen) as webs, webs.browser() as browser:
            page = await webs.log_in(browser, ALICE, path)
            assert page.status == 200
            assert words in page.text
            assert "Two weeks back, two weeks ahead" in page.text
            answer = await browser.get(f"/api/v1{path}/restore-data")
            assert answer.status == status
            assert json.loads(answer.text)["error"]


async def test_what_is_opened_on_the_page_stays_open_while_the_plan_changes(
    scene: Showing, chromium: "Browser"
) -> None:
    kubectl = scene.desk.scene.cluster.kubectl
    async with tab(chromium, scene.desk.webs.settings.base_url) as found:
        await found.open(f"/plans/{scene.namespace}/shop-nights", ALICE, "Alice Tran")
        page = found.page
        summary = page.locator("#kept-shop summary")
        await summary.click()
        assert await page.get_by_text("checkout").first.is_visible()
        await page.evaluate("document.activeElement.blur(); document.querySelector('#kept').dataset.old = ''")
        await page.evaluate("document.querySelector('#kept table').dataset.old = ''")
        await asyncio.to_thread(
            kubectl, "annotate", "hibernateplan", "shop-nights", "seen=yes", "-n", scene.namespace
        )
        await page.locator("#kept table[data-old]").wait_for(state="detached")
        assert await page.get_by_text("checkout").first.is_visible()


async def test_many_who_look_ask_the_operator_once_and_again_when_the_plan_has_changed() -> None:
    clock = ManualClock("2026-03-02T08:00:00Z")
    operator = Operator()
    kept = RestoreData(operator, clock)
    await asyncio.gather(*(kept.of(nights()) for _ in range(20)))
    assert operator.asked == ["/restore/v1/team-a/nights"]
    await kept.of(nights(version="2"))
    assert len(operator.asked) == 2
    await clock.advance(10)
    await kept.of(nights(version="2"))
    assert len(operator.asked) == 3
    for number in range(300):
        await kept.of(nights(uid=f"u-{number}"))
    await kept.of(nights(version="2"))
    assert len(operator.asked) == 304  # so many are not remembered


async def test_a_failure_is_shared_and_then_asked_about_again() -> None:
    clock = ManualClock("2026-03-02T08:00:00Z")
    sleeping = KeptPlan(targets=(KeptTarget(name="web", type="workloadscaler"),))
    operator = Operator(ReadApiError("The operator is away."), sleeping)
    kept = RestoreData(operator, clock)
    for _ in range(3):
        with pytest.raises(ReadApiError, match="The operator is away"):
            await kept.of(nights())
    assert len(operator.asked) == 1
    await clock.advance(10)
    assert await kept.of(nights()) == sleeping


async def test_an_answer_of_another_shape_is_no_answer() -> None:
    class Odd(Operator):
        async def get(self, _path: str, _parameters: object) -> bytes:
            return b'{"targets": 7}'

    with pytest.raises(ReadApiError, match="cannot be read"):
        await RestoreData(Odd(), ManualClock("2026-03-02T08:00:00Z")).of(nights())
