"""Policies and exceptions together: what a policy says about itself, and what it makes of an exception."""

import asyncio
from typing import Any

import msgspec
import pytest

from hibernator.api.exceptionpolicy import EXCEPTION_POLICIES
from hibernator.approvals.decision import Matter, decide
from hibernator.approvals.people import Directory
from hibernator.approvals.policies import Policies
from hibernator.kube import credentials
from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.errors import Conflict
from hibernator.kube.metrics import Metrics
from support.account import known_by, web_kubeconfig
from support.exception_scenes import EVERY_DAY, ExceptionScene, exception, hours


def four_eyes(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "ExceptionPolicy",
        "metadata": {"name": "four-eyes"},
        "spec": {"require": {"roles": ["manager"]}} | spec,
    }


def said(scene: ExceptionScene) -> tuple[str, str]:
    found = scene.get("exceptionpolicies", "four-eyes").get("status", {}).get("conditions", ())
    return next(((one["status"], one["reason"]) for one in found), ("", ""))


async def test_a_policy_says_whether_it_can_be_read_and_each_change_is_in_the_trail(
    scene: ExceptionScene,
) -> None:
    scene.plan_over_web()
    scene.apply(four_eyes())
    party = exception(
        "party",
        reason="because",
        type="suspend",
        validFrom="2026-03-01T00:00:00Z",
        validUntil="2026-03-08T00:00:00Z",
        windows=hours("20:00", "23:00", EVERY_DAY),
    )
    async with scene.operator() as run:
        await run.until(lambda: said(scene) == ("True", "InForce"))
        scene.apply(party)
        await run.until(lambda: scene.state("party") == "Pending")
        asked = scene.exception_status("party")["requiredApprovals"]
        assert [(one["role"], one["policy"]) for one in asked] == [("manager", "four-eyes")]
        scene.apply(four_eyes(reasonRequired=True, reasonPattern="[A-"))
        await run.until(lambda: said(scene) == ("False", "InvalidSpec"))
        await run.until(lambda: "cannot be read" in scene.exception_status("party")["message"])
        scene.delete("exceptionpolicies", "four-eyes")
        await run.until(lambda: scene.state("party") == "Active")
        await run.settle()
        [trouble] = await run.trail("exceptionpolicy.degraded")
        assert "spec.reasonPattern" in trouble.error
        for action in ("created", "ready", "changed", "deleted"):
            assert len(await run.trail(f"exceptionpolicy.{action}")) == 1
    assert [reason for reason, _, _ in scene.events("four-eyes")] == ["InForce", "InvalidSpec"]


async def test_what_a_policy_held_goes_ahead_only_once_its_approvals_are_on_record(
    scene: ExceptionScene,
) -> None:
    """The freeze ends, and its owner asks for fewer by then: what was said before is enough at once."""
    freeze = [{"firstDay": "2026-03-03", "lastDay": "2026-03-03"}]
    both, bob = ({"emails": ["bob@company.com", *more]} for more in (["carol@company.com"], []))
    friday = hours("12:00", "13:00", ["Friday"])
    days = {"validFrom": "2026-03-02T00:00:00Z", "validUntil": "2026-03-20T00:00:00Z"}
    scene.plan_over_web()
    scene.apply(four_eyes(require=both, freeze=freeze))
    scene.apply(exception("asked", type="suspend", windows=friday, **days))
    async with (
        scene.operator() as run,
        Client(credentials.find(str(web_kubeconfig(scene.cluster.kubeconfig)))) as client,
    ):
        here, who = Matter("asked", scene.namespace), Directory().person("bob@company.com")
        know = known_by("bob@company.com")
        await decide(client, here, who, "approve", "link", now=run.clock.now(), known_by=know)
        await run.until(lambda: scene.exception_status("asked").get("approvalProgress") == "1/2")
        await run.advance_to("2026-03-03T12:00:00Z")
        assert "it is a freeze" in scene.exception_status("asked")["message"]
        scene.apply(four_eyes(require=bob, freeze=freeze))
        await run.advance_to("2026-03-04T00:00:00Z")
        assert scene.state("asked") == "Active"
    assert "AwaitingRecord" in {reason for reason, _, _ in scene.events("asked")}


