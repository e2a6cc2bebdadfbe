"""Whom a webhook refuses what, in the trail; on both databases."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from hibernator.admission.review import (
    PATIENCE,
    WITHIN,
    AdmissionRequest,
    Allowed,
    Denied,
    Keep,
    Verdict,
    denial,
    on_record,
)
from hibernator.admission.server import DEADLINE
from hibernator.admission.webhooks.configurations import TIMEOUT_SECONDS
from hibernator.admission.webhooks.deletion import deletion
from hibernator.audit.chain import Entry
from hibernator.audit.database import Database
from hibernator.audit.event import AuditEvent
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.kube.clock import SystemClock
from hibernator.kube.errors import Conflict
from support.trail import NOON, eventually

REFUSED = Denied("spec.schedule.timezone is 'Mars': no such zone.")


@pytest.fixture
async def trail(database: Database) -> AsyncIterator[Trail]:
    made = Trail(ChainStore(database, now=lambda: NOON), identity="test")
    made.lead()
    task = asyncio.create_task(made.run())
    yield made
    task.cancel()
    await asyncio.wait([task])


def request(**changes: Any) -> AdmissionRequest:
    document = {
        "uid": "request-1",
        "operation": "CREATE",
        "resource": {"group": "hibernator.ardikabs.com", "version": "v1alpha1", "resource": "hibernateplans"},
        "userInfo": {"username": "bob@example.com"},
        "namespace": "shop",
        "object": {"kind": "HibernatePlan", "metadata": {"name": "nights"}},
    }
    return msgspec.json.decode(msgspec.json.encode(document | changes), type=AdmissionRequest)


async def refuse(_request: AdmissionRequest) -> Verdict:
    return REFUSED


async def allow(_request: AdmissionRequest) -> Verdict:
    return Allowed()


async def told(database: Database) -> list[Entry]:
    return list(await Reader(database).page(Filter(type="admission.denied")))


async def test_a_refusal_is_in_the_trail_before_the_api_server_hears_it(
    database: Database, trail: Trail
) -> None:
    assert await on_record(refuse, trail.record_now, lambda: NOON, 60)(request()) == REFUSED
    (entry,) = await told(database)
    assert (entry.actor.type, entry.actor.id, entry.actor.email) == (
        "user",
        "bob@example.com",
        "bob@example.com",
    )
    assert (entry.channel, entry.outcome, entry.error) == ("admission", "denied", REFUSED.message)
    assert (entry.resource.kind, entry.resource.namespace, entry.resource.name) == (
        "HibernatePlan",
        "shop",
        "nights",
    )


async def test_the_same_request_is_told_once_and_another_again(database: Database, trail: Trail) -> None:
    judge = on_record(refuse, trail.record_now, lambda: NOON, 60)
    for uid in ("a", "b", "a"):
        await judge(request(uid=uid))
    assert len(await told(database)) == 2


async def test_what_is_allowed_or_only_tried_is_not_told(database: Database, trail: Trail) -> None:
    await on_record(allow, trail.record_now, lambda: NOON, 60)(request())
    await on_record(refuse, trail.record_now, lambda: NOON, 60)(request(dryRun=True))
    await trail.flush()
    assert await told(database) == []


async def test_what_a_replica_refuses_that_does_not_lead_is_chained_by_the_one_that_does(
    url: str, database: Database, trail: Trail
) -> None:
    async with Database(url) as another:
        standing_by = Trail(ChainStore(another, now=lambda: NOON), identity="standing by")
        task = asyncio.create_task(standing_by.run())
        await on_record(refuse, standing_by.record_now, lambda: NOON, 60)(request())
        task.cancel()
        await asyncio.wait([task])
    await eventually(lambda: _chained(database))
    assert trail.waiting == 0


async def _chained(database: Database) -> bool:
    return len(await told(database)) == 1


def test_a_service_account_and_a_name_that_is_yet_to_come_are_told_as_they_are() -> None:
    robot = {"username": "system:serviceaccount:ci:robot"}
    nameless = {"kind": "HibernatePlan", "metadata": {"generateName": "nights-"}}
    told = denial(request(userInfo=robot, object=nameless), REFUSED, NOON)
    assert (told.actor.type, told.resource.name) == ("serviceaccount", "nights-")


async def never(_told: AuditEvent, /, *, patience: float) -> None:
    """A database that does not answer, and an API server that does not either."""
    await asyncio.Event().wait()


async def broken(_told: AuditEvent, /, *, patience: float) -> None:
    raise TypeError("event is given twice")


async def refused(_told: AuditEvent, /, *, patience: float) -> None:
    raise Conflict("the object has been modified")


@pytest.mark.parametrize("keep", [never, broken, refused])
async def test_a_refusal_stays_one_whatever_becomes_of_its_record(keep: Keep) -> None:
    with capture_logs() as lines:
        assert await on_record(refuse, keep, lambda: NOON, 0.05)(request()) == REFUSED
    [line] = lines
    assert (line["event"], line["user"]) == ("admission record is in memory only", "bob@example.com")


@pytest.mark.parametrize("document", [{"kind": ["a", "list"]}, {"metadata": None}, {"metadata": "none"}, []])
async def test_a_refusal_stays_one_whatever_was_to_be_written(document: Any) -> None:
    assert await on_record(refuse, never, lambda: NOON, 0.05)(request(object=document)) == REFUSED


@pytest.mark.parametrize("keep", [never, broken, refused])
async def test_a_deletion_goes_on_whatever_becomes_of_its_record(keep: Keep) -> None:
    document = {"kind": "HibernatePlan", "metadata": {"name": "nights", "uid": "1"}}
    with capture_logs():
        judge = deletion(keep, SystemClock(), 0.05)
        assert await judge(request(operation="DELETE", oldObject=document)) == Allowed()


async def test_a_refusal_that_was_judged_too_late_to_be_waited_for_is_told_from_memory(
    database: Database,
) -> None:
    trail = Trail(ChainStore(database, now=lambda: NOON), identity="test")
    with capture_logs():
        assert await on_record(refuse, trail.record_now, lambda: NOON, 0.0)(request()) == REFUSED
    assert trail.waiting == 1


def test_judging_and_recording_end_before_the_application_and_that_before_the_api_server() -> None:
    assert PATIENCE < WITHIN < DEADLINE < TIMEOUT_SECONDS


def test_a_refusal_that_quotes_a_whole_manifest_is_cut() -> None:
    told = denial(request(), Denied("x" * 100_000), NOON)
    assert len(told.error) == 1024
