"""Each list and page is asked of Kubernetes; who has no rights sees what concerns them, and 404 elsewhere."""

import json
import re

from starlette.datastructures import QueryParams

from hibernator.approvals.people import Directory
from hibernator.audit.event import OPERATOR
from hibernator.audit.reading import PAGE, Filter
from hibernator.decisions.person import Person
from hibernator.web.dashboard.audit import Audits
from hibernator.web.dashboard.board import Board
from hibernator.web.dashboard.viewer import Viewer
from hibernator.web.identity import Identity
from hibernator.web.sessions import Session
from support.approving import ALICE, BOB
from support.browser import Answer
from support.showing import ATTACK, EVE, Showing


async def opened(scene: Showing, who: str, path: str) -> Answer:
    async with scene.desk.webs.browser() as browser:
        return await scene.desk.webs.log_in(browser, who, path)


async def test_who_may_list_plans_sees_them_and_filters_them(scene: Showing) -> None:
    async with scene.desk.webs.browser() as browser:
        page = await scene.desk.webs.log_in(browser, ALICE, "/plans")
        assert f"/plans/{scene.namespace}/shop-nights" in page.text
        assert ATTACK not in page.text
        for query, there, gone in (
            ("q=SHOP+nights", "shop-nights", "orders"),
            ("phase=Suspended", "lab", "orders"),
            ("label=team", "orders", "reports"),
            ("label=team%3Dshop", "orders", "reports"),
            ("namespace=elsewhere", "No plan matches", "orders"),
        ):
            found = await browser.get(f"/plans?{query}")
            assert there in found.text, query
            assert f"/plans/{scene.namespace}/{gone}" not in found.text, query
        for query in ("page=0", "page=99999999999", "page=x", "sort=nothing", "phase=<b>"):
            assert (await browser.get(f"/plans?{query}")).status == 200, query
        by_next = json.loads((await browser.get("/api/v1/plans?sort=next")).text)["items"]
        moments = [one["next"]["at"] if one["next"] else "9999" for one in by_next]
        assert moments == sorted(moments)
        assert {moments[0], moments[-1]} > {"9999"}  # what is suspended comes last


async def test_who_is_only_asked_sees_the_request_and_no_plan(scene: Showing) -> None:
    home = await opened(scene, BOB, "/")
    uid = scene.desk.found(scene.names["asked"])["metadata"]["uid"]
    assert f"/approve/{uid}" in home.text
    assert "<title>(" in home.text  # how many wait for him
    assert "icon-waiting.svg" in home.text
    assert "There is no plan that you may see" in home.text
    assert "/plans/" not in home.text
    page = await opened(scene, BOB, f"/plans/{scene.namespace}/shop-nights")
    assert page.status == 404


async def test_what_one_may_not_see_looks_like_what_is_not_there(scene: Showing) -> None:
    there = await opened(scene, EVE, f"/plans/{scene.namespace}/shop-nights")
    nowhere = await opened(scene, EVE, f"/plans/{scene.namespace}/no-such-plan")
    assert there.status == nowhere.status == 404
    assert there.text.replace(there.field("form_token"), "") == nowhere.text.replace(
        nowhere.field("form_token"), ""
    )
    home = await opened(scene, EVE, "/")
    assert "release-shop" not in home.text


async def test_who_may_see_nothing_learns_no_name_and_no_number(scene: Showing) -> None:
    names = ("shop-nights", "orders", "reports", "billing", "front-hours", "release-", "checkout-oom", ALICE)
    plan_path = f"/plans/{scene.namespace}/shop-nights"
    async with scene.desk.webs.browser() as browser:
        home = await scene.desk.webs.log_in(browser, EVE, "/")
        pages = {"/": home}
        for path in (
            *("/plans", "/plans?q=shop-nights", "/scalers", "/exceptions", "/exceptions/calendar"),
            *("/exceptions/new", "/remediations", "/audit", "/live?topics=plans&since=0", plan_path),
            *("/api/v1/overview", "/api/v1/plans", "/api/v1/audit/events", "/api/v1/audit/chain"),
            f"/exceptions/new?plan={scene.namespace}%2Fshop-nights",
        ):
            pages[path] = await browser.get(path)
        token = home.field("form_token")
        pages["wake"] = await browser.post(f"{plan_path}/wake", {"form_token": token, "reason": "x"})
    for path, page in pages.items():
        told = page.text.replace(plan_path, "").replace('value="shop-nights"', "")  # what Eve wrote herself
        assert not [name for name in names if name in told], path
    unseen = (plan_path, "wake", "/api/v1/audit/chain")
    assert {pages[one].status for one in unseen} == {404}
    assert "The chain ends at" not in pages["/audit"].text  # it counts all events
    numbers = json.loads(pages["/api/v1/overview"].text)
    counts = ("plans", "asleep", "awake", "moving", "suspended", "failures", "waits", "waitsForMe", "scalers")
    assert {name: numbers[name] for name in counts} == dict.fromkeys(counts, 0)
    assert numbers["saved"]["coreHours"] == 0
    assert not any((numbers["savedNow"] or {}).get("month", {}).values())


