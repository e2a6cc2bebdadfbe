"""The tables, the same in SQLite and PostgreSQL.

The migrations make them; a test compares the two. Rows lie in the order in which they were recorded, never in
the order of their own times: months can then be dropped whole from the front without tearing the chain.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Row,
    Table,
    Text,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine
from whenever import Instant

from hibernator.audit.chain import Entry
from hibernator.audit.event import Actor, Resource, as_text


class Moment(TypeDecorator[Instant]):
    """An instant: `timestamptz` in PostgreSQL, sortable text in SQLite, which has no type for it."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_bind_param(self, value: Instant | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        return as_text(value) if dialect.name == "sqlite" else value.to_stdlib()

    def process_result_value(self, value: str | datetime | None, dialect: Dialect) -> Instant | None:  # noqa: ARG002 — the signature is SQLAlchemy's
        if isinstance(value, str):
            return _parse(value)
        return None if value is None else Instant(value)


def _parse(text: str) -> Instant:
    try:
        return Instant.parse_iso(text)
    except ValueError:
        return Instant.MIN  # someone wrote this by hand; the check of the hash will name the event


AnyRow = Row[*tuple[Any, ...]]

metadata: Final = MetaData()

_BIG: Final = BigInteger().with_variant(Integer(), "sqlite")  # a strict table knows one size of integer


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


EVENTS: Final = Table(
    "audit_events",
    metadata,
    Column("sequence", _BIG, nullable=False, autoincrement=False),
    Column("recorded_at", Moment, nullable=False),
    _text("id"),
    Column("version", Integer, nullable=False),
    Column("time", Moment, nullable=False),
    _text("type"),
    _text("category"),
    _text("action"),
    _text("outcome"),
    _text("severity"),
    _text("actor_type"),
    _text("actor_id"),
    _text("actor_email"),
    _text("actor_ip"),
    _text("actor_session"),
    _text("channel"),
    _text("resource_group"),
    _text("resource_kind"),
    _text("resource_namespace"),
    _text("resource_name"),
    _text("resource_uid"),
    _text("correlation_id"),
    _text("parent_id"),
    _text("cluster"),
    _text("data"),  # text, not jsonb: the hash is over exactly these bytes
    Column("duration_ms", _BIG),
    _text("error"),
    _text("previous_hash"),
    _text("hash"),
    PrimaryKeyConstraint("sequence", "recorded_at"),  # PostgreSQL wants the partition key in it
    Index("audit_events_id", "id"),
    Index("audit_events_resource", "resource_name", "resource_namespace", "resource_kind"),
    Index("audit_events_actor", "actor_id"),
    Index("audit_events_time", "time"),
    postgresql_partition_by="RANGE (recorded_at)",
    sqlite_with_rowid=False,
    sqlite_strict=True,
)

COLUMNS: Final = tuple(EVENTS.c.keys())

# Both databases look into an index of some rows only if the question says in the same words which.
LIFE: Final = "action IN ('created', 'drafted', 'requested', 'deletion', 'deleted')"
Index("audit_events_lives", EVENTS.c.resource_uid, sqlite_where=text(LIFE), postgresql_where=text(LIFE))

# One row: where the chain ends, where what is kept of it begins, and who may write to it.
CHAIN: Final = Table(
    "audit_chain",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("epoch", _BIG, nullable=False),  # raised by each new writer; the others are fenced off
    _text("writer"),
    Column("head_sequence", _BIG, nullable=False),
    _text("head_hash"),
    Column("head_recorded_at", Moment, nullable=False),
    Column("anchor_sequence", _BIG, nullable=False),
    _text("anchor_hash"),
    Column("kept_from", Moment, nullable=False),  # what happened earlier is not written again
    sqlite_strict=True,
)

# Where replicas that do not lead leave their events. The leader moves them into the chain.
INBOX: Final = Table(
    "audit_inbox",
    metadata,
    Column("id", Text, primary_key=True),
    Column("received_at", Moment, nullable=False),
    _text("event"),
    sqlite_strict=True,
)


def to_values(entry: Entry, moment: Callable[[Instant], object]) -> tuple[object, ...]:
    """A row of EVENTS, in the order of its columns. `moment` turns instants into what the driver takes."""
    actor, resource = entry.actor, entry.resource
    return (
        entry.sequence,
        moment(entry.recorded_at),
        entry.id,
        entry.version,
        moment(entry.time),
        entry.type,
        entry.category,
        entry.action,
        entry.outcome,
        entry.severity,
        actor.type,
        actor.id,
        actor.email,
        actor.ip,
        actor.session,
        entry.channel,
        resource.group,
        resource.kind,
        resource.namespace,
        resource.name,
        resource.uid,
        entry.correlation_id,
        entry.parent_id,
        entry.cluster,
        bytes(entry.data).decode(),
        entry.duration_ms,
        entry.error,
        entry.previous_hash,
        entry.hash,
    )


def from_row(row: AnyRow) -> Entry:
    """Take a row as it stands: whatever someone may have written there must reach the check of the hash."""
    return Entry(
        sequence=row.sequence,
        recorded_at=row.recorded_at,
        id=row.id,
        version=row.version,
        time=row.time,
        type=row.type,
        category=row.category,
        action=row.action,
        outcome=row.outcome,
        severity=row.severity,
        actor=Actor(
            type=row.actor_type,
            id=row.actor_id,
            email=row.actor_email,
            ip=row.actor_ip,
            session=row.actor_session,
        ),
        channel=row.channel,
        resource=Resource(
            group=row.resource_group,
            kind=row.resource_kind,
            namespace=row.resource_namespace,
            name=row.resource_name,
            uid=row.resource_uid,
        ),
        correlation_id=row.correlation_id,
        parent_id=row.parent_id,
        cluster=row.cluster,
        data=msgspec.Raw(row.data.encode()),
        duration_ms=row.duration_ms,
        error=row.error,
        previous_hash=row.previous_hash,
        hash=row.hash,
    )
