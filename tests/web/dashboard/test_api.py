"""The JSON API: the views of the pages, for those who may see them, as its own document describes them."""

import json

from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate

from support.approving import ALICE
from support.showing import EVE, Showing


async def test_each_answer_is_as_the_document_says(scene: Showing) -> None:
    async with scene.desk.webs.browser() as browser:
        await scene.desk.webs.log_in(browser, ALICE, "/plans")
        described = json.loads((await browser.get("/api/v1/openapi.json")).text)
        validate(described)
        names = {"/plans/": "shop-nights", "/scalers/": "front-hours"}
        for path, what in described["paths"].items():
            name = next((name for part, name in names.items() if part in path), "")
            answer = await browser.get(path.format(namespace=scene.namespace, name=name))
            assert answer.status == 200, path
            schema = what["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            OAS31Validator({**schema, "components": described["components"]}).validate(
                json.loads(answer.text)
            )
        plans = json.loads((await browser.get("/api/v1/plans?q=shop")).text)
        assert [one["name"] for one in plans["items"]] == ["shop-nights"]
        assert plans["items"][0]["state"] == "Asleep"


async def test_the_api_hides_what_the_pages_hide(scene: Showing) -> None:
    plan = f"/api/v1/plans/{scene.namespace}/shop-nights"
    async with scene.desk.webs.browser() as browser:
        stranger = await browser.get(plan)
        assert (stranger.status, json.loads(stranger.text)["error"]) == (401, "You are not logged in.")
        await scene.desk.webs.log_in(browser, EVE, "/plans")
        assert (await browser.get(plan)).status == 404
        for path in ("plans", "scalers", "exceptions", "remediations", "audit/events"):
            assert json.loads((await browser.get(f"/api/v1/{path}")).text)["items"] == [], path


async def test_what_is_refused_is_told_a_script_as_json(scene: Showing) -> None:
    async with scene.desk.webs.browser() as browser:
        await scene.desk.webs.log_in(browser, ALICE, "/plans")
        refused = {
            "no such call": (404, await browser.get("/api/v1/nothing")),
            "another method": (405, await browser.post("/api/v1/plans", {})),
            "another site": (403, await browser.post("/api/v1/plans", {}, origin="https://evil.test")),
            "no moment": (400, await browser.get("/api/v1/audit/events?since=yesterday")),
            "too many cookies": (431, await browser.get("/api/v1/plans", cookie="a=" + "b" * 30_000)),
        }
    for how, (status, answer) in refused.items():
        assert (how, answer.status, answer.headers["content-type"]) == (how, status, "application/json")
        assert json.loads(answer.text).keys() == {"error", "fix"}, how
