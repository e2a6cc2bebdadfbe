"""The nine rules of exceptions, as people meet them through kubectl while the webhook answers."""

import asyncio
from typing import Any

import pytest

from admission.exception_shapes import PLAIN, SHAPES
from hibernator.decisions.scheduleexception_request import REQUESTED_BY
from support.operators import Running
from support.policed import ALICE, BOB, MALLORY, Room, wish
from support.scaler_scenes import scaler


async def refused(room: Room, document: dict[str, Any], by: str = ALICE) -> str:
    return await room(by).refused("create", document)


# 1. planRef.name must reference an existing HibernatePlan.
async def test_rule_1_a_plan_that_is_not_there_is_named(room: Room, up: Running) -> None:
    said = await refused(room, wish("lost", planRef={"name": "no-plan"}, **PLAIN))
    wanted = (
        f'spec.planRef.name is "no-plan": there is no such HibernatePlan in the namespace {room.namespace}'
    )
    assert f"{wanted}. Create it, or correct the name." in said


# 2. planRef.namespace must be the exception's own: a policy, so it holds in either case.
async def test_rule_2_a_plan_elsewhere_is_refused(room: Room, up: Running) -> None:
    said = await refused(room, wish("far", planRef={"name": "dev-plan", "namespace": "default"}, **PLAIN))
    assert "must be the exception's own namespace" in said or "can only be" in said


# 3. Only one active exception per plan.
async def test_rule_3_a_second_active_exception_is_refused_with_the_name_of_the_first(
    room: Room, up: Running
) -> None:
    await asyncio.to_thread(room(ALICE).create, wish("first", **PLAIN))
    await up.until(lambda: room.get("first").get("status", {}).get("state") == "Active")
    said = await refused(room, wish("second", **PLAIN))
    assert "Plan dev-plan already has active exception first (expires at 2026-03-20T00:00:00Z)" in said
    await asyncio.to_thread(room(ALICE).create, wish("second", draft=True))
    submitted = {"spec": {"draft": False}}
    assert "already has active exception first" in await room(ALICE).refused("patch", "second", submitted)
    await asyncio.to_thread(room(ALICE).kubectl, "delete", "schedex", "first")
    await asyncio.to_thread(room(ALICE).patch, "second", submitted)


@pytest.mark.parametrize("rule", SHAPES)
async def test_rules_4_to_8_are_kept_by_the_api_server(room: Room, up: Running, rule: str) -> None:
    spec, words = SHAPES[rule]
    assert words in await refused(room, wish("shape", **PLAIN | spec))


# 9. The name is unique in the namespace.
async def test_rule_9_a_name_is_taken_once(room: Room, up: Running) -> None:
    await asyncio.to_thread(room(ALICE).create, wish("taken", draft=True))
    assert 'scheduleexceptions.hibernator.ardikabs.com "taken" already exists' in await refused(
        room, wish("taken", draft=True)
    )


async def test_the_requester_is_noted_down_by_the_webhook(room: Room, up: Running) -> None:
    await asyncio.to_thread(room(MALLORY).create, wish("stamped", None, draft=True))
    assert room.get("stamped")["metadata"]["annotations"][REQUESTED_BY] == MALLORY


async def test_who_turns_something_into_a_request_is_its_requester(room: Room, up: Running) -> None:
    # Made by the one user for whom nobody is asked.
    await asyncio.to_thread(room.operator.create, wish("turned", None, draft=True, **PLAIN))
    turned = {"spec": {"approvalRequired": True, "approverEmails": [BOB]}}
    await asyncio.to_thread(room(MALLORY).patch, "turned", turned)
    assert room.get("turned")["metadata"]["annotations"][REQUESTED_BY] == MALLORY


async def test_a_lie_about_the_requester_is_refused_and_not_corrected(room: Room, up: Running) -> None:
    assert f"is {BOB}, and you are {ALICE}" in await refused(room, wish("lie", BOB, draft=True))


async def test_a_mistake_that_no_schema_knows_is_told_with_field_value_and_fix(
    room: Room, up: Running
) -> None:
    schedule = {
        "timezone": "Europe/Berln",
        "offHours": [{"start": "20:00", "end": "06:00", "daysOfWeek": ["MON"]}],
    }
    said = await room(ALICE).refused("patch", "dev-plan", {"spec": {"schedule": schedule}}, of="hplan")
    assert 'spec.schedule.timezone is "Europe/Berln"' in said
    assert "Europe/Berlin" in said


# Not rules, but what the RFC's own samples run into.
async def test_what_has_no_effect_is_a_warning_and_no_refusal(room: Room, up: Running) -> None:
    idle = wish("sample", draft=True, **PLAIN | {"type": "extend", "leadTime": "1h"})
    strictly = ("create", "-f", "-", "--warnings-as-errors")
    said = await room(ALICE).refused("kubectl", *strictly, document=idle)
    assert "Warning: spec.leadTime: it has no effect with type extend" in said
    assert room.get("sample")["spec"]["leadTime"] == "1h"
    closed = scaler() | {"metadata": {"name": "closed"}}
    closed["spec"] = {**closed["spec"], "holidays": {"country": "DE"}}
    granted = ("create", "rolebinding", "all", "--clusterrole=cluster-admin", f"--user={ALICE}")
    await asyncio.to_thread(room.operator.kubectl, *granted)
    said = await room(ALICE).refused("kubectl", *strictly, document=closed)
    assert "Warning: spec.holidays: it has no effect, because mode is ignore" in said