async def test_a_request_leads_to_its_whole_story(scene: Showing) -> None:
    await scene.desk.operator.operator.trail.flush()
    path = await scene.desk.shown(scene.names["asked"])
    async with scene.desk.webs.browser() as browser:
        page = await scene.desk.webs.log_in(browser, ALICE, path)
        link = re.search(r'href="(/audit\?kind=ScheduleException[^"]*)"', page.text)
        assert link, page.text
        story = (await browser.get(link[1].replace("&amp;", "&"))).text
        assert "scheduleexception.requested" in story
        assert f"by {ALICE}" in story
    assert f'href="/plans/{scene.namespace}/shop-nights"' in (await opened(scene, ALICE, path)).text
    asked = await opened(scene, BOB, path)  # but no auditor
    assert "The whole story" not in asked.text
    assert "/plans/" not in asked.text


async def test_who_may_see_exceptions_reads_a_request_but_cannot_decide_it(scene: Showing) -> None:
    page = await opened(scene, ALICE, await scene.desk.shown(scene.names["remedy"]))
    assert page.status == 200
    assert 'value="approve"' not in page.text


async def test_all_that_waits_for_people_is_listed_on_the_first_page(scene: Showing) -> None:
    """The number above the list counts remediations, too."""
    home = await opened(scene, ALICE, "/")
    waiting = home.text.split("What waits for other people")[1]
    for name in (scene.names["asked"], scene.names["remedy"]):
        assert f">{scene.namespace}/{name}</a>" in waiting


async def test_every_other_list_shows_what_one_may_see(scene: Showing) -> None:
    async with scene.desk.webs.browser() as browser:
        found = (await scene.desk.webs.log_in(browser, ALICE, "/scalers?q=front")).text
        assert f"/scalers/{scene.namespace}/front-hours" in found
        assert "release-shop" in (await browser.get("/exceptions?state=Pending&q=alice")).text
        assert "release-shop" not in (await browser.get("/exceptions?state=Active")).text
        assert "reports <span" in (await browser.get("/exceptions/calendar")).text
        assert (await browser.get("/exceptions/calendar?from=never")).status == 200
        assert scene.names["remedy"] in (await browser.get("/remediations?state=Pending")).text
    async with scene.desk.webs.browser() as browser:
        await scene.desk.webs.log_in(browser, EVE, "/scalers")
        for path in ("/scalers", "/exceptions", "/exceptions/calendar", "/remediations", "/audit"):
            page = await browser.get(path)
            assert page.status == 200
            assert "release-" not in page.text, path
            assert "front-hours" not in page.text, path
        assert (await browser.get(f"/scalers/{scene.namespace}/front-hours")).status == 404


async def test_the_trail_is_searched_and_exported_as_far_as_one_may_see_it(scene: Showing) -> None:
    await scene.desk.operator.operator.trail.flush()
    async with scene.desk.webs.browser() as browser:
        page = await scene.desk.webs.log_in(browser, ALICE, "/audit?kind=HibernatePlan&type=hibernateplan.*")
        assert "hibernateplan.created" in page.text
        assert "fit together" in page.text
        assert ATTACK not in page.text
        query = f"kind=ScheduleException&namespace={scene.namespace}&name=release-shop"
        story = await browser.get(f"/audit?{query}")
        assert "The story of ScheduleException" in story.text
        exported = await browser.get(f"/audit/export.csv?{query}")
        assert exported.headers["content-type"].startswith("text/csv")
        assert "release-shop" in exported.text
        assert "release-reports" not in exported.text
        assert (await browser.get("/audit/export.xls")).status == 404
        assert (await browser.get("/audit?since=yesterday")).status == 400
    async with scene.desk.webs.browser() as browser:
        await scene.desk.webs.log_in(browser, EVE, "/audit")
        assert (await browser.get("/audit/export.json")).text == "[]\n"


async def test_who_is_called_like_the_operator_sees_nothing_of_what_the_operator_did(scene: Showing) -> None:
    """Where people choose their user names themselves, someone may; what one did oneself, one may see."""
    await scene.desk.operator.operator.trail.flush()
    site = scene.desk.webs.replicas[0].site
    assert site.trail
    assert any(one.actor == OPERATOR for one in await site.trail.latest(Filter(), PAGE))
    now = site.clock.now()
    namesake = Identity("https://id.company.com", "7", EVE, "Eve", OPERATOR.id, (), now)
    who = Viewer(site, Session("any", namesake, now, now), Person(OPERATOR.id, EVE), Directory())
    assert (await Audits(Board(site)).listed(who, QueryParams())).items == ()


async def test_without_a_log_in_one_is_sent_there_and_a_script_is_not(scene: Showing) -> None:
    async with scene.desk.webs.browser() as browser:
        sent = await browser.get("/plans?q=shop")
        assert sent.location.endswith("/login?next=/plans%3Fq%3Dshop")
        assert (await browser.get("/plans", x_hibernator_live="1")).status == 401
        assert (await browser.get("/")).status == 200
