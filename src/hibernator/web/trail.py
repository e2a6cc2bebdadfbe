"""The ways of the web process to the operator, and to the trail: in a database that it may read, or there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from hibernator.audit.address import url_in
from hibernator.audit.database import Database
from hibernator.audit.reading import Reader, TrailReader
from hibernator.audit.remote import RemoteReader
from hibernator.kube.client import Client
from hibernator.kube.credentials import Credentials
from hibernator.kube.remote import Remote, from_config_map, from_file
from hibernator.settings import SettingsError
from hibernator.web.settings import Settings


def operator_of(
    settings: Settings, client: Client, session: aiohttp.ClientSession, credentials: Credentials
) -> Remote | None:
    if not settings.trail_url:
        return None
    file = settings.trail_ca_file
    authority = from_file(Path(file)) if file else from_config_map(client, settings.namespace)
    return Remote(settings.trail_url, session, credentials, authority)


@asynccontextmanager
async def trail_reader(settings: Settings, operator: Remote | None) -> AsyncIterator[TrailReader | None]:
    if settings.database_file:
        async with _database(settings) as database:
            yield Reader(database)
    else:
        yield RemoteReader(operator) if operator else None


def _database(settings: Settings) -> Database:
    try:
        return Database(url_in(Path(settings.database_file)), read_only=True)
    except ValueError as error:
        raise SettingsError(f"databaseFile cannot be used: {error}") from error
