"""Requests from the first mail to the last, on the real control plane and over a real mail server."""

import re
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

import msgspec

from hibernator.api.approvaldelivery import DELIVERIES, ApprovalDelivery
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.approvals import decision, remediation
from hibernator.approvals.decision import Matter
from hibernator.approvals.people import Directory
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.messages.links import check
from hibernator.messages.mail import Mail
from hibernator.messages.renewal import ask_again
from messages.scenes import BOB, CAROL
from support.account import known_by
from support.clock import ManualClock
from support.exception_scenes import EVERY_DAY, ExceptionScene, exception, hours
from support.mailserver import MailServer, mail_server
from support.operators import running
from support.plan_scenes import noop, plan
from support.posts import posting

ALICE = "alice@company.com"
MONDAY = "2026-03-02T08:00:00Z"
ROLES = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "hibernator-roles"},
    "data": {"manager": CAROL},
}
WISH: dict[str, Any] = {
    "by": ALICE,
    "type": "suspend",
    "validFrom": MONDAY,
    "validUntil": "2026-03-20T00:00:00Z",
    "windows": hours("20:00", "23:00", EVERY_DAY),
    "approvalRequired": True,
    "approverEmails": [BOB],
    "approvalRequiredRoles": ["manager"],
    "reason": "The release needs the night.",
}
_REMEDIATIONS = "remediationapprovalrequest"
PATIENCE: dict[str, Any] = {"approval_patience_hours": 24.0}


async def decide(
    client: Client, clock: Clock, scene: ExceptionScene, who: str, verdict: Any, why: str = ""
) -> None:
    how = known_by(who)
    person = Directory().known(who, how)
    matter = Matter("asked", scene.namespace)
    await decision.decide(client, matter, person, verdict, "link", now=clock.now(), reason=why, known_by=how)


async def deliveries(client: Client, namespace: str) -> dict[str, ApprovalDelivery]:
    return {one.spec.recipient: one for one in await client.list(DELIVERIES, namespace)}


def link_in(server: MailServer, recipient: str) -> str:
    text = server.to(recipient)[-1].get_body(("plain",))
    assert text is not None
    return str(re.findall(r"https://\S+", text.get_content())[0])


async def test_a_request_is_told_from_the_question_to_the_end(scene: ExceptionScene, tmp_path: Path) -> None:
    scene.apply(ROLES, plan(noop("nothing"), name="dev-plan"), exception("asked", **WISH))
    kubeconfig, clock = scene.cluster.kubeconfig, ManualClock(MONDAY)
    async with (
        mail_server(tmp_path) as server,
        running(kubeconfig, scene.namespace, clock, **PATIENCE) as run,
        posting(kubeconfig, scene.namespace, tmp_path, clock, server) as post,
    ):
        clock.settles_with(post.settle)
        uid = scene.get("scheduleexceptions", "asked")["metadata"]["uid"]
        assert [server.subjects(one) for one in (ALICE, BOB, CAROL)] == [
            [],
            [f"Approval needed: Keep {scene.namespace}/dev-plan awake"],
            [f"Approval needed: Keep {scene.namespace}/dev-plan awake"],
        ]
        url = scene.exception_status("asked")["approvalUrl"]
        assert url == f"https://hibernator.test/approve/{uid}"
        held = await deliveries(post.client, scene.namespace)
        assert held[BOB].metadata.owner_references[0].uid == uid

        # The link of each is theirs, and only its hash is kept.
        made = urlsplit(link_in(server, CAROL))
        words = parse_qs(made.query)
        assert f"{made.scheme}://{made.netloc}{made.path}" == url
        assert words["role"] == ["manager"]
        found = check(words["token"][0], held.values(), held[CAROL].spec.spec_hash, clock.now())
        assert (found.validity, found.recipient) == ("valid", CAROL)
        assert (
            words["token"][0]
            not in scene.cluster.kubectl(
                "get", DELIVERIES.resource, "-n", scene.namespace, "-o", "yaml"
            ).stdout
        )

        await clock.advance_to("2026-03-02T20:00:00Z")  # half of the day that there is
        assert server.subjects(BOB)[1:] == [f"Reminder: Keep {scene.namespace}/dev-plan awake"]
        assert link_in(server, BOB) != link_in(server, CAROL)
        assert await ask_again(post.client, held[BOB], clock.now())  # half a day after the first
        await post.settle()
        assert server.subjects(BOB)[2:] == [f"Approval needed: Keep {scene.namespace}/dev-plan awake"]
        fresh = await deliveries(post.client, scene.namespace)
        assert not await ask_again(post.client, fresh[BOB], clock.now())
        await decide(post.client, clock, scene, BOB, "approve")
        await run.settle()
        await post.settle()
        assert server.subjects(BOB)[3:] == [f"Your decision counts: Keep {scene.namespace}/dev-plan awake"]
        await clock.advance_to("2026-03-03T07:00:00Z")  # an hour before the end
        assert len(server.to(BOB)) == 4
        assert server.subjects(CAROL)[2:] == [f"Reminder: Keep {scene.namespace}/dev-plan awake"]
        await decide(post.client, clock, scene, CAROL, "approve")
        await run.settle()
        await post.settle()
        assert scene.state("asked") == "Active"
        for one in (ALICE, BOB, CAROL):
            assert server.subjects(one)[-1] == f"Approved: Keep {scene.namespace}/dev-plan awake"
        assert [len(server.to(one)) for one in (ALICE, BOB, CAROL)] == [1, 5, 5]
        ids = [mail["Message-ID"] for mail in server.mails]
        assert len(ids) == len({*ids})
        entry = scene.exception_status("asked")["approvals"][0]
        assert (entry["knownBy"]["email"], entry["channel"]) == (BOB, "link")
        given = await run.trail("scheduleexception.approval.given")
        told = [msgspec.json.decode(one.data) for one in given]
        assert [(one["email"], one["session"]) for one in told] == [(BOB, "s-1"), (CAROL, "s-1")]


