"""Whole lives of requests in Slack, on the real control plane: processes are killed, and tokens revoked."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hibernator.api.approvaldelivery import DELIVERIES
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.approvals import remediation
from hibernator.approvals.decision import Matter
from hibernator.approvals.people import Directory
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from hibernator.messages.slack_api import ACCEPTED
from messages.scenes import ALICE, BOB, CAROL, DORA
from messages.test_lives import MONDAY, PATIENCE, REMEDIATION, WISH, decide
from support.account import known_by, web_kubeconfig, web_settles_in
from support.clock import ManualClock
from support.exception_scenes import ExceptionScene, exception, hours
from support.mortal import Nursery
from support.operators import running
from support.plan_scenes import noop, plan
from support.posts import posting
from support.slack import BOT_TOKEN, SECRET, TEAM, LoopbackSlack, loopback_slack
from support.slack_lives import Killer

ROOM = "C024BE91L"
ASKED = WISH | {"approverEmails": [BOB, CAROL], "approvalRequiredRoles": []}


@dataclass
class Place:
    scene: ExceptionScene
    slack: LoopbackSlack
    clock: ManualClock
    folder: Path

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "slack_bot_token_file": str(self.folder / "bot"),
            "slack_api_url": f"{self.slack.url}/api/",
            "slack_team_id": TEAM,
            "slack_mode": "buttons",
            "slack_signing_secret_file": str(self.folder / "signing"),
            "slack_channel": ROOM,
        }


@pytest.fixture
async def place(scene: ExceptionScene, tmp_path: Path) -> AsyncIterator[Place]:
    clock = ManualClock(MONDAY)
    (tmp_path / "bot").write_text(BOT_TOKEN)
    (tmp_path / "signing").write_text(SECRET)
    scene.apply(plan(noop("nothing"), name="dev-plan"))
    async with loopback_slack(now=lambda: clock.now().timestamp()) as slack:
        for one in (ALICE, BOB, CAROL, DORA):
            slack.person(one)
        slack.channel(ROOM)
        yield Place(scene, slack, clock, tmp_path)


def said(messages: list[dict[str, Any]]) -> list[str]:
    return [one["text"].partition(":")[0] for one in messages]


async def test_kill_9_after_every_call_of_a_life_leaves_one_true_message_for_each_person(
    place: Place,
) -> None:
    scene, slack, clock = place.scene, place.slack, place.clock
    killer = Killer(slack, place.folder / "pid")
    lives = 0

    async def let_live(nursery: Nursery) -> None:
        """Start a process as often as it is killed; each waits as long as the claims of the last hold."""
        nonlocal lives
        while True:
            lives += 1
            at = clock.now().add(minutes=3 * lives).format_iso()
            given = (str(scene.cluster.kubeconfig), scene.namespace, str(place.folder), at)
            if not await asyncio.to_thread(nursery.live, *given, json.dumps(place.settings)):
                return

    await asyncio.to_thread(web_settles_in, scene.cluster.kubeconfig, scene.namespace)
    async with (
        running(scene.cluster.kubeconfig, scene.namespace, clock, **PATIENCE) as run,
        Client(find(str(web_kubeconfig(scene.cluster.kubeconfig)))) as client,
    ):
        scene.apply(exception("asked", **ASKED))
        await run.settle()
        with Nursery("support.slack_lives:keep") as nursery:
            await let_live(nursery)
            await decide(client, clock, scene, BOB, "reject", "Not in the freeze.")
            await run.settle()
            await let_live(nursery)
    methods = Counter(method for method, _ in killer.killed_after)
    assert methods.keys() >= {"users.lookupByEmail", "conversations.open", "chat.postMessage", "chat.update"}
    assert lives == len(killer.killed_after) + 2  # the last of each chapter lives to its end
    over = last = "❌ Exception rejected"
    assert {one: said(slack.conversation(one)) for one in (ALICE, BOB, CAROL)} == {
        ALICE: [last],
        BOB: [over, "Your decision counts", last],
        CAROL: [over, last],
    }
    assert said(slack.channel(ROOM)) == [over, f"✗ {BOB} rejected it", last]
    for one in (BOB, CAROL):
        [question] = slack.questions(one)
        assert "hibernator_approve" not in str(question["blocks"])
        assert f"✗ {BOB} rejected: Not in the freeze." in str(question["blocks"])


async def test_a_revoked_token_is_one_condition_and_one_event_however_many_are_asked(place: Place) -> None:
    scene, slack, clock = place.scene, place.slack, place.clock
    slack.token = "xoxb-new"
    everybody = (BOB, CAROL, DORA)
    async with (
        running(scene.cluster.kubeconfig, scene.namespace, clock, **PATIENCE) as run,
        posting(scene.cluster.kubeconfig, scene.namespace, place.folder, clock, **place.settings) as post,
    ):
        for number in range(3):
            scene.apply(plan(noop("nothing"), name=f"plan-{number}"))
            scene.apply(
                exception(f"asked-{number}", f"plan-{number}", **ASKED | {"approverEmails": everybody})
            )
            await run.settle()
            await post.settle()
        clock.settles_with(post.settle)
        await clock.advance(600)
        held = await post.client.list(DELIVERIES, scene.namespace)
        [condition] = [one for delivery in held for one in delivery.status.conditions]
        assert (condition.type, condition.status, condition.reason) == (
            "Delivered",
            "False",
            "SlackTokenRefused",
        )
        assert "Slack refuses the token of the app: invalid_auth" in condition.message
        assert post.metrics.value(ACCEPTED, "bot") == 0
        assert len(slack.calls) == 0
        (place.folder / "bot").write_text("xoxb-new")
        await clock.advance(120)
        assert post.metrics.value(ACCEPTED, "bot") == 1
        assert [len(slack.questions(one)) for one in everybody] == [3, 3, 3]
        assert len(slack.channel(ROOM)) == 3
        held = await post.client.list(DELIVERIES, scene.namespace)
        assert {one.reason for delivery in held for one in delivery.status.conditions} == {"Sent"}
    events = scene.cluster.kubectl("get", "events", "-n", scene.namespace, "-o", "json").stdout
    told = [one for one in json.loads(events)["items"] if "Slack" in one.get("message", "")]
    assert [one["reason"] for one in told] == ["SlackTokenRefused"]


async def test_a_question_that_was_deleted_in_slack_is_there_again_within_a_day_and_once(
    place: Place,
) -> None:
    """Slack does not say that a person deleted a message: the daily look finds out, where nothing changed."""
    scene, slack, clock = place.scene, place.slack, place.clock
    patience: dict[str, Any] = {"approval_patience_hours": 240.0}
    weekends = {"timezone": "UTC", "offHours": hours("01:00", "20:00", ["Saturday"])}  # and no change before
    scene.apply(plan(noop("nothing"), name="dev-plan", schedule=weekends), exception("asked", **ASKED))
    async with (
        running(scene.cluster.kubeconfig, scene.namespace, clock, **patience),
        posting(scene.cluster.kubeconfig, scene.namespace, place.folder, clock, **place.settings) as post,
    ):
        clock.settles_with(post.settle)
        first = {one: slack.questions(one)[0]["ts"] for one in (BOB, CAROL)}
        slack.conversation(BOB).clear()
        slack.channel(ROOM).clear()
        await clock.advance(23 * 3600)
        assert slack.conversation(BOB) == []
        await clock.advance(2 * 3600)
        [again], [kept] = slack.questions(BOB), slack.questions(CAROL)
        assert again["ts"] != first[BOB]
        assert kept["ts"] == first[CAROL]
        assert "hibernator_approve" in str(again["blocks"])
        assert len(slack.channel(ROOM)) == 1
        await clock.advance(3 * 24 * 3600)
        assert [len(slack.questions(one)) for one in (BOB, CAROL)] == [1, 1]
        assert len(slack.channel(ROOM)) == 1
        assert len(said(slack.conversation(BOB))) == 1  # half time comes after five days


async def test_an_open_question_follows_its_plan_and_one_that_is_over_does_not(place: Place) -> None:
    scene, slack, clock = place.scene, place.slack, place.clock

    def plan_in(zone: str) -> dict[str, Any]:
        nights = {"timezone": zone, "offHours": hours("20:00", "06:00", ["Monday", "Tuesday"])}
        return plan(noop("nothing"), name="dev-plan", schedule=nights)

    def shown() -> list[str]:
        return [str(one["blocks"]) for one in (*slack.questions(BOB), *slack.channel(ROOM)[:1])]

    scene.apply(plan_in("UTC"), exception("asked", **ASKED))
    async with (
        running(scene.cluster.kubeconfig, scene.namespace, clock, **PATIENCE) as run,
        posting(scene.cluster.kubeconfig, scene.namespace, place.folder, clock, **place.settings) as post,
    ):
        clock.settles_with(post.settle)
        await run.settle()
        scene.apply(plan_in("Africa/Abidjan"))  # the same hours: nothing else says that it changed
        await run.settle()
        await clock.advance(5)
        assert ["(Africa/Abidjan)" in one for one in shown()] == [True, True]
        await decide(post.client, clock, scene, BOB, "reject", "Not in the freeze.")
        await run.settle()
        await clock.advance(10)
        edits = [method for method, _ in slack.calls].count("chat.update")
        scene.apply(plan_in("Europe/Berlin"))
        await run.settle()
    async with posting(scene.cluster.kubeconfig, scene.namespace, place.folder, clock, **place.settings):
        assert ["(Africa/Abidjan)" in one for one in shown()] == [True, True]
        assert [method for method, _ in slack.calls].count("chat.update") == edits


async def test_the_second_level_is_asked_in_slack_when_a_remediation_is_escalated(place: Place) -> None:
    scene, slack, clock = place.scene, place.slack, place.clock
    scene.cluster.request("POST", APPROVAL_REQUESTS.path(scene.namespace), REMEDIATION)
    async with (
        running(scene.cluster.kubeconfig, scene.namespace, clock) as run,
        posting(scene.cluster.kubeconfig, scene.namespace, place.folder, clock, **place.settings) as post,
    ):
        clock.settles_with(post.settle)
        await run.settle()
        await post.settle()
        assert [len(slack.questions(one)) for one in (BOB, CAROL)] == [1, 0]
        await clock.advance_to("2026-03-02T10:00:00Z")  # half an hour after it was escalated
        [first], [second] = slack.questions(BOB), slack.questions(CAROL)
        assert "hibernator_approve" in str(second["blocks"])
        assert "hibernator_approve" in str(first["blocks"])  # the first level can still decide
        assert said(slack.channel(ROOM))[1:] == ["Escalated"]
        how = known_by(CAROL)
        who, matter = Directory().known(CAROL, how), Matter("oom", scene.namespace)
        await remediation.decide(post.client, matter, who, "approve", "slack", now=clock.now(), known_by=how)
        await run.settle()
        await post.settle()
        await clock.advance(5)  # one message a second in a conversation
        for one in (BOB, CAROL):
            assert "hibernator_approve" not in str(slack.questions(one)[0]["blocks"])
        assert len(said(slack.conversation(BOB))) == 2
        assert len(said(slack.conversation(CAROL))) == 3  # with the confirmation of her own


async def test_neither_a_lost_nor_a_slow_answer_to_one_keeps_the_others_waiting(place: Place) -> None:
    scene, slack, clock = place.scene, place.slack, place.clock
    everybody = [BOB, CAROL, DORA]
    asked = ASKED | {"approverEmails": everybody}
    known = slack.questions
    async with (
        running(scene.cluster.kubeconfig, scene.namespace, clock, **PATIENCE) as run,
        posting(scene.cluster.kubeconfig, scene.namespace, place.folder, clock, **place.settings) as post,
    ):
        slack.troubles.append({"error": "internal_error"})
        scene.apply(exception("asked", **asked))
        await run.settle()
        await post.settle()
        assert sorted(len(known(one)) for one in everybody) == [0, 1, 1]
        clock.settles_with(post.settle)
        await clock.advance(60)
        assert [len(known(one)) for one in everybody] == [1, 1, 1]

        slow, third, before = asyncio.Event(), asyncio.Event(), len(slack.calls)

        def second_is_slow(_method: str) -> None:
            posts = [method for method, _ in slack.calls[before:]].count("chat.postMessage")
            if posts == 2:
                slack.held["chat.postMessage"] = slow
            if posts == 3:
                third.set()

        slack.after_call = second_is_slow
        scene.apply(plan(noop("nothing"), name="other-plan"), exception("again", "other-plan", **asked))
        await asyncio.wait_for(third.wait(), 30)  # under way beside the second
        slack.after_call = None
        slow.set()
        await run.settle()
        await post.settle()
        assert [len(known(one)) for one in everybody] == [2, 2, 2]

        slack.troubles.append({"error": "msg_too_long"})
        await decide(post.client, clock, scene, CAROL, "approve")
        await run.settle()
        await clock.advance(10)  # one message a second in a conversation
        votes = [f"✓ {CAROL}" in str(known(one)[0]["blocks"]) for one in everybody]
        assert sorted(votes) == [False, True, True]  # a change was refused; the next is made all the same
        await decide(post.client, clock, scene, BOB, "reject", "Not in the freeze.")
        await run.settle()
        await clock.advance(10)
        assert [known(one)[0]["text"].partition(":")[0] for one in everybody] == ["❌ Exception rejected"] * 3
