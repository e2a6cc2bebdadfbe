"""Where objects begin and end, found without a walk through the whole trail."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0002"
down_revision: Final = "0001"

_ENDS: Final = sa.text("action IN ('created', 'drafted', 'requested', 'deleted')")


def upgrade() -> None:
    op.create_index(
        "audit_events_lives", "audit_events", ["resource_uid"], sqlite_where=_ENDS, postgresql_where=_ENDS
    )