async def test_a_server_that_is_away_late_or_unwilling_loses_nothing_and_gets_nothing_twice(
    scene: ExceptionScene, tmp_path: Path
) -> None:
    scene.apply(ROLES, plan(noop("nothing"), name="dev-plan"), exception("asked", **WISH))
    kubeconfig, clock = scene.cluster.kubeconfig, ManualClock(MONDAY)
    async with mail_server(tmp_path) as server:
        server.recipients[BOB] = "450 4.2.1 greylisted"
        server.recipients[CAROL] = "550 5.1.1 no such user"
        async with (
            running(kubeconfig, scene.namespace, clock, **PATIENCE),
            posting(kubeconfig, scene.namespace, tmp_path, clock, server) as post,
        ):
            clock.settles_with(post.settle)
            held = await deliveries(post.client, scene.namespace)
            [late], [no] = held[BOB].status.messages, held[CAROL].status.messages
            assert (late.sent_at, late.attempts, "greylisted" in late.error) == (None, 1, True)
            assert late.next_attempt_at is not None
            assert (no.sent_at, no.next_attempt_at) == (None, None)
            assert "550 5.1.1 no such user" in no.error
            assert held[CAROL].status.conditions[0].reason == "Refused"
            await clock.advance(3600)
            assert server.mails == []
            server.recipients.clear()
            await clock.advance(600)
            assert [len(server.to(one)) for one in (BOB, CAROL)] == [
                1,
                0,
            ]  # who was refused is not tried again
            held = await deliveries(post.client, scene.namespace)
            assert held[BOB].status.conditions[0].status == "True"
            assert server.mails[0]["Message-ID"] == held[BOB].status.messages[0].id
            events = scene.cluster.kubectl("get", "events", "-n", scene.namespace).stdout
            assert "MessageRefused" in events
            assert f"The message to {CAROL} (asked) was not sent" in events


async def test_a_process_that_dies_between_any_two_steps_sends_again_under_the_same_id(
    scene: ExceptionScene, tmp_path: Path
) -> None:
    """Before it sends: nothing was sent. After: the second mail has the id of the first."""
    scene.apply(plan(noop("nothing"), name="dev-plan"))
    scene.apply(exception("asked", **WISH | {"approvalRequiredRoles": []}))
    kubeconfig, clock = scene.cluster.kubeconfig, ManualClock(MONDAY)

    async with (
        mail_server(tmp_path) as server,
        running(kubeconfig, scene.namespace, clock, **PATIENCE) as run,
    ):
        await run.settle()
        for dies in ("before", "after"):
            with dying(dies):
                async with posting(kubeconfig, scene.namespace, tmp_path, clock, server) as post:
                    [kept] = (await deliveries(post.client, scene.namespace)).values()
                    assert kept.status.messages[0].sent_at is None
            await clock.advance(121)  # whoever comes next waits as long as a server may take
        assert len(server.to(BOB)) == 1
        async with posting(kubeconfig, scene.namespace, tmp_path, clock, server) as post:
            [kept] = (await deliveries(post.client, scene.namespace)).values()
            assert kept.status.messages[0].sent_at is not None
            assert kept.status.messages[0].attempts == 3
        first, second = server.to(BOB)
        assert first["Message-ID"] == second["Message-ID"]
        assert len({link_in(server, BOB)}) == 1
        assert len(kept.status.tokens) == 3  # the links of both mails hold


