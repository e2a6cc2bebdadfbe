"""Etcd is restored from a backup: what is lived twice is told twice, and each time once."""

from typing import Any

import msgspec

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.audit.database import Database
from hibernator.audit.event import Resource, event
from hibernator.audit.store import ChainStore, Life
from hibernator.controllers.audit import Deletion, _deleted
from hibernator.controllers.journal_audit import of_deletion
from support.trail import NOON, ids


def plan(deleted: str = "") -> HibernatePlan:
    metadata: dict[str, Any] = {"name": "nights", "namespace": "shop", "uid": "u-1"}
    if deleted:
        metadata["deletionTimestamp"] = deleted
    spec = {"schedule": {"timezone": "UTC", "offHours": []}, "targets": []}
    return msgspec.convert({"metadata": metadata, "spec": spec}, HibernatePlan)


def seen_to_go(found: HibernatePlan) -> str:
    """The id under which a leader tells of what it has seen to go."""
    life = Life(Resource.of(PLANS, found), "")
    return _deleted(Deletion(life, NOON, NOON, NOON, identity=of_deletion(found)), ()).id


def said_farewell(found: HibernatePlan) -> str:
    """The id under which a controller tells of what it lets go."""
    about, identity = Resource.of(PLANS, found), of_deletion(found)
    return event("hibernateplan.deleted", about, at=NOON, identity=identity).id


def test_a_second_deletion_of_the_same_object_is_another_event_and_the_same_one_is_not() -> None:
    first, second = plan("2026-03-02T12:00:00Z"), plan("2026-03-05T09:00:00Z")
    assert said_farewell(first) == seen_to_go(first)
    assert said_farewell(second) == seen_to_go(second)
    assert said_farewell(first) != said_farewell(second)


async def test_whose_end_waits_for_the_leader_is_not_missed_once_more(database: Database) -> None:
    store = ChainStore(database, now=lambda: NOON)
    await store.prepare()
    epoch = await store.claim("leader")
    about = Resource.of(PLANS, plan())
    await store.append(epoch, [event("hibernateplan.created", about, at=NOON)])
    assert [life.resource.uid for life in await store.living()] == ["u-1"]
    await store.deliver([event("hibernateplan.deleted", about, at=NOON)])
    assert await store.living() == []
    assert await store.drain(epoch, 10) == 1
    assert await store.living() == []
    assert len(await ids(database)) == 2
