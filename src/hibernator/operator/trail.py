"""The read API for the web process, beside the webhooks: the same certificate, and a port of its own.

It serves the audit trail and what restore data says.
"""

from typing import Final

import structlog

from hibernator.admission.registration import Endpoint
from hibernator.admission.server import WebhookServer
from hibernator.api.core import CONFIG_MAPS
from hibernator.audit.database import Database
from hibernator.audit.reading import Reader
from hibernator.audit.serving import trail_routes
from hibernator.kube.client import Client
from hibernator.kube.errors import NotFound
from hibernator.kube.metrics import Metrics
from hibernator.kube.reading import Callers, ReadApi
from hibernator.kube.remote import AUTHORITY, AUTHORITY_KEY
from hibernator.kube.serving import Server
from hibernator.operator.restore import restore_route

_log: Final = structlog.get_logger(__name__)


class TrailServer:
    """Serves once the webhooks have a certificate, until cancelled."""

    def __init__(
        self, listen: str, client: Client, database: Database, webhooks: WebhookServer, metrics: Metrics
    ) -> None:
        host, _, port = listen.rpartition(":")
        routes = (*trail_routes(Reader(database)), restore_route(client))
        api = ReadApi(routes, Callers(client), metrics)
        self._webhooks = webhooks
        self._server = Server(api.app(), host=host, port=int(port), tls=webhooks.tls)
        self.port = self._server.port
        self.close = self._server.close

    async def run(self) -> None:
        await self._webhooks.certified.wait()
        await self._server.run()


class PublishedAuthority:
    """Publishes which authority the web process is to trust: in a ConfigMap that it may read."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def register(self, _endpoint: Endpoint, bundle: bytes | None) -> None:
        if bundle is None:
            return  # a mounted certificate without ca.crt: the web process has a file of its own
        wanted = {AUTHORITY_KEY: bundle.decode()}
        try:
            if (await self._client.get(CONFIG_MAPS, AUTHORITY, self._namespace)).data == wanted:
                return
        except NotFound:
            pass
        body = {"metadata": {"name": AUTHORITY, "namespace": self._namespace}, "data": wanted}
        await self._client.apply(CONFIG_MAPS, body, field_manager="hibernator", force=True)
        _log.info("published the authority of the trail", config_map=AUTHORITY)