@pytest.mark.parametrize("rule", [{"limits": {"maxDuration": "8h"}}, {"unless": [{"durationAtMost": "8h"}]}])
async def test_what_an_older_request_made_too_long_is_free_of_it_once_that_is_over(
    scene: ExceptionScene, rule: dict[str, Any]
) -> None:
    def asked(name: str, since: str, until: str) -> dict[str, Any]:
        days = {"validFrom": f"2026-03-04T{since}:00Z", "validUntil": f"2026-03-04T{until}:00Z"}
        return exception(name, type="suspend", windows=hours(since, until, EVERY_DAY), **days)

    scene.plan_over_web()
    by = {"approvalRequired": True, "approverEmails": ["bob@company.com"]}
    elder = asked("elder", "08:00", "13:00")
    scene.apply(four_eyes(require={"roles": ["manager"]}, **rule), elder | {"spec": elder["spec"] | by})
    async with scene.operator() as run:
        await run.until(lambda: scene.state("elder") == "Pending")
        scene.apply(asked("younger", "13:00", "18:00"))
        await run.settle()
        before = scene.exception_status("younger")["message"]
        assert "lasts 10h" in before or "Waits for the approval of manager" in before
        await asyncio.to_thread(scene.delete, "scheduleexceptions", "elder")
        await run.settle()
        after = scene.exception_status("younger")
        assert (after["message"] != before, after["state"] == "Active") == (True, "unless" in rule)


async def test_an_active_exception_that_is_changed_under_a_policy_puts_nothing_to_sleep_first(
    scene: ExceptionScene,
) -> None:
    """Changed while no operator is there, so that the plan may well be looked at before the exception."""
    scene.plan_over_web()
    days = {"validFrom": "2026-03-02T00:00:00Z", "validUntil": "2026-03-20T00:00:00Z"}
    scene.apply(exception("party", type="suspend", windows=hours("20:00", "21:00", EVERY_DAY), **days))
    async with scene.operator() as run:
        await run.until(lambda: scene.state("party") == "Active")
    all_day = hours("00:00", "23:59", EVERY_DAY)
    scene.apply(four_eyes(), exception("party", type="extend", windows=all_day, **days))
    async with scene.operator() as run:
        await run.until(lambda: scene.state("party") == "Pending")
        await run.settle()
        assert "SleepStarted" not in {reason for reason, _, _ in scene.events("dev-plan")}
        assert scene.replicas() == 2


async def test_labels_of_a_namespace_that_the_cache_does_not_have_yet_let_nothing_through(
    scene: ExceptionScene,
) -> None:
    """Who makes a namespace and asks in the same moment is under the policies that select it."""
    scene.apply(four_eyes(namespaceSelector={"matchLabels": {"tier": "production"}}))
    kubeconfig = str(scene.cluster.kubeconfig)
    async with Client(credentials.find(kubeconfig)) as client:
        policies = Policies(Caches(client, Metrics()), scene.namespace)
        seen = tuple(await client.list(EXCEPTION_POLICIES, scene.namespace))
        labels = scene.cluster.request("GET", f"/api/v1/namespaces/{scene.namespace}")["metadata"]["labels"]
        await policies.read_again(client, scene.namespace, seen, labels)
        with pytest.raises(Conflict, match="labels of the namespace"):
            await policies.read_again(client, scene.namespace, seen, {})
        near = msgspec.structs.replace(seen[0].spec, namespace_selector=None)
        only_near = (msgspec.structs.replace(seen[0], spec=near),)
        await policies.read_again(client, scene.namespace, only_near, {})
