"""Serves the webhooks over TLS, on every replica, with a certificate that can change while it runs."""

import asyncio
import contextlib
import os
import ssl

from starlette.types import ASGIApp

from hibernator.admission.certificates import Pair
from hibernator.admission.metrics import CERTIFICATE_END, METRICS
from hibernator.kube.metrics import Metrics
from hibernator.kube.serving import Server


class WebhookServer:
    """Has its port from the start, lets callers in once it has a certificate, and runs until cancelled."""

    def __init__(self, app: ASGIApp, *, host: str = "", port: int, metrics: Metrics | None = None) -> None:
        self._server = Server(app, host=host, port=port, tls=self._front())
        self._metrics = metrics or Metrics(METRICS)
        self._pair: Pair | None = None
        self._current = _context()
        self._certified = asyncio.Event()

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def listening(self) -> asyncio.Event:
        return self._server.listening

    def use(self, pair: Pair) -> None:
        """Serve this certificate from the next connection on; those that are open go on as they are."""
        if pair != self._pair:
            context, end = _context(pair), pair.ends
            self._current, self._pair = context, pair
            self._metrics.set(CERTIFICATE_END, end.timestamp())
            self._certified.set()

    async def run(self) -> None:
        with contextlib.closing(self._server):
            await self._certified.wait()
            await self._server.run()

    def _front(self) -> ssl.SSLContext:
        """A context that hands each new connection to the current one.

        Loading another certificate into a context in use would leave the old one in it, if their keys are of
        different types, and clients would go on to get either.
        """

        def hand_over(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
            connection.context = self._current

        context = _context()
        context.sni_callback = hand_over
        return context


def _context(pair: Pair | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if pair:
        # OpenSSL reads keys from files only. This one has no name and never comes near a disk.
        descriptor = os.memfd_create("webhook-certificate", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, pair.key + pair.certificate)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    return context
