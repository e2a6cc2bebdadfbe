"""The trail: events, the state of their chain, and the inbox.

Partitions are made month by month as events are written, not here.
"""

from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0001"
down_revision: Final = None

_BIG: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_MOMENT: Final = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def upgrade() -> None:
    _create_events()
    chain = op.create_table(
        "audit_chain",
        sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
        sa.Column("epoch", _BIG, nullable=False),
        _text("writer"),
        sa.Column("head_sequence", _BIG, nullable=False),
        _text("head_hash"),
        sa.Column("head_recorded_at", _MOMENT, nullable=False),
        sa.Column("anchor_sequence", _BIG, nullable=False),
        _text("anchor_hash"),
        sa.Column("kept_from", _MOMENT, nullable=False),
        sqlite_strict=True,
    )
    op.execute(chain.insert().values(_empty()))
    op.create_table(
        "audit_inbox",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("received_at", _MOMENT, nullable=False),
        _text("event"),
        sqlite_strict=True,
    )


def _empty() -> dict[str, object]:
    epoch: object = "1970-01-01T00:00:00.000000Z"
    if op.get_context().dialect.name == "postgresql":
        epoch = datetime.fromtimestamp(0, UTC)
    before = {"head_sequence": 0, "head_hash": "0" * 64, "anchor_sequence": 0, "anchor_hash": "0" * 64}
    return {"id": 1, "epoch": 0, "writer": "", "head_recorded_at": epoch, "kept_from": epoch} | before


def _create_events() -> None:
    op.create_table(
        "audit_events",
        sa.Column("sequence", _BIG, nullable=False, autoincrement=False),
        sa.Column("recorded_at", _MOMENT, nullable=False),
        _text("id"),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("time", _MOMENT, nullable=False),
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
        _text("data"),
        sa.Column("duration_ms", _BIG),
        _text("error"),
        _text("previous_hash"),
        _text("hash"),
        sa.PrimaryKeyConstraint("sequence", "recorded_at"),
        postgresql_partition_by="RANGE (recorded_at)",
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    op.create_index("audit_events_id", "audit_events", ["id"])
    op.create_index(
        "audit_events_resource", "audit_events", ["resource_name", "resource_namespace", "resource_kind"]
    )
    op.create_index("audit_events_actor", "audit_events", ["actor_id"])
    op.create_index("audit_events_time", "audit_events", ["time"])
