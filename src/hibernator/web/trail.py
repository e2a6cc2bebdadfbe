"""The way of the web process to the audit trail: a database that it may read, or the operator; or none."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from hibernator.audit.address import url_in
from hibernator.audit.database import Database
from hibernator.audit.reading import Reader, TrailReader
from hibernator.audit.remote import RemoteReader, from_config_map, from_file
from hibernator.kube.client import Client
from hibernator.kube.credentials import Credentials
from hibernator.settings import SettingsError
from hibernator.web.settings import Settings


@asynccontextmanager
async def trail_reader(
    settings: Settings, client: Client, session: aiohttp.ClientSession, credentials: Credentials
) -> AsyncIterator[TrailReader | None]:
    if settings.database_file:
        async with _database(settings) as database:
            yield Reader(database)
        return
    if not settings.trail_url:
        yield None
        return
    file = settings.trail_ca_file
    authority = from_file(Path(file)) if file else from_config_map(client, settings.namespace)
    yield RemoteReader(settings.trail_url, session, credentials, authority)


def _database(settings: Settings) -> Database:
    try:
        return Database(url_in(Path(settings.database_file)), read_only=True)
    except ValueError as error:
        raise SettingsError(f"databaseFile cannot be used: {error}") from error
