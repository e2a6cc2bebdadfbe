"""Who asked to delete an object, found beside its beginning and its end."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0003"
down_revision: Final = "0002"

_ENDS: Final = sa.text("action IN ('created', 'drafted', 'requested', 'deletion', 'deleted')")


def upgrade() -> None:
    op.drop_index("audit_events_lives", "audit_events")
    op.create_index(
        "audit_events_lives", "audit_events", ["resource_uid"], sqlite_where=_ENDS, postgresql_where=_ENDS
    )
