"""Who somebody is when they decide: by address or by role, and told at once whether their word counts."""

import asyncio
from typing import Any

import pytest

from hibernator.cli import exception_outcome
from support.operators import running
from support.people import ALICE, BOB, CAROL, People


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.mark.parametrize(
    ("setting", "user", "extra"),
    [
        ("as-is", BOB, {}),
        ("domain:company.com", "bob", {}),
        ("extra:mail", "u-4711", {"mail": BOB}),
        ("configmap:people", "oidc:b0b", {}),
    ],
)
async def test_a_user_agrees_under_the_address_that_the_setting_gives_them(
    people: People, setting: str, user: str, extra: dict[str, str]
) -> None:
    call = asyncio.to_thread
    people.apply(config_map("people", all=f"oidc:b0b {BOB}\noidc:ca201 {CAROL}\n"))
    async with running(people.cluster.kubeconfig, people.namespace, approver_emails=setting):
        await call(people.wish, "event", "--approver", BOB)
        done = await call(people.ran, user, "approve", "--yes", "event", extra=extra)
        assert (done.code, done.out.splitlines()[0]) == (0, f"{user} approved event"), done.err
        status = await call(people.exception_status, "event")
        assert (status["approvalState"], status["approvalProgress"]) == ("Approved", "1/1")
        assert status["requiredApprovals"] == [{"email": BOB, "status": "approved"}]


@pytest.mark.parametrize(
    ("setting", "user", "extra"),
    [
        ("as-is", "bob", {}),
        ("domain:company.com", "bobby", {}),
        ("extra:mail", BOB, {"other": BOB}),
        ("configmap:people", BOB, {}),
    ],
)
async def test_an_address_that_the_setting_does_not_give_counts_for_nothing(
    people: People, setting: str, user: str, extra: dict[str, str]
) -> None:
    call = asyncio.to_thread
    async with running(people.cluster.kubeconfig, people.namespace, approver_emails=setting):
        await call(people.wish, "event", "--approver", BOB)
        done = await call(people.ran, user, "approve", "--yes", "event", extra=extra)
        assert done.code == 1
        told = f"{user} is not among those whose agreement is needed: {BOB}."
        assert done.err.startswith(f"error: Your decision was recorded, but not counted. {told}")
        assert people.state("event") == "Pending"


async def test_a_role_goes_by_its_members_or_else_by_the_group_of_its_name(people: People) -> None:
    call = asyncio.to_thread
    people.apply(config_map("hibernator-roles", manager="[carol@company.com, team-leads]"))
    masters = ("system:masters",)
    async with running(people.cluster.kubeconfig, people.namespace) as run:
        await call(people.wish, "event", "--role", "manager", "--role", "security")
        # The ConfigMap says who is a manager, so a group that happens to be called so is none.
        done = await call(people.ran, "dave", "approve", "--yes", "event", groups=(*masters, "manager"))
        assert (done.code, done.err.splitlines()[1]) == (
            1,
            "Ask an administrator for the role manager or security: the operator's ConfigMap has them.",
        )
        listed = await call(people.ran, "erin", "list", "--mine", groups=(*masters, "security"))
        assert "event" in listed.out
        for user, group in (("erin", "security"), ("frank", "team-leads")):
            done = await call(people.ran, user, "approve", "--yes", "event", groups=(*masters, group))
            assert done.code == 0, done.err
        await run.until(lambda: people.state("event") == "Active")
    history = people.exception_status("event")["history"]
    approved = [(one["actor"], one["role"]) for one in history if one["action"] == "approved"]
    assert approved == [("erin", "security"), ("frank", "manager")]


@pytest.mark.parametrize("place", [("--approver", "mallory@company.com"), ("--role", "leads")])
async def test_two_log_ins_with_one_address_are_one_person_who_cannot_approve_their_own_request(
    people: People, place: tuple[str, str]
) -> None:
    call, address = asyncio.to_thread, {"mail": "mallory@company.com"}
    masters = ("system:masters", "leads")
    wish = ("create", "event", "--plan=dev-plan", "--type=extend", "--window=12:00-13:00 MON", *place)
    dates = ("--from=2026-03-02T00:00:00Z", "--until=2026-03-20T00:00:00Z")
    async with running(people.cluster.kubeconfig, people.namespace, approver_emails="extra:mail"):
        asked = await call(people.ran, "u-1", *wish, *dates, extra=address)
        assert asked.code == 0, asked.err
        done = await call(people.ran, "u-2", "approve", "--yes", "event", groups=masters, extra=address)
        assert done.code == 1
        assert "u-2 requested it and cannot approve it: ask another approver." in done.err
        assert people.state("event") == "Pending"


async def test_who_asked_is_told_at_once_that_their_own_decision_does_not_count(people: People) -> None:
    call = asyncio.to_thread
    async with running(people.cluster.kubeconfig, people.namespace) as run:
        await call(people.wish, "event", "--approver", ALICE)
        done = await call(people.ran, ALICE, "approve", "--yes", "event")
        assert done.code == 1
        assert f"{ALICE} requested it and cannot approve it: ask another approver." in done.err
        assert "event" in (await call(people.ask, ALICE, "list", "--pending", "-o", "name"))
        await call(people.ask, ALICE, "cancel", "event")
        await run.until(lambda: people.state("event") == "Cancelled")
        assert await call(people.ask, ALICE, "list", "--pending", "-o", "name") == ""


def test_where_no_operator_answers_the_decision_is_given_and_that_is_said(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exception_outcome, "LONGEST_SECONDS", 0.0)
    people.wish("event", "--approver", BOB)
    given = people.ask(BOB, "approve", "--yes", "event")
    assert given.splitlines()[0] == f"{BOB} approved event"
    assert "does not say yet whether that counts: see `hibernator exception view event -n " in given


async def test_a_decision_that_did_not_count_does_once_the_role_has_another_member(people: People) -> None:
    call = asyncio.to_thread
    people.apply(config_map("hibernator-roles", manager=CAROL))
    async with running(people.cluster.kubeconfig, people.namespace) as run:
        await call(people.wish, "event", "--role", "manager")
        done = await call(people.ran, BOB, "approve", "--yes", "event")
        assert (done.code, "not counted" in done.err) == (1, True)
        await call(people.apply, config_map("hibernator-roles", manager=f"{CAROL}, {BOB}"))
        await run.until(lambda: people.state("event") == "Active")
    history = people.exception_status("event")["history"]
    assert [(one["action"], one["actor"]) for one in history][1:3] == [("refused", BOB), ("approved", BOB)]
