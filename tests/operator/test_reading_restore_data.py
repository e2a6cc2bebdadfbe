"""What restore data says, for the web process: served by the operator, for who may read it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import aiohttp
import pytest

from hibernator.audit.database import Database
from hibernator.audit.migrate import migrate
from hibernator.decisions.hibernateplan_restore import FINALIZER, LABEL, PLAN_LABEL, TARGET_LABEL, name_of
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.reading import REQUESTS
from support.account import operator_kubeconfig, web_kubeconfig
from support.cluster import ClusterInTest
from support.reading import Served, served
from support.rights import may, until

PLANS = "hibernateplans.hibernator.ardikabs.com"
SECRET = "s3cret-Value"


@dataclass
class Scene:
    api: Served
    session: aiohttp.ClientSession
    cluster: ClusterInTest
    namespace: str
    web: str  # how the account of the web process shows who it is

    def keep(self, plan: str, target: str, items: str) -> None:
        """Write restore data, as the operator does."""
        parameters = {"includedGroups": ["Deployment"], "note": SECRET}
        body = {
            "metadata": {
                "name": name_of(plan, target, 0),
                "labels": {LABEL: "true", PLAN_LABEL: plan, TARGET_LABEL: target},
                "finalizers": [FINALIZER],
            },
            "data": {
                "target.json": json.dumps(
                    {"name": target, "type": "workloadscaler", "parameters": parameters}
                ),
                "items.json": items,
            },
        }
        self.cluster.request("POST", f"/api/v1/namespaces/{self.namespace}/configmaps", body)

    async def ask(self, plan: str, token: str = "", namespace: str = "") -> tuple[int, str]:
        path = f"{self.api.url}/restore/v1/{namespace or self.namespace}/{plan}"
        async with self.session.get(
            path, headers={"Authorization": token or self.web}, ssl=False, allow_redirects=False
        ) as answer:
            return answer.status, await answer.text()

    async def account(self, name: str, *rule: str) -> str:
        """An account of its own with this rule in the namespace; how it shows who it is."""
        kubectl = self.cluster.kubectl
        kubectl("create", "serviceaccount", name, "-n", self.namespace)
        if rule:
            kubectl("create", "role", name, "--verb=get", *rule, "-n", self.namespace)
            account = f"--serviceaccount={self.namespace}:{name}"
            kubectl("create", "rolebinding", name, f"--role={name}", account, "-n", self.namespace)
            user, resource = f"system:serviceaccount:{self.namespace}:{name}", rule[0].partition("=")[2]
            listed = ("auth", "can-i", "--list", "-n", self.namespace)
            await asyncio.to_thread(until, lambda: resource in kubectl(*listed, as_user=user).stdout)
        made = await asyncio.to_thread(kubectl, "create", "token", name, "-n", self.namespace)
        return f"Bearer {made.stdout.strip()}"


@pytest.fixture(scope="module")
async def scene(crds: ClusterInTest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    url = f"sqlite:///{tmp_path_factory.mktemp('restore')}/audit.db"
    namespace = crds.create_namespace()
    own = await asyncio.to_thread(operator_kubeconfig, crds.kubeconfig)
    web = credentials.find(str(await asyncio.to_thread(web_kubeconfig, crds.kubeconfig)))
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(Database(url))
        await migrate(database)
        operator = await stack.enter_async_context(Client(credentials.find(str(own))))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        api = await stack.enter_async_context(served(operator, database, namespace))
        scene = Scene(api, session, crds, namespace, (await web.access()).headers["Authorization"])
        items = '{"Deployment/team-a/web": {"cycle": 7, "was": {"uid": "u", "replicas": 3}}}'
        scene.keep("nights", "web", items)
        scene.keep("other", "api", '{"Deployment/team-a/api": {"cycle": 1, "was": {"replicas": 9}}}')
        yield scene


async def test_the_web_process_reads_which_items_sleep_and_what_they_wake_to(scene: Scene) -> None:
    status, text = await scene.ask("nights")
    assert status == 200, text
    [target] = json.loads(text)["targets"]
    assert target.pop("since")
    [item] = target.pop("items")
    assert target == {"name": "web", "type": "workloadscaler", "asleep": 1, "total": 1}
    assert item == {
        "name": "web",
        "kind": "Deployment",
        "namespace": "team-a",
        "state": "Asleep",
        "wakesTo": "3 replicas",
        "awakeUntil": None,
        "cycle": 7,
    }
    assert SECRET not in text
    assert "uid" not in text
    assert await scene.ask("awake") == (200, '{"targets":[]}')
    assert await scene.ask("nights", namespace="default") == (200, '{"targets":[]}')


async def test_the_web_process_itself_still_reads_no_restore_data(scene: Scene) -> None:
    user = "system:serviceaccount:hibernator-system:hibernator-web"
    for resource in ("configmaps", "secrets"):
        assert not may(scene.cluster, scene.namespace, user, "get", resource)
        assert not may(scene.cluster, scene.namespace, user, "list", resource)


async def test_no_one_reads_it_without_the_right_to_that_part_of_the_plan(scene: Scene) -> None:
    plans_only = await scene.account("plans-only", f"--resource={PLANS}")
    configmaps_only = await scene.account("maps-only", "--resource=configmaps")
    for token in (plans_only, configmaps_only, await scene.account("nothing")):
        status, text = await scene.ask("nights", token)
        assert status == 403
        assert f"it needs the verb get for hibernateplans/restoredata in {scene.namespace}." in text
    for token in ("Bearer garbage", "Basic aGliZXJuYXRvcjp4", scene.web[:-4] + "AAAA"):
        assert (await scene.ask("nights", token))[0] == 401
    assert scene.api.metrics.value(REQUESTS, "403") >= 3


async def test_the_right_is_given_for_a_namespace_or_a_plan_as_that_to_plans_is(scene: Scene) -> None:
    rule = (f"--resource={PLANS}/restoredata", "--resource-name=nights")
    token = await scene.account("one-plan", *rule)
    assert (await scene.ask("nights", token))[0] == 200
    assert (await scene.ask("other", token))[0] == 403
    assert (await scene.ask("nights", token, namespace="default"))[0] == 403


@pytest.mark.parametrize(
    "plan", ["nights,other", "nights%2Cx%3Dy", "nights%20", "..", "%2e%2e", "x" * 64, "Nights", "nights%00"]
)
async def test_what_is_no_name_of_a_plan_is_not_asked_about(scene: Scene, plan: str) -> None:
    status, text = await scene.ask(plan)
    assert status in {400, 404}, text
    assert "Deployment" not in text


async def test_damaged_restore_data_is_said_and_the_others_are_read_on(scene: Scene) -> None:
    scene.keep("damaged", "web", '{"Deployment/team-a/web": {"cycle": "seven"}}')
    status, text = await scene.ask("damaged")
    assert status == 503
    assert f"The restore data of {scene.namespace}/damaged is damaged" in text
    assert (await scene.ask("nights"))[0] == 200


async def test_it_is_only_read(scene: Scene) -> None:
    path = f"{scene.api.url}/restore/v1/{scene.namespace}/nights"
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        async with scene.session.request(
            method, path, headers={"Authorization": scene.web}, ssl=False
        ) as answer:
            assert answer.status == 405
