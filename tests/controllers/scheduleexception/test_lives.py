"""Lives of exceptions on the real control plane: lines, endings, deletions, and many who decide at once."""

import asyncio
from typing import Any

import pytest

from hibernator.api.exceptionpolicy import EXCEPTION_POLICIES
from hibernator.approvals.decision import Matter, NotAcceptedError, decide
from hibernator.approvals.people import Directory, read_roles
from hibernator.audit.database import Database
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.metrics import API_REQUESTS, RELISTS
from support.account import known_by, web_kubeconfig
from support.clock import ManualClock
from support.exception_scenes import EVERY_DAY, ExceptionScene, exception, hours
from support.operators import running
from support.plan_scenes import noop, plan

MONDAY = "2026-03-02T08:00:00Z"
SHORT: dict[str, Any] = {
    "type": "extend",
    "validFrom": MONDAY,
    "validUntil": "2026-03-02T09:00:00Z",
    "windows": hours("08:00", "13:00", EVERY_DAY),
}
LONG = SHORT | {"validUntil": "2026-03-20T00:00:00Z"}


async def test_the_next_one_takes_over_on_the_second(scene: ExceptionScene) -> None:
    scene.apply(plan(noop("nothing"), name="dev-plan"), exception("first", **SHORT))
    async with scene.operator() as run:
        scene.apply(exception("second", **LONG))
        await run.settle()
        second = scene.exception_status("second")
        assert (second["state"], second["message"]) == (
            "Pending",
            "Plan dev-plan already has active exception first (expires at 2026-03-02T09:00:00Z)",
        )
        await run.advance_to("2026-03-02T08:59:59Z")
        assert (scene.state("first"), scene.state("second")) == ("Active", "Pending")
        await run.advance_to("2026-03-02T09:00:00Z")
        assert (scene.state("first"), scene.state("second")) == ("Expired", "Active")
        assert scene.exception_status("second")["appliedAt"] == "2026-03-02T09:00:00Z"
        activated = await run.trail("scheduleexception.activated")
        assert [one.resource.name for one in activated] == ["first", "second"]
        assert sorted(scene.entries()) == [("first", "Expired"), ("second", "Active")]


async def test_of_many_that_come_at_once_one_is_active(scene: ExceptionScene) -> None:
    names = [f"e{number}" for number in range(12)]
    scene.apply(plan(noop("nothing"), name="dev-plan"), *(exception(name, **LONG) for name in names))
    async with scene.operator() as run:
        await run.settle()
        states = [scene.state(name) for name in names]
        assert sorted(states) == ["Active"] + ["Pending"] * 11
        active = names[states.index("Active")]
        await asyncio.to_thread(scene.delete, "scheduleexceptions", active)
        await run.settle()
        states = [scene.state(name) for name in names if name != active]
        assert sorted(states) == ["Active"] + ["Pending"] * 10


async def test_a_deleted_one_is_gone_from_the_plan_too(scene: ExceptionScene) -> None:
    scene.apply(plan(noop("nothing"), name="dev-plan"), exception("first", **LONG))
    async with scene.operator() as run:
        found = scene.get("scheduleexceptions", "first")["metadata"]
        assert found["labels"] == {"hibernator.ardikabs.com/plan": "dev-plan"}
        assert found["finalizers"] == ["hibernator.ardikabs.com/exception"]
        assert scene.entries() == [("first", "Active")]
        await asyncio.to_thread(scene.delete, "scheduleexceptions", "first")
        await run.settle()
        assert scene.entries() == []
        assert [one.actor.type for one in await run.trail("scheduleexception.deleted")] == ["unknown"]


async def test_it_outlives_its_plan_and_says_so(scene: ExceptionScene) -> None:
    scene.apply(plan(noop("nothing"), name="dev-plan"), exception("first", **LONG))
    async with scene.operator() as run:
        await asyncio.to_thread(scene.delete, "hplan", "dev-plan")
        await run.settle()
        status = scene.exception_status("first")
        assert (status["state"], status["conditions"][0]["status"]) == ("Pending", "False")
        assert "HibernatePlan dev-plan does not exist, so this exception has no effect." in status["message"]
        scene.apply(plan(noop("nothing"), name="dev-plan"))
        await run.settle()
        status = scene.exception_status("first")
        assert (status["state"], status["conditions"][0]["status"]) == ("Active", "True")
        assert scene.entries() == [("first", "Active")]


async def test_people_without_an_answer_let_it_time_out(scene: ExceptionScene) -> None:
    asked = exception("asked", approvalRequired=True, approverEmails=["bob@company.com"], **LONG)
    scene.apply(plan(noop("nothing"), name="dev-plan"), asked)
    clock = ManualClock(MONDAY)
    async with running(scene.cluster.kubeconfig, scene.namespace, clock, approval_patience_hours=24.0) as run:
        assert scene.state("asked") == "Pending"
        await run.advance_to("2026-03-03T08:00:00Z")
        status = scene.exception_status("asked")
        assert (status["state"], status["conditions"][0]["reason"]) == ("Rejected", "ApprovalTimeout")


