"""What Alembic runs for each migration; the connection comes from `hibernator.audit.migrate`."""

from alembic import context

from hibernator.audit.migrate import VERSION_TABLE
from hibernator.audit.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # SQLite can, too, in the transaction that we begin ourselves
)
context.run_migrations()