async def test_a_remediation_is_told_by_the_same_messages(scene: ExceptionScene, tmp_path: Path) -> None:
    scene.cluster.request("POST", APPROVAL_REQUESTS.path(scene.namespace), REMEDIATION)
    kubeconfig, clock = scene.cluster.kubeconfig, ManualClock(MONDAY)
    async with (
        mail_server(tmp_path) as server,
        running(kubeconfig, scene.namespace, clock) as run,
        posting(kubeconfig, scene.namespace, tmp_path, clock, server) as post,
    ):
        clock.settles_with(post.settle)
        assert server.subjects(BOB) == [f"Approval needed: Run restart in {scene.namespace}"]
        await clock.advance_to("2026-03-02T10:00:00Z")
        assert server.subjects(CAROL) == [f"Approval needed: Run restart in {scene.namespace}"]  # escalated
        how = known_by(CAROL)
        who, matter = Directory().known(CAROL, how), Matter("oom", scene.namespace)
        await remediation.decide(
            post.client, matter, who, "reject", "link", now=clock.now(), reason="No.", known_by=how
        )
        await run.settle()
        await post.settle()
        assert [one.partition(":")[0] for one in server.subjects(CAROL)[1:]] == [
            "Your decision counts",
            "Rejected",
        ]
        assert server.subjects(BOB)[-1].startswith("Rejected: ")
        status = scene.get(APPROVAL_REQUESTS.resource, "oom")["status"]
        assert (status["decision"], status["deciderKnownBy"]["email"]) == ("Rejected", CAROL)
        assert status["approvalUrl"].startswith("https://hibernator.test/approve/")
        [told] = [msgspec.json.decode(one.data) for one in await run.trail(f"{_REMEDIATIONS}.rejected")]
        assert (told["email"], told["session"], told["issuer"]) == (CAROL, "s-1", how.issuer)


async def test_how_a_person_was_known_is_in_the_trail_of_every_decision_that_counts_or_not(
    scene: ExceptionScene, tmp_path: Path
) -> None:
    scene.apply(ROLES, plan(noop("nothing"), name="dev-plan"), exception("asked", **WISH))
    scene.cluster.request("POST", APPROVAL_REQUESTS.path(scene.namespace), REMEDIATION)
    kubeconfig, clock = scene.cluster.kubeconfig, ManualClock(MONDAY)
    async with (
        mail_server(tmp_path) as server,
        running(kubeconfig, scene.namespace, clock, **PATIENCE) as run,
        posting(kubeconfig, scene.namespace, tmp_path, clock, server) as post,
    ):
        await decide(post.client, clock, scene, ALICE, "approve")  # her own: the operator sets it aside
        await run.settle()
        await decide(post.client, clock, scene, BOB, "reject", "Not in the freeze.")
        mallory, oom = known_by("mallory@company.com"), Matter("oom", scene.namespace)
        for how in (mallory, known_by(BOB)):  # who is not asked, and who is
            who = Directory().known(how.email, how)
            await remediation.decide(post.client, oom, who, "approve", "link", now=clock.now(), known_by=how)
            await run.settle()
        found = {
            type_: [msgspec.json.decode(one.data) for one in await run.trail(type_)]
            for type_ in (
                "scheduleexception.approval.refused",
                "scheduleexception.rejected",
                f"{_REMEDIATIONS}.approval.refused",
                f"{_REMEDIATIONS}.approval.given",
                f"{_REMEDIATIONS}.approved",
            )
        }
    assert {
        type_: [(one["email"], one["issuer"], one["session"]) for one in told]
        for type_, told in found.items()
    } == {
        type_: [(who, mallory.issuer, "s-1")]
        for type_, who in zip(found, (ALICE, BOB, mallory.email, BOB, BOB), strict=True)
    }


REMEDIATION = {
    "apiVersion": APPROVAL_REQUESTS.api_version,
    "kind": APPROVAL_REQUESTS.kind,
    "metadata": {"name": "oom"},
    "spec": {
        "aiAnalysisRef": {"name": "oom"},
        "approvalContext": {"confidence": 0.7, "recommendedPlaybook": "restart", "reason": "oom"},
        "requiredBy": "2026-03-02T20:00:00Z",
        "escalateAt": "2026-03-02T09:30:00Z",
        "approvers": [{"level": "L1", "emails": [BOB]}, {"level": "L2", "emails": [CAROL]}],
    },
}


def dying(when: str) -> Any:
    """A channel that never comes back, as in a process that is killed there."""
    send = Mail.send

    async def killed(self: Mail, letter: Any, message_id: str, *, again: bool = False) -> str:
        if when == "after":
            await send(self, letter, message_id, again=again)
        raise SystemError("killed")

    return patch.object(Mail, "send", killed)