async def test_two_hundred_who_decide_at_once_end_in_one_decision(scene: ExceptionScene) -> None:
    """Half of them say yes and half no, and one is enough either way."""
    users = [f"user{number}" for number in range(200)]
    roles = {"oncall": ", ".join(users)}
    asked = exception("asked", approvalRequired=True, approvalRequiredRoles=["oncall"], **LONG)
    members = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "hibernator-roles"},
        "data": roles,
    }
    scene.apply(members, plan(noop("nothing"), name="dev-plan"), asked)
    directory = Directory(roles=read_roles(roles))
    async with (
        running(scene.cluster.kubeconfig, scene.namespace) as run,
        # The web process writes what people told it, under an account of its own.
        Client(credentials.find(str(web_kubeconfig(scene.cluster.kubeconfig)))) as client,
    ):

        async def say(number: int, user: str) -> str:
            try:
                await decide(
                    client,
                    Matter("asked", scene.namespace),
                    directory.person(user),
                    "approve" if number % 2 else "reject",
                    "link",
                    now=run.clock.now(),
                    known_by=known_by(f"{user}@company.com"),
                )
            except NotAcceptedError as error:
                return str(error)
            return "accepted"

        answers = await asyncio.gather(*(say(number, user) for number, user in enumerate(users)))
        await run.settle()
    status = scene.exception_status("asked")
    decisions = [one for one in status["history"] if one["action"] in {"approved", "rejected"}]
    assert len(decisions) == 1
    winner, said = decisions[0]["actor"], decisions[0]["action"]
    assert answers[users.index(winner)] == "accepted"
    assert said == ("approved" if users.index(winner) % 2 else "rejected")
    assert status["approvalState"] == said.capitalize()
    assert status["state"] == ("Active" if said == "approved" else "Rejected")
    others = [answer for answer in answers if answer != "accepted"]
    assert all(answer.startswith(f"It was {said} already, by {winner} at ") for answer in others)


async def test_an_approval_of_what_was_shown_before_is_refused_when_it_was_made_anew(
    scene: ExceptionScene,
) -> None:
    asked = exception("asked", approvalRequired=True, approverEmails=["bob@company.com"], **LONG)
    scene.apply(plan(noop("nothing"), name="dev-plan"), asked)
    bob = Directory().person("bob@company.com")
    async with (
        running(scene.cluster.kubeconfig, scene.namespace) as run,
        # The web process writes what people told it, under an account of its own.
        Client(credentials.find(str(web_kubeconfig(scene.cluster.kubeconfig)))) as client,
    ):
        how = known_by("bob@company.com")
        shown = Matter("asked", scene.namespace, uid="another", spec_hash="sha256:another")
        with pytest.raises(NotAcceptedError, match="no longer what was shown"):
            await decide(client, shown, bob, "approve", "slack", now=run.clock.now(), known_by=how)
        here = Matter("asked", scene.namespace)
        await decide(client, here, bob, "approve", "slack", now=run.clock.now(), known_by=how)
        await run.settle()
        assert scene.state("asked") == "Active"
        with pytest.raises(NotAcceptedError, match=r"approved already, by bob@company\.com"):
            await decide(client, here, bob, "reject", "slack", now=run.clock.now(), known_by=how)


async def test_policies_are_read_past_the_cache_once_for_an_approval(scene: ExceptionScene) -> None:
    asked = exception("asked", approvalRequired=True, approverEmails=["bob@company.com"], **LONG)
    scene.apply(plan(noop("nothing"), name="dev-plan"), asked)
    bob = Directory().person("bob@company.com")
    async with (
        running(scene.cluster.kubeconfig, scene.namespace) as run,
        Client(credentials.find(str(web_kubeconfig(scene.cluster.kubeconfig)))) as client,
    ):

        def lists() -> float:
            """Without those of the cache, which may begin anew at any time."""
            resource = EXCEPTION_POLICIES.resource
            return run.metric(API_REQUESTS, "list", resource, "200") - run.metric(RELISTS, resource)

        before = lists()
        here, now = Matter("asked", scene.namespace), run.clock.now()
        await decide(client, here, bob, "approve", "link", now=now, known_by=known_by("bob@company.com"))
        await run.until(lambda: scene.state("asked") == "Active")
        assert lists() == before + 1


async def test_nothing_that_people_agreed_to_goes_ahead_while_the_audit_database_is_away(
    scene: ExceptionScene,
) -> None:
    asked = exception("asked", approvalRequired=True, approverEmails=["bob@company.com"], **LONG)
    scene.apply(plan(noop("nothing"), name="dev-plan"), asked, exception("free", "other-plan", **LONG))
    scene.apply(plan(noop("nothing"), name="other-plan"))
    bob = Directory().person("bob@company.com")
    async with (
        running(scene.cluster.kubeconfig, scene.namespace) as run,
        # The web process writes what people told it, under an account of its own.
        Client(credentials.find(str(web_kubeconfig(scene.cluster.kubeconfig)))) as client,
    ):
        async with Database(run.database) as held, held.begin() as connection:
            await connection.exec_driver_sql("CREATE TABLE hold (x)")  # a write lock that is not let go
            here, now = Matter("asked", scene.namespace), run.clock.now()
            await decide(client, here, bob, "approve", "link", now=now, known_by=known_by("bob@company.com"))
            await run.until(lambda: scene.state("asked") == "Approved")
            await run.settle()  # it has tried, and given up for now
            status = scene.exception_status("asked")
            assert status["conditions"][0]["reason"] == "AwaitingRecord"
            assert scene.state("free") == "Active"
        await run.advance(60)
        await run.until(lambda: scene.state("asked") == "Active")
        assert [one.resource.name for one in await run.trail("scheduleexception.approved")] == ["asked"]
